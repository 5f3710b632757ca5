"""What a form did, in words: from the reply of the API, never from its status alone."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from builders.portfolio.registrars.providers import label_of

Reply = Mapping[str, Any]

# Identifiers of the API that are no words of a person.
_WORDS: Mapping[str, str] = {
    "no_op": "unchanged",
    "developer_full": "developer",
    "domainer_full": "domainer",
    "http_status": "HTTP error",
    "login": "signed in",
    "login_as": "support",
    "todo": "to do",
    "verify_email": "confirm the email address",
    "complete_profile": "complete the account",
    "create_api_key": "create an API key",
    "create_project": "create a project",
    "first_plan": "make a plan",
    "first_promote": "promote a plan",
    "add_domain": "add a domain",
    "connect_registrar": "connect a registrar",
}
# Why a receiver of events gave no answer.
_UNREACHED: Mapping[str, str] = {
    "dns": "its host name has no address",
    "blocked_address": "its address is not public",
    "connect": "no connection could be made",
    "tls": "the TLS handshake failed",
    "timeout": "no complete answer came in time",
    "too_large": "its answer is too large",
    "protocol": "the connection was lost, or the answer is not valid HTTP",
}


# What the API says to programs about a value, and what a person reads.
_SAID: Sequence[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r"^Field required$", "Fill this in."),
        (r"^Input should be greater than or equal to (\S+?)\.?$", r"Write \1 or more."),
        (r"^Input should be less than or equal to (\S+?)\.?$", r"Write \1 or less."),
        (r"^Input should be greater than (\S+?)\.?$", r"Write more than \1."),
        (r"^Input should be less than (\S+?)\.?$", r"Write less than \1."),
        (r"^Input should be true or false\.$", "Choose yes or no."),
        (
            r"^Input should be a (?:JSON|valid) (?:array|list|object|dictionary)\.?$",
            "This is not what the form sends.",
        ),
        (r"^Input should be a (?:JSON|valid) (?:number|integer).*$", "Write a number."),
        (r"^Input should be a (?:JSON|valid) string\.?$", "Write a text."),
        (r"^Input should be ('.*')$", r"Choose one of these: \1."),
        (r"^Input should be (.*)$", r"Write \1"),
        (r"^String should match pattern .*$", "This is not written as it has to be; see below the field."),
        (r"^(?:String|List|Data) should have (at (?:most|least) .*)$", r"Write \1."),
        (r": a JSON number is not exact\.?", ""),
    )
]
_REQUEST = re.compile(r":? (?:GET|POST|PUT|PATCH|DELETE) /v1/.*?(?=\.(?:\s|$))")


class Notice(NamedTuple):
    """What the next page says about a form."""

    text: str
    kind: str = "good"  # or wait, bad: the class of the notice


class Row(NamedTuple):
    """What happened to one of several things."""

    name: str
    kind: str  # good, wait or bad
    done: str  # what happened
    todo: str | None = None  # what the person must do
    page: str | None = None  # of the console, that shows more
    address: str | None = None  # of the registrar's website


class Results(NamedTuple):
    """What a form did to several things, which a page of its own lists."""

    title: str
    rows: Sequence[Row]
    back: str  # the label of the link to the page of the form


def words(value: str) -> str:
    """Return an identifier of the API as words: `in_progress` is `in progress`."""
    return _WORDS.get(value, value.replace("_", " "))


def for_people(text: str) -> str:
    """Return a sentence of the API without the request that it names for programs."""
    return _REQUEST.sub("", text)


def said(text: str) -> str:
    """Return what the API says about a value in words for the person who typed it."""
    for pattern, shown in _SAID:
        text = pattern.sub(shown, text)
    return for_people(text)


def reason_of(problem: Reply) -> str:
    """Return why the API refused a call, in words."""
    detail = problem["detail"]
    return " ".join(said(each["msg"]) for each in detail) if isinstance(detail, list) else said(detail)


def place(loc: Sequence[str | int]) -> str:
    """Return where a value stands, as words: `row 2, amount`; "" for the whole form."""
    return ", ".join(f"row {each + 1}" if isinstance(each, int) else words(each) for each in loc[1:])


def count(number: int, noun: str, verb: str = "", verbs: str = "", *, plural: str | None = None) -> str:
    """Return a number with its noun, and the verb that fits: `1 row is`, `2 rows are`."""
    nouns = noun if number == 1 else plural or f"{noun}s"
    return " ".join(filter(None, (f"{number:,}", nouns, verb if number == 1 else verbs)))


def of_test(reply: Reply) -> Notice:
    """Return what the receiver of a test event answered."""
    return _of_attempt("The test event", reply)


def of_retry(reply: Reply) -> Notice:
    """Return what the receiver of an event answered now."""
    return _of_attempt("The event", reply)


def _of_attempt(what: str, reply: Reply) -> Notice:
    status, error = reply["attempt"]["status"], reply["attempt"]["error"]
    if error is None:
        return Notice(f"{what} was sent. The receiver answered {status}.")
    if status is not None:
        return Notice(f"{what} was sent, but not accepted: the receiver answered {status}.", "bad")
    return Notice(f"{what} did not arrive: {_UNREACHED.get(error, words(error))}.", "bad")


def of_replay(reply: Reply) -> Notice:
    """Return how many deliveries are sent again."""
    number = reply["count"]
    if not number:
        return Notice("Nothing is sent again: no delivery of that time has this state.", "wait")
    sent = count(number, "delivery", "is", "are", plural="deliveries")
    if reply["more"]:
        return Notice(f"{sent} sent again, and more remain. Send the form again with a later time.", "wait")
    return Notice(f"{sent} sent again.")


def of_ask(reply: Reply) -> Notice:
    """Return whether the people who decide were asked about a plan."""
    if reply["state"] in {"required", "expired"}:
        return Notice("The people who decide are asked: by a message, or in the summary of the day.")
    return Notice("Nobody was asked: this plan needs no decision.", "wait")


def of_approval(reply: Reply) -> Notice:
    """Return whether a plan is approved now."""
    if reply["state"] == "approved":
        return Notice("Your approval is recorded. The plan is approved.")
    needed = count(reply["approvals"], "person", plural="people")
    return Notice(f"Your approval is recorded. The plan needs the approval of {needed}.", "wait")


def of_policy(reply: Reply) -> Notice:
    """Return whether an approval policy is in force now."""
    if reply["proposal"] is None:
        return Notice("The policy is in force.")
    return Notice("The policy is proposed. It takes effect when enough people have confirmed it.", "wait")


def of_export(reply: Reply) -> Notice:
    """Return whether an export is written."""
    if reply["state"] == "running":
        return Notice("The export is written. Open this page again in a minute.", "wait")
    return Notice("The export waits until enough people have confirmed it.", "wait")


def of_erasure(reply: Reply) -> Notice:
    """Return whether the time of an erasure runs."""
    if reply["state"] == "waiting":
        return Notice("The account is erased after 14 days. An email about it goes to you.", "wait")
    return Notice("The erasure waits until enough people have confirmed it.", "wait")


def of_domain(reply: Reply) -> Notice:
    """Return what a person does with an added domain."""
    if reply["status"] == "live":
        return Notice("The domain is added.")
    step = (
        "Set its DNS records, then verify it."
        if reply["livemode"]
        else "Verify it: a sandbox needs no DNS record."
    )
    return Notice(f"The domain is added. {step}", "wait")


def of_verification(reply: Reply) -> Notice:
    """Return what DNS says about a domain."""
    checked = reply["checked"]["status"]
    if checked == "found":
        return Notice("DNS has the record: the domain is verified.")
    found = {
        "missing": "DNS does not have the record yet.",
        "wrong": "DNS has another record at this name.",
        "unknown": "DNS gave no reliable answer. Try again later.",
    }[checked]
    is_live = reply["status"] == "live"
    rest = "The domain stays verified for now." if is_live else "The domain is not verified."
    return Notice(f"{found} {rest}", "wait" if is_live else "bad")


def of_name(reply: Reply) -> Notice:
    """Return which mailboxes of a changed name get no mail yet."""
    waiting = sum(not each["verified"] for each in reply["destinations"])
    if not waiting:
        return Notice("The name is changed.")
    mailboxes = count(waiting, "mailbox", "gets", "get", plural="mailboxes")
    return Notice(f"The name is changed. {mailboxes} no mail before a confirmation.", "wait")


def of_destination(reply: Reply) -> Notice:
    """Return whether a mailbox is asked to confirm."""
    if not reply["sent"]:
        return Notice(f"No message is sent: {reply['email']} has agreed already.", "wait")
    if reply["asking_at"]:
        return Notice("The account has reached its limit of a day: the message is sent later.", "wait")
    return Notice(f"A message to {reply['email']} asks for the confirmation.")


def of_correspondent(reply: Reply) -> Notice:
    """Return the address to which a person writes now."""
    return Notice(f"Write to {reply['reverse_address']}: it goes to {reply['email']}, as from the name.")


# What a status code of a mail server says (RFC 3463), by how it ends.
_MAIL_REASONS: Mapping[str, str] = {
    "1.1": "there is no such mailbox",
    "1.2": "its domain does not exist",
    "1.10": "its domain takes no mail",
    "2.1": "the mailbox is switched off",
    "2.2": "the mailbox is full",
    "3.4": "the message is too large",
    "4.1": "its server gives no answer",
    "4.4": "its server cannot be found",
    "4.7": "its server gave no answer for too long",
    "7": "its server refuses the message as unwanted, or by a rule",
}


def of_mail_code(code: str) -> str:
    """Return why a mail server did not take a message."""
    kind, _, rest = code.partition(".")
    if kind == "2":
        return "accepted by its server"
    return _MAIL_REASONS.get(rest) or _MAIL_REASONS.get(rest.partition(".")[0]) or f"its server says {code}"


def of_samples(reply: Reply) -> Notice:
    """Return which channels took a sample of a notice."""
    failed = [each for each in reply["webhooks"] if each["status"] != "succeeded"]
    mail = "A sample goes to your address" if reply["email"]["status"] == "queued" else "No sample was mailed"
    hooks = f"{count(len(reply['webhooks']) - len(failed), 'webhook')} took one, {len(failed)} did not"
    return Notice(f"{mail}. {hooks}.", "wait" if failed or reply["email"]["status"] != "queued" else "good")


def of_email(reply: Reply) -> Notice:
    """Return whether a message confirms the address of the account."""
    if not reply["sent"]:
        return Notice("No message is sent: there is nothing to confirm.", "wait")
    return Notice(f"A message with the link goes to {reply['pending_email'] or reply['email']}.")


def of_profile(reply: Reply) -> Notice:
    """Return whether a new address of the account counts."""
    if reply["pending_email"] is None:
        return Notice("The account is changed.")
    return Notice(f"The account is changed. {reply['pending_email']} counts after its confirmation.", "wait")


def of_read(reply: Reply) -> Notice:
    """Return how many notices were unread."""
    if not reply["marked"]:
        return Notice("No notice was unread.", "wait")
    return Notice(f"{count(reply['marked'], 'notice', 'is', 'are')} marked as read.")


def of_keys(reply: Reply) -> Notice:
    """Return how many keys and connections of the account are revoked."""
    number = len(reply["items"])
    if not number:
        return Notice("No key was active. Promotions that waited are ended.", "wait")
    return Notice(f"{count(number, 'key', 'is', 'are')} revoked. No machine of the account can act.")


def of_parking(reply: Reply) -> Notice:
    """Return how many rows of revenue are recorded."""
    summary = reply["summary"]
    parts = [
        count(summary["created"], "row", "is", "are") + " recorded",
        *([f"{summary['updated']:,} changed"] if summary["updated"] else []),
        *([f"{summary['unchanged']:,} known already"] if summary["unchanged"] else []),
    ]
    return Notice(f"{', '.join(parts)}.", "good" if summary["created"] or summary["updated"] else "wait")


def of_edit(reply: Reply) -> Notice:
    """Return how many domains are changed."""
    number = reply["summary"]["updated"]
    return Notice(f"{count(number, 'domain', 'is', 'are')} changed.", "good" if number else "wait")


def of_undo(reply: Reply) -> Notice:
    """Return how much of an import is undone."""
    undo = reply["undo"]
    if undo is None or reply["state"] == "undoing":
        return Notice("The undo has started.", "wait")
    done = f"{count(undo['removed'], 'domain')} removed, {undo['restored']:,} restored"
    if undo["kept"]:
        return Notice(f"The import is undone in part: {done}, {undo['kept']:,} kept.", "wait")
    return Notice(f"The import is undone: {done}.")


def of_connection(reply: Reply) -> Notice:
    """Return whether a registrar is connected."""
    if not reply["enabled"]:
        return Notice("The connection is saved. It is switched off, so nothing is synced.", "wait")
    if reply["verification"] is None:
        return Notice("The registrar is saved. It has no API: import its list of domains.", "wait")
    return Notice("The registrar accepts the credentials. It is connected.")


def of_disconnection(reply: Reply) -> Notice:
    """Return whether a connection was removed."""
    if not reply["disconnected"]:
        return Notice("Nothing was changed: there is no such connection.", "wait")
    return Notice("The registrar is disconnected, and its credentials are erased.")


def of_charge(reply: Reply) -> Notice:
    """Return whether a charge is booked."""
    if reply["state"] == "applied":
        return Notice("The charge is booked.")
    if reply["state"] == "ignored":
        return Notice("The charge is left out.")
    why = f": {words(reply['reason'])}" if reply["reason"] else ""
    return Notice(f"The charge is changed, and not booked{why}. Its state is {words(reply['state'])}.", "wait")


def of_split(reply: Reply) -> Notice:
    """Return how many parts of a split charge are booked."""
    parts = reply["parts"]
    left = sum(each["state"] != "applied" for each in parts)
    if not left:
        return Notice("The charge is split, and its parts are booked.")
    return Notice(f"The charge is split. Of its {len(parts)} parts, {left} could not be booked.", "wait")


def of_charges(reply: Reply) -> Notice:
    """Return how many charges are booked, and how many need a decision."""
    left = reply["still_unmatched"]
    rest = f" {count(left, 'charge', 'needs', 'need')} a decision." if left else ""
    more = " More remain: press the button again." if reply["has_more"] else ""
    text = f"{count(reply['applied'], 'charge', 'is', 'are')} booked.{rest}{more}"
    return Notice(text, "good" if reply["applied"] and not more else "wait")


def of_decisions(reply: Reply) -> Notice | Results:
    """Return how many decisions are recorded, and what the registrars did with each setting that was sent."""
    if any(each["pushed"] for each in reply["results"]):
        return Results("The decisions", list(map(_of_decision, reply["results"])), "Renewals")
    number = reply["summary"]["updated"]
    if not number:
        return Notice("Nothing was changed: the decisions were recorded before.", "wait")
    return Notice(f"{count(number, 'decision', 'is', 'are')} recorded. Nothing was sent to a registrar.")


def _of_decision(row: Mapping[str, Any]) -> Row:
    if row["errors"]:
        return Row(row["domain"], "bad", " ".join(each["message"] for each in row["errors"]))
    if row["pushed"] is None or row["pushed"]["state"] == "nothing_to_push":
        return Row(row["domain"], "good", "The decision is recorded. It sets nothing at a registrar.")
    sent = of_push(row["domain"], row["pushed"])
    return sent._replace(done=f"The decision is recorded. {sent.done}")


def of_push(domain: str, pushed: Mapping[str, Any]) -> Row:
    """Return what a registrar did with a setting of auto-renew."""
    setting = "on" if pushed["auto_renew"] else "off"
    registrar = label_of(pushed["provider"]) if pushed["provider"] else "the registrar"
    why = for_people(pushed["error"] or "It gave no reason.")
    by_hand = f"Switch auto-renew {setting} at the registrar's website."
    match pushed["state"]:
        case "pushed":
            return Row(domain, "good", f"Auto-renew is switched {setting} at {registrar}.")
        case "unchanged":
            return Row(domain, "good", f"Auto-renew is {setting} at {registrar} already.")
        case "queued":
            return Row(
                domain, "wait", f"{registrar} has not taken the setting yet. It is sent again. {why}", "Nothing."
            )
        case "not_connected":
            return Row(domain, "bad", "Nothing was sent: no connected registrar holds the domain.", by_hand)
        case "unsupported":
            done = f"Nothing was sent: the API of {registrar} does not offer it."
            return Row(domain, "bad", done, by_hand, address=pushed["dashboard_url"])
    done = f"{registrar} has not taken the setting. {why}"
    return Row(domain, "bad", done, by_hand, address=pushed["dashboard_url"])
