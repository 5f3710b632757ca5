"""The form that resolves differences from the registrars: what its buttons do, and what happened."""

import json
from collections.abc import Mapping
from typing import Any

from builders.console.calls import Api, Call
from builders.console.forms import KEY, PAGE, Sent
from builders.console.notices import Results, Row, count, for_people, of_push, words
from builders.console.portfolio import BULK, DOMAINS
from builders.console.registrars import REGISTRARS, SYNC
from builders.kit.errors import Invalid
from builders.kit.http.internal_calls import Answer

RECONCILE, INVENTORY = f"{REGISTRARS}/reconcile", f"{REGISTRARS}/inventory/import"
AUTH_CODE = "/auth-code"  # ends the path of a fix whose reply is a secret
MAX_FIXES = 100  # of one form
# Labels of buttons that change the portfolio, by category.
_CHANGES: Mapping[str, str] = {
    "expiry_mismatch": "Take the registrar's date",
    "auto_renew_mismatch": "Take the registrar's setting",
    "price_changed": "Take the registrar's price",
    "registrar_mismatch": "Take the registrar's name",
}


async def fix(api: Api, sent: Sent) -> Results | Answer:
    """Send the suggested request of each selected finding, as the report of the page has it now. Raise Invalid.

    A finding that is no longer in the report is resolved. A refused fix does not stop the others. Findings with
    one request, such as a sync of one registrar, send it once.
    """
    wanted = [sent.first("only")] if sent.first("only") else list(dict.fromkeys(sent.fields.get("ids", ())))
    if not 0 < len(wanted) <= MAX_FIXES:
        raise Invalid(("body", "ids"), f"Select 1 to {MAX_FIXES} findings.", "findings_selected")
    query = sent.first(PAGE).partition("?")[2]
    answer = await api.send(Call("GET", f"{RECONCILE}?{query}".removesuffix("?")))
    if not answer.is_ok:
        return answer
    found = [each for each in answer.body["findings"] if each["id"] in wanted and may_fix(each)]
    if not found:
        raise Invalid(("body", "ids"), "The findings have changed since. Look at them again.", "findings_changed")
    answers, rows = dict[str, Answer](), list[Row]()
    for finding in found:  # one by one: few requests of an account may wait
        request = json.dumps(finding["suggested_action"])
        if request not in answers:
            answers[request] = await api.send(_fix(finding, sent.first(KEY)))
        rows.append(told(finding, answers[request]))
    if gone := len(wanted) - len(found):
        rows.append(Row(count(gone, "other"), "good", "In the report no longer. Nothing was sent."))
    return Results("The differences", rows, "Differences from the registrars")


def may_fix(finding: Mapping[str, Any]) -> bool:
    """Return whether a button sends the request of a finding; a secret has a page of its own."""
    action = finding["suggested_action"]
    return action is not None and action["method"] != "GET" and not action["path"].endswith(AUTH_CODE)


def may_select(finding: Mapping[str, Any]) -> bool:
    """Return whether the request alone resolves a finding, so that it can be sent with others."""
    return may_fix(finding) and finding["manual_step"] is None


def fix_label(finding: Mapping[str, Any]) -> str:
    """Return what the button of a finding does."""
    action, is_manual = finding["suggested_action"], finding["manual_step"] is not None
    match action["path"].partition("?")[0]:
        case path if path == SYNC:
            return "I have done it: sync again" if is_manual else "Sync again"
        case path if path == INVENTORY:
            return "I have done it: record it"
        case path if path == BULK:
            return "Switch auto-renew at the registrar"
        case path if path == DOMAINS:
            return "Add to the portfolio"
    if "status" in action["body"]:
        return f"Mark as {words(action['body']['status'])}"
    return _CHANGES.get(finding["category"], "Change the portfolio")


def _fix(finding: Mapping[str, Any], key: str) -> Call:
    action = finding["suggested_action"]
    path = action["path"]
    if path.partition("?")[0] == SYNC:
        path += "&wait=0"
    return Call(action["method"], path, action["body"], key=f"{key}-{finding['id']}" if key else None)


def told(finding: Mapping[str, Any], answer: Answer) -> Row:
    """Return what the request of a finding did, and what the person must do."""
    name = finding["domain"] or f"{finding['provider']} {finding['connection']}"
    step = for_people(finding["manual_step"]) if finding["manual_step"] else None
    if answer.is_ok:
        errors = [each["message"] for row in answer.body.get("results", ()) for each in row.get("errors", ())]
    else:
        detail = answer.body["detail"]
        errors = [detail] if isinstance(detail, str) else [each["msg"] for each in detail]
    if errors:
        return Row(name, "bad", f"Refused: {' '.join(errors)}", step)
    return _resolved(finding, answer.body, name, step)


def _resolved(finding: Mapping[str, Any], reply: Any, name: str, step: str | None) -> Row:
    """Return what an accepted request did."""
    action = finding["suggested_action"]
    match action["path"].partition("?")[0]:
        case path if path == SYNC:
            done = "A sync has started. The difference stays until the list of the registrar shows the change."
            website = finding["dashboard_url"] if step else None
            return Row(name, "wait", done, step, page=f"portfolio/runs/{reply['run_id']}", address=website)
        case path if path == BULK:
            return of_push(name, reply["results"][0]["pushed"])
        case path if path == DOMAINS:
            return Row(name, "good", "Added to the portfolio.", page=f"portfolio/domains/{reply['id']}")
        case path if path == INVENTORY:
            where, [members] = "Recorded in the list of the registrar", action["body"]["rows"]
        case _:
            where, members = "Changed in the portfolio", action["body"]
    values = (f"{words(each)} {_value(value)}" for each, value in members.items() if each != "domain")
    return Row(name, "good", f"{where}: {', '.join(values)}.")


def _value(value: Any) -> str:
    """Return a value of a request as words."""
    if isinstance(value, Mapping):
        return f"{value['amount']} {value['currency']}"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else words(str(value))
