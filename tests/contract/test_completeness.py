"""The document is complete for a reader who has nothing else; and each rule is seen to fail."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from builders.webhooks import catalog
from tests.contract import completeness
from tests.contract.checks import PROBLEM
from tests.contract.document import Json
from tests.published import published

# Identifiers that are not ours to form, or not of a row.
NO_UUIDS = {
    *("ConnectionItem.client_id", "ConnectionRequest.client_id"),  # addresses
    "AuditEntryReply.request_id",
    "BillingDetailsReply.tax_id",
    "BillingDetailsUpdate.tax_id",
    "BuyerReply.tax_id",
    "SellerReply.tax_id",
    "CatalogFunnelEventRequest.event_id",
    "CatalogFunnelEventRequest.session_id",
    "FunnelEventBody.event_id",
    "FunnelEventBody.session_id",
    "StripeReceived.id",  # of Stripe
    "MailResultReply.queue_id",  # of the mail server
    "Problem.request_id",
    "BillingCharge.order_id",  # of the registrar, as the next two
    "BillingCharge.line_id",
    "BillingCharge.parent_order_id",
    "BillingTemplate.id",  # a name
    "RenewalItem.domain_id",  # or the name of the domain
    "HTTPValidationError.request_id",
}


def document() -> Json:
    """The document of the service, derived without a database."""
    return published().document


def events() -> set[str]:
    return {event.name for event in catalog.list_public_events()}


def identified(shown: Json) -> Iterator[str]:
    return completeness.identified(shown, NO_UUIDS)


def announced(shown: Json) -> Iterator[str]:
    return completeness.announced(shown, events())


RULES: list[Callable[[Json], Iterator[str]]] = [
    completeness.described,
    completeness.secured,
    completeness.headed,
    identified,
    completeness.coded,
    announced,
    completeness.usable,
]


@pytest.mark.parametrize("rule", RULES)
def test_the_document_keeps_the_rule(rule: Callable[[Json], Iterator[str]]) -> None:
    said = list(rule(document()))
    assert not said, "\n".join(said)


def test_every_exception_is_needed() -> None:
    said = "\n".join(completeness.identified(document()))
    assert {name for name in NO_UUIDS if f"{name}:" not in said} == set()


KEYS = ("paths", "/v1/api-keys", "get")
LIMIT = ("components", "parameters", "limit")
MINTED = ("components", "schemas", "ApiKeyCreate")
REFUSED = ("components", "responses")
GONE = object()
# Where the document is changed, to what, and what is then said.
BREACHES: list[tuple[tuple[str | int, ...], object, str]] = [
    ((*KEYS, "description"), "List the account's API keys, newest first.", "no description beyond its summary"),
    ((*LIMIT, "description"), GONE, "parameter limit has no description"),
    ((*LIMIT, "description"), "The limit", "parameter limit has no description"),
    ((*KEYS, "responses", "200", "description"), GONE, "200 has no description"),
    ((*MINTED, "description"), "", "ApiKeyCreate: has no description"),
    ((*MINTED, "properties", "label", "description"), "Label.", "ApiKeyCreate.label: has no description"),
    (("components", "parameters", "webhook-id", "description"), GONE, "webhook-id has no description"),
    ((*KEYS, "security"), GONE, "GET /v1/api-keys: has no security"),
    ((*KEYS, "security"), [], "security names []"),
    ((*KEYS, "security"), [{}, {"ApiKey": []}], "credentials are optional"),
    (("paths", "/livez", "get", "security"), [{"ApiKey": []}], "GET /livez: security names ['ApiKey']"),
    (("components", "securitySchemes", "Cookie"), GONE, "securitySchemes: ['ApiKey', 'Bearer']"),
    (("servers",), [], "servers: none"),
    (("info", "contact"), GONE, "info: has no contact"),
    (("info", "license", "identifier"), "MIT", "info: the license is not Apache-2.0"),
    (("tags", 0, "name"), "shop", "tag shop: not used"),
    (("tags", 0, "name"), "shop", "tag catalog: not declared"),
    (("tags", 0, "description"), GONE, "tag catalog: has no description"),
    ((*KEYS, "tags"), ["api-keys", "beyond"], "GET /v1/api-keys: has not one tag"),
    (("components", "schemas", "ApiKeyItem", "properties", "id", "format"), GONE, "ApiKeyItem.id: is not a uuid"),
    ((*REFUSED, "401.api_key_expired", "content", PROBLEM, "examples"), {}, "401 lists the codes []"),
    (("components", "examples", "insufficient_scope"), GONE, "insufficient_scope has no example"),
    (("components", "examples", "insufficient_scope", "value", "status"), 401, "of another code or status"),
    (("components", "examples", "insufficient_scope", "value", "next_action"), None, "does not say what to do"),
    (("components", "schemas", "Problem", "properties", "code", "enum"), ["x"], "Problem.code: is a closed set"),
    (("webhooks", "invoice.paid"), GONE, "invoice.paid: not in webhooks"),
    (("components", "schemas", "InvoicePaidEvent", "examples"), [], "invoice.paid: has no example"),
    (
        ("components", "schemas", "InvoicePaidEvent", "properties", "data"),
        {},
        "invoice.paid: its body is not typed",
    ),
    ((*KEYS, "responses", "200", "content", "text/plain"), {}, "200 has the media types"),
    ((*MINTED, "anyOf"), [], "ApiKeyCreate: has properties and alternatives"),
]


@pytest.mark.parametrize(("where", "value", "said"), BREACHES)
def test_each_breach_is_said(where: tuple[str | int, ...], value: object, said: str) -> None:
    broken = deepcopy(document())
    place: Any = broken
    for step in where[:-1]:
        place = place[step]
    if value is GONE:
        del place[where[-1]]
    else:
        place[where[-1]] = value
    found = [each for rule in RULES for each in rule(broken)]
    assert any(said in each for each in found), found[:20]
