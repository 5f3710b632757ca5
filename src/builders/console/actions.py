"""The forms of the console: each sends one request of the API, and leads back to a page.

The members of the body are typed by the schema of the operation, so a form states only their names.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from builders.console import (
    approval,
    currencies,
    edits,
    files,
    fixes,
    imports,
    mandates,
    manifests,
    notices,
    portfolio,
    registrars,
    sales,
)
from builders.console.amounts import as_amount
from builders.console.calls import Api, Call, fill, is_money
from builders.console.files import Shown
from builders.console.forms import ETAG, KEY, Sent, as_integer
from builders.console.notices import Notice, Results
from builders.kit.http.internal_calls import Answer
from builders.kit.sheets.numbers import find_currency


@dataclass(frozen=True, slots=True)
class Action:
    """What a form does."""

    method: str
    path: str  # of the API; its parameters are fields of the form
    # What the next page says; a function reads it from the reply, where the status alone does not tell.
    done: str | Callable[[Any], Notice | Results]
    to: str | None = None  # the next page, with fields of the form and members of the reply; None for the same one
    template: str | None = None  # of a page that shows the reply at once, because it contains a secret
    body: Callable[[Api, Sent], Awaitable[Any]] | None = None  # for a body that is not one member per field
    call: Callable[[Api, Sent], Awaitable[Call]] | None = None  # for a request whose path or query has fields too
    # For several requests; an answer refuses, and what is shown has the template of the action.
    send: Callable[[Api, Sent], Awaitable[Results | Shown | Answer]] | None = None
    then: str | None = None  # the form whose page follows while rows remain, or when its own rows have changed


CONNECT = "/v1/auth/oauth/requests/{request_id}/decision"
CORRESPONDENTS = "/v1/aliases/{alias_id}/correspondents"
RECEPTION = "/v1/aliases/{alias_id}/receive-as-event"
ACTIONS: Mapping[str, Action] = {
    "claim": Action("POST", "/v1/sandbox/plan", "Review the plan.", "plans/{id}", body=manifests.claim),
    "names-change": Action(
        "POST", "/v1/sandbox/plan", "Review the plan.", "plans/{id}", body=manifests.change_names
    ),
    "plan-approve": Action("POST", "/v1/sandbox/plans/{plan_id}/approval", notices.of_approval),
    "plan-reject": Action("POST", "/v1/sandbox/plans/{plan_id}/approval", "Your rejection is recorded."),
    "plan-withdraw": Action("DELETE", "/v1/sandbox/plans/{plan_id}/approval", "Your decision is withdrawn."),
    "plan-ask": Action("POST", "/v1/sandbox/plans/{plan_id}/approval/request", notices.of_ask),
    "plan-promote": Action(
        "POST", "/v1/sandbox/plans/{plan_id}/promotion", "The promotion has started.", "promotions/{id}"
    ),
    "policy-change": Action("PUT", "/v1/sandbox/approval-policy", notices.of_policy, body=approval.write_policy),
    "policy-confirm": Action(
        "POST", "/v1/sandbox/approval-policy/proposals/{proposal_id}/confirm", notices.of_policy
    ),
    "policy-discard": Action(
        "DELETE", "/v1/sandbox/approval-policy/proposals/{proposal_id}", "The proposal is discarded."
    ),
    "decider-confirm": Action("POST", "/v1/account/deciders/{decider_id}/confirm", "The person is confirmed."),
    "member-invite": Action(
        "POST",
        "/v1/portfolio/team/invites",
        "The invitation is made. A message with its link goes to the address.",
    ),
    "member-change": Action("PATCH", "/v1/portfolio/team/members/{member_account_id}", "The member is changed."),
    "member-remove": Action("DELETE", "/v1/portfolio/team/members/{member_account_id}", "The member is removed."),
    "invite-revoke": Action("DELETE", "/v1/portfolio/team/invites/{invite_id}", "The invitation is revoked."),
    "name-change": Action("PATCH", "/v1/aliases/{alias_id}", notices.of_name),
    "name-release": Action("DELETE", "/v1/aliases/{alias_id}", "The name is released.", "names/{alias_id}"),
    "reception-set": Action("PUT", RECEPTION, "The mail to this name is received as events."),
    "reception-end": Action(
        "DELETE", RECEPTION, "The mail to this name is no longer received as events. Stored messages are deleted."
    ),
    "correspondent-add": Action("POST", CORRESPONDENTS, notices.of_correspondent),
    "correspondent-remove": Action(
        "DELETE", f"{CORRESPONDENTS}/{{correspondent_id}}", "The correspondent is removed."
    ),
    "destination-ask": Action("POST", "/v1/aliases/destinations/resend", notices.of_destination),
    "domain-add": Action("POST", "/v1/domains", notices.of_domain, "domains/{id}"),
    "domain-verify": Action("POST", "/v1/domains/{id}/verify", notices.of_verification),
    "domain-change": Action("PATCH", "/v1/domains/{id}", "The domain is changed."),
    "domain-release": Action("DELETE", "/v1/domains/{id}", "The domain is released.", "domains"),
    "webhook-add": Action(
        "POST", "/v1/notifications/webhooks", "The destination is added.", template="webhook_secret.html"
    ),
    "webhook-change": Action("PATCH", "/v1/notifications/webhooks/{webhook_id}", "The destination is changed."),
    "webhook-delete": Action(
        "DELETE", "/v1/notifications/webhooks/{webhook_id}", "The destination is deleted.", "webhooks"
    ),
    "webhook-test": Action(
        "POST", "/v1/notifications/webhooks/{webhook_id}/test", notices.of_test, "webhooks/{webhook_id}"
    ),
    "webhook-rotate": Action(
        "POST",
        "/v1/notifications/webhooks/{webhook_id}/rotate-secret",
        "The secret is rotated.",
        template="webhook_secret.html",
    ),
    "webhook-replay": Action("POST", "/v1/notifications/webhooks/{webhook_id}/replay", notices.of_replay),
    "delivery-retry": Action("POST", "/v1/notifications/deliveries/{id}/retry", notices.of_retry),
    "agent-mint": Action(
        "POST", "/v1/api-keys", "The key is minted.", template="key_secret.html", body=mandates.write_key
    ),
    "key-mint": Action("POST", "/v1/api-keys", "The key is minted.", template="key_secret.html"),
    "key-rotate": Action(
        "POST", "/v1/api-keys/{key_id}/rotate", "The key is rotated.", template="key_secret.html"
    ),
    "keys-revoke": Action("DELETE", "/v1/api-keys", notices.of_keys),
    "key-enable": Action("POST", "/v1/api-keys/{key_id}/enable", "The key works again."),
    "key-narrow": Action("POST", "/v1/api-keys/{key_id}/remove-scopes", "The rights are removed."),
    "key-revoke": Action("DELETE", "/v1/api-keys/{key_id}", "The key is revoked."),
    "device-find": Action("POST", "/v1/auth/device/code", "Check whether this is your machine.", "device/{id}"),
    "device-approve": Action(
        "POST", "/v1/auth/device/requests/{request_id}/decision", "Approved. Go back to the terminal."
    ),
    "device-agent": Action(
        "POST",
        "/v1/auth/device/requests/{request_id}/decision",
        "Approved. Go back to the terminal.",
        body=mandates.write_device,
    ),
    "device-deny": Action("POST", "/v1/auth/device/requests/{request_id}/decision", "The machine gets no key."),
    "connect-allow": Action(
        "POST", CONNECT, "The program is connected.", template="connected.html", body=mandates.write_connection
    ),
    "connect-deny": Action("POST", CONNECT, "The program gets no connection.", template="connected.html"),
    "connection-revoke": Action("DELETE", "/v1/auth/connections/{connection_id}", "The connection is revoked."),
    "session-end": Action("DELETE", "/v1/auth/sessions/{session_id}", "The session has ended."),
    "project-add": Action("POST", "/v1/builders/projects", "The project is created.", "projects/{id}"),
    "project-change": Action("PATCH", "/v1/builders/projects/{project_id}", "The project is changed."),
    "project-archive": Action("DELETE", "/v1/builders/projects/{project_id}", "The project is archived."),
    "invoice-pay": Action(
        "POST", "/v1/invoices/{invoice_id}/checkout", "The payment page opens.", template="pay.html"
    ),
    "portfolio-domain-add": Action(
        "POST", portfolio.DOMAINS, "The domain is in the portfolio.", "portfolio/domains/{id}"
    ),
    "portfolio-domain-remove": Action(
        "DELETE",
        portfolio.DOMAIN,
        "The domain is removed from the portfolio.",
        "portfolio/domains",
        call=portfolio.remove_domain,
    ),
    "portfolio-domain-change": Action("PATCH", portfolio.DOMAIN, "The domain is changed."),
    "domains-preview": Action(
        "POST",
        edits.EDIT,
        "This would change.",
        "portfolio/domains",
        template="portfolio/domains_preview.html",
        call=edits.preview,
    ),
    "domains-change": Action("POST", edits.EDIT, notices.of_edit, call=edits.change, then="domains-preview"),
    "entry-add": Action("PATCH", portfolio.FINANCE, "The entry is recorded.", body=portfolio.add_entry),
    "entry-void": Action("PATCH", portfolio.FINANCE, "The entry is void.", body=portfolio.void_entry),
    "renewal-record": Action("POST", f"{portfolio.FINANCE}/renewals", "The renewal is recorded."),
    "sale-record": Action(
        "PATCH", portfolio.FINANCE, "The sale is recorded.", "portfolio/domains/{domain_id}", body=sales.record
    ),
    "sale-void": Action("PATCH", portfolio.FINANCE, "The sale is void.", body=sales.void),
    "instalment-receive": Action("PATCH", portfolio.FINANCE, "The instalment is booked.", body=sales.receive),
    "rate-add": Action("PUT", currencies.RATES, "The exchange rate is saved.", body=currencies.add),
    "rate-remove": Action("PUT", currencies.RATES, "The exchange rate is removed.", body=currencies.remove),
    "base-currency-change": Action(
        "PATCH", portfolio.FINANCE, "The base currency is changed: every amount is converted again."
    ),
    "parking-record": Action("POST", "/v1/portfolio/parking/revenue", notices.of_parking),
    "revenue-preview": Action(
        "POST", files.REVENUE.path, "", template="portfolio/revenue_preview.html", send=files.REVENUE.preview
    ),
    "revenue-read": Action(
        "POST",
        files.REVENUE.path,
        files.told("row", "Parking"),
        "portfolio/parking",
        call=files.REVENUE.start,
    ),
    "notices-read": Action("POST", f"{portfolio.NOTICES}/read", notices.of_read),
    "notice-acknowledge": Action("POST", f"{portfolio.NOTICES}/acknowledge", "The notice is acknowledged."),
    "preferences-change": Action("PATCH", f"{portfolio.NOTICES}/preferences", "The preferences are saved."),
    "samples-send": Action("POST", f"{portfolio.NOTICES}/test", notices.of_samples),
    "calendar-create": Action(
        "POST", portfolio.CALENDAR, "The link is created.", template="portfolio/calendar.html"
    ),
    "calendar-revoke": Action("DELETE", portfolio.CALENDAR, "The link is revoked."),
    "auth-code": Action(
        "POST",
        portfolio.AUTH_CODE,
        "The auth code was requested.",
        template="portfolio/auth_code.html",
        call=portfolio.request_auth_code,
    ),
    "renewals-decide": Action("PATCH", portfolio.BULK, notices.of_decisions, call=portfolio.decide_renewals),
    "renewals-drop": Action(
        "PATCH",
        portfolio.BULK,
        "This would change.",
        "portfolio/renewals",
        template="portfolio/domains_preview.html",
        call=portfolio.preview_drop,
    ),
    "columns-choose": Action("PATCH", portfolio.VIEWS, "The columns are saved."),
    "view-save": Action("PATCH", portfolio.VIEWS, "The view is saved.", body=portfolio.save_view),
    "view-remove": Action("PATCH", portfolio.VIEWS, "The view is removed.", body=portfolio.remove_view),
    "import-preview": Action(
        "POST",
        imports.PREVIEW,
        "This would be imported.",
        template="portfolio/import_preview.html",
        call=imports.preview,
    ),
    "import-start": Action(
        "POST", imports.IMPORT, "The import has started.", "portfolio/imports/{import_id}", call=imports.start
    ),
    "import-undo-check": Action(
        "POST",
        imports.UNDO,
        "This would be undone.",
        template="portfolio/import_undo.html",
        call=imports.check_undo,
    ),
    "import-undo": Action("POST", imports.UNDO, notices.of_undo, "portfolio/imports/{import_id}"),
    "format-delete": Action("DELETE", imports.FORMAT, "The mapping is deleted.", call=imports.delete_format),
    "registrar-connect": Action(
        "PUT",
        registrars.REGISTRAR,
        notices.of_connection,
        "portfolio/registrars",
        call=registrars.connect,
    ),
    "registrar-disconnect": Action(
        "DELETE", registrars.REGISTRAR, notices.of_disconnection, call=registrars.disconnect
    ),
    "registrars-sync": Action(
        "POST", registrars.SYNC, "The sync has started.", "portfolio/runs/{run_id}", call=registrars.sync
    ),
    "charges-sync": Action(
        "POST",
        registrars.BILLING_SYNC,
        "The sync of charges has started.",
        "portfolio/runs/{run_id}",
        call=registrars.sync_charges,
    ),
    "bill-preview": Action(
        "POST", files.BILL.path, "", template="portfolio/bill_preview.html", send=files.BILL.preview
    ),
    "bill-read": Action(
        "POST",
        files.BILL.path,
        files.told("charge", "Bills"),
        "portfolio/registrars/charges",
        call=files.BILL.start,
    ),
    "holdings-preview": Action(
        "POST", files.HOLDINGS.path, "", template="portfolio/holdings_preview.html", send=files.HOLDINGS.preview
    ),
    "holdings-read": Action(
        "POST",
        files.HOLDINGS.path,
        files.told("domain", "Lists of registrars"),
        "portfolio/registrars/inventory",
        call=files.HOLDINGS.start,
    ),
    "charge-match": Action("PATCH", registrars.CHARGE, notices.of_charge, body=registrars.match_charge),
    "charge-ignore": Action("PATCH", registrars.CHARGE, notices.of_charge, body=registrars.ignore_charge),
    "charge-split": Action("POST", registrars.SPLIT, notices.of_split, body=registrars.split_charge),
    "charge-unsplit": Action("DELETE", registrars.SPLIT, "The split is taken back."),
    "charges-apply": Action("POST", registrars.APPLY, notices.of_charges),
    "findings-fix": Action("GET", fixes.RECONCILE, "", send=fixes.fix),
    "billing-change": Action("PUT", "/v1/invoices/billing-details", "The billing details are saved."),
    "profile-change": Action("PATCH", "/v1/me", notices.of_profile),
    "export-confirm": Action("POST", "/v1/account/exports/complete", notices.of_export),
    "erasure-confirm": Action("POST", "/v1/account/erasure", notices.of_erasure),
    "erasure-cancel": Action("DELETE", "/v1/account/erasure", "The account is kept."),
    "email-ask": Action("POST", "/v1/account/email-verification/resend", notices.of_email),
}


async def call_of(action: Action, sent: Sent, api: Api) -> Call | None:
    """Return the call that the form makes; None when it would change nothing. Raise NotFound."""
    if action.call is not None:
        return await action.call(api, sent)
    target = fill(action.path, sent.path_values())
    if action.body is not None:
        return Call(action.method, target, await action.body(api, sent), key=sent.first(KEY) or None)
    properties = api.properties(action.method, target)
    body: dict[str, Any] = {}
    before = sent.before() if action.method == "PATCH" else {}
    for name, values in sent.fields.items():
        if name in properties and before.get(name) != _text(properties[name], values):
            schema, typed = properties[name], values[-1].strip()
            if typed and is_money(schema):
                # The currency beside it, or that of the value that the form was shown with.
                near = sent.first("currency") or find_currency(before.get(name, "")) or ""
                value = await as_amount(api, typed, field=name, currency=near)
                _set(body, name, value)
                continue
            for path, value in _member(name, schema, values):
                _set(body, path, value)
    if action.method == "PATCH" and not body:
        return None
    key, etag = sent.first(KEY) or None, sent.first(ETAG) or None
    return Call(action.method, target, body if properties else None, key=key, etag=etag)


def _set(body: dict[str, Any], path: str, value: Any) -> None:
    *groups, member = path.split(".")
    place = body
    for group in groups:
        place = place.setdefault(group, {})
    place[member] = value


def _text(schema: Mapping[str, Any], values: Sequence[str]) -> str:
    return "\n".join(values) if schema.get("type") == "array" else values[-1]


def _member(name: str, schema: Mapping[str, Any], values: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the member with its value; none for an empty field that cannot be null. No line is null or []."""
    kind, text = schema.get("type"), values[-1].strip()
    if kind == "array":
        is_number = schema.get("items", {}).get("type") == "integer"
        texts = (line.strip() for value in values for line in value.splitlines())
        lines = [as_integer(each) if is_number else each for each in texts if each]
        yield name, lines or (None if schema.get("nullable") else [])
    elif kind == "boolean" and (text or not schema.get("nullable")):
        yield name, text == "true"
    elif text and schema.get("format") == "date-time":
        # A field of a form has neither seconds nor a time zone.
        yield name, f"{text}:00Z" if len(text) == len("2026-01-05T09:30") else text
    elif text:
        yield name, as_integer(text) if kind == "integer" else values[-1]
    elif schema.get("nullable"):
        yield name, None


def told(action: Action, reply: Any) -> Notice | Results:
    """Return what a form did, with the warnings of the reply."""
    found = action.done(reply) if callable(action.done) else Notice(action.done)
    warnings = reply.get("warnings", ()) if isinstance(reply, dict) else ()
    if isinstance(found, Results) or not warnings:
        return found
    return Notice(" ".join((found.text, *(each["message"] for each in warnings))), "wait")
