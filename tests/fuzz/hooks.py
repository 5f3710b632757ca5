"""Hooks of schemathesis, with facts that the OpenAPI document cannot express."""

import itertools
import os
from typing import Any

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import RejectedPositiveData

Case = schemathesis.Case[Any]  # of any kind of operation

# The id of the key that asks. Revoked or rotated it would ask for nothing any more.
OWN_KEY_ID = os.environ.get("FUZZ_OWN_KEY_ID", "")
NUMBERS = itertools.count()
SHORT = 200  # characters; within all limits of an address and its parts
NOBODYS_ID = "01890a5d-ac96-774b-bcce-b302099a8057"

# Types of 422 for rules that a JSON schema has no words for. All other refusals of what the document allows fail.
BEYOND_A_SCHEMA = {
    "address_form",  # either address, or local_part and domain
    "base_url_not_allowed",  # with a test key only
    "base_url_required",  # of a registrar without a sandbox
    "country",  # of a closed list
    "credential_form",  # what a header can carry
    "credential_required",  # each registrar has its own
    "cursor_invalid",  # signed by us
    "destination_loop",  # not to the domain itself
    "destination_missing",  # of a catch-all
    "domain_name",  # labels there can be
    "domain_required",  # unless it is a view
    "domain_unknown",  # one of the catalog
    "duplicate_key",  # unique among the items of a list
    "entity_tag",  # quotes, and commas between
    "environment_not_allowed",  # one that the registrar has
    "event_form",  # either kind or events
    "event_unknown",  # of an open list
    "expires_at_past",  # a time that moves
    "fail_at_unknown",  # an action of the plan
    "override_unknown",  # a member of the event
    "override_wrong",  # as the event's data schema says, which depends on the event
    "email",  # which domains and local parts there can be
    "key_length",  # of an Idempotency-Key; quotes around it are not counted
    "key_reused",  # an Idempotency-Key goes with one body
    "money_currency",  # one that there is
    "money_amount",  # no more decimals than the currency has
    "int_type",  # 137.0 is an integer to a schema, and no integer to us
    "locale",  # a language tag
    "local_part_required",  # of a claim
    "metadata_full",  # with the pairs that are there already
    "login_form",  # either email and code, or token
    "network",  # in CIDR notation
    "nul_character",  # in no text
    "patch_empty",  # at least one member that is known
    "unknown_field",  # when a patch has no other ones
    "result_mismatch",  # each kind has its own
    "return_to",  # a path of this service
    "secret_not_allowed",  # base64 of so many bytes behind a prefix, or any text without it
    "too_many_fields",  # of a form
    "text_form",  # something to see, nothing that steers
    "timezone",  # of a closed list
    "too_many_resources",  # of all kinds together
    "seed_of_delivery",  # what is delivered is new each time
    "url_not_allowed",  # a public address
    "webhook_not_found",  # one of the account's
    "web_address",  # a host there can be
    "webhook_unknown",  # one of the account's
    "column_missing",  # of a file
    "domain_column_missing",  # of a file
    "mapping_invalid",  # to a column of the file
    "commission_twice",  # either an amount or a rate
    "currency_mixed",  # one for a sale
    "currency_unknown",  # one that there are rates for
    "date_and_period",  # either of them
    "date_in_future",  # a time that moves
    "date_range",  # from before to
    "decimal_max_places",  # of a JSON number; the pattern of a text says it
    "decimal_max_digits",  # of a JSON number, too
    "dates_ambiguous",  # unless one of them proves their order
    "domain_form",  # either domain or name
    "domain_invalid",  # a registrable name
    "domain_missing",  # under either name
    "entries_invalid",  # as the export writes them
    "entry_of_parking",  # its day is recorded elsewhere
    "entry_of_sale",  # changed with the sale
    "entry_unknown",  # one of the domain
    "expiry_too_far",  # ten years at most
    "format_unknown",  # of an open list
    "host_name",  # labels there can be
    "installments_exceed_price",  # no more than the price
    "changes_missing",  # members to set, or tags
    "several_periods",  # one of them
    "owned_domain",  # has no counterparty
    "period_missing",  # of a file without dates
    "quiet_hours_empty",  # start and end differ
    "reference_taken",  # unique in a portfolio
    "renewals_form",  # either items, or domains and set
    "revenue_form",  # either rows, csv or one row
    "source_count",  # one of csv, rows, domains, text
    "too_many_cells",  # of a file
    "too_many_days",  # of a period
    "too_many_rows",  # of a file
    "template_unknown",  # one that is listed
}
# Codes of 400 for a secret that only we, an issuer or Stripe can have made, and for the state of its request.
NOT_OURS = {
    "authorization_pending",
    "slow_down",
    "signature_invalid",
    "event_malformed",
    "token_invalid",
    "grant_invalid",
    "device_code_invalid",
    "issuer_sign_in_refused",  # the cookie of the browser, and an issuer of the settings
    "link_altered",
    "unsubscribe_link_invalid",
}


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Keep the key of the client, and make each Idempotency-Key unique."""
    del context, kwargs
    repeatable = case.headers.get("Idempotency-Key") if case.headers else None
    if isinstance(repeatable, str) and 0 < len(repeatable) < SHORT:
        case.headers["Idempotency-Key"] = f"{repeatable}{next(NUMBERS)}"
    if OWN_KEY_ID and case.method != "GET" and case.path_parameters.get("key_id") == OWN_KEY_ID:
        case.path_parameters["key_id"] = NOBODYS_ID


@schemathesis.hook
def map_body(context: schemathesis.HookContext, body: Any) -> Any:  # of any JSON type, in negative cases
    """Give most manifests valid names, so that they are planned and not only refused."""
    del context
    resources = body.get("resources") if isinstance(body, dict) else None
    aliases = resources.get("aliases") if isinstance(resources, dict) else None
    for alias in aliases if isinstance(aliases, list) else []:
        if isinstance(alias, dict):
            _address(alias)
    return body


def _address(alias: dict[str, Any]) -> None:
    written = [alias.get(name) for name in ("address", "local_part", "domain")]
    if not all(text is None or (isinstance(text, str) and len(text) < SHORT) for text in written):
        return  # wrong on purpose
    address, local_part, domain = written
    if address is not None or None in {local_part, domain}:
        alias.pop("local_part", None)
        alias.pop("domain", None)
        alias["address"] = address if address and "@" in address else f"{address or 'ada'}@harbour.example"


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext, failure: Failure, case: Case, response: schemathesis.Response
) -> bool:
    """Return whether it is a failure of the service."""
    del context, case
    if isinstance(failure, RejectedPositiveData) and response.status_code == 422:
        return not {error["type"] for error in response.json()["detail"]} <= BEYOND_A_SCHEMA
    if isinstance(failure, RejectedPositiveData) and response.status_code == 412:
        return False  # no schema says which version the record has
    if isinstance(failure, RejectedPositiveData) and response.status_code == 400:
        return response.json().get("code") not in NOT_OURS
    return True
