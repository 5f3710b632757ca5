"""The forms that change many domains: one shows what would change, the next one changes it."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from builders.console import portfolio
from builders.console.amounts import as_amount
from builders.console.calls import Api, Call
from builders.console.forms import KEY, PAGE, Sent
from builders.console.notices import reason_of
from builders.kit.errors import Invalid
from builders.portfolio.domains.filters import FILTER_NAMES
from builders.portfolio.domains.records import MAX_BULK

EDIT, DECIDE = "/v1/portfolio/domains/bulk", "/v1/portfolio/renewals/bulk"
# Fields: the selected ids, or all domains of the view; of these the ones after a cursor of the list.
DOMAINS, ALL, AFTER = "domains", "all", "after"
SETS = "set."  # before a member of the patch
AMOUNTS = ("asking_price", "min_offer", "estimated_value", "renewal_price")
CLEARABLE = ("folder", *AMOUNTS)
TAGS = ("add_tags", "remove_tags")
FIELDS = ("decision", *TAGS, *(f"{SETS}{name}" for name in ("folder", "status", "auto_renew", *AMOUNTS)))


async def preview(api: Api, sent: Sent) -> Call:
    """Return the call that shows what would change of up to MAX_BULK chosen domains. Raise Invalid."""
    chosen, after = await _chosen(api, sent)
    return replace(await _call(api, sent, chosen, dry_run=True), after=after)


async def change(api: Api, sent: Sent) -> Call:
    """Return the call that changes what the page showed. Raise Invalid."""
    return await _call(api, sent, sent.first(DOMAINS).split(), dry_run=False)


async def _call(api: Api, sent: Sent, domains: Sequence[str], *, dry_run: bool) -> Call:
    patch = await _patch(api, sent)
    tags = {name: tags for name in TAGS if (tags := _tags(sent.first(name)))}
    decision, key = sent.first("decision"), None if dry_run else sent.first(KEY) or None
    if decision and (patch or tags):
        message = "Decide about the renewals, or change the other members: one of them at a time."
        raise Invalid(("body", "decision"), message, "decision_alone")
    chosen: dict[str, Any] = {"domains": domains, "dry_run": dry_run}
    digest = {"digest": sent.first("digest")} if sent.first("digest") and not dry_run else {}
    if decision:
        return Call("PATCH", DECIDE, {**chosen, **digest, "set": {"decision": decision}}, key=key)
    return Call("POST", EDIT, {**chosen, **tags, **digest, **({"set": patch} if patch else {})}, key=key)


async def _patch(api: Api, sent: Sent) -> Mapping[str, Any]:
    """Return the members that a person typed or chose; empty fields change nothing. Raise Invalid."""
    patch: dict[str, Any] = dict.fromkeys(each for each in sent.fields.get("clear", ()) if each in CLEARABLE)
    for name in ("folder", "status"):
        if text := sent.first(f"{SETS}{name}").strip():
            patch[name] = text
    for name in AMOUNTS:
        if text := sent.first(f"{SETS}{name}").strip():
            patch[name] = await as_amount(api, text, field=f"{SETS}{name}")
    if text := sent.first(f"{SETS}auto_renew"):
        patch["auto_renew"] = None if text == "unknown" else text == "true"
    return patch


def _tags(text: str) -> Sequence[str]:
    return [tag for each in text.split(",") if (tag := each.strip())]


async def _chosen(api: Api, sent: Sent) -> tuple[Sequence[str], str | None]:
    """Return the ids of the chosen domains, or of up to MAX_BULK of the view, and the cursor of those after them.

    Raise Invalid.
    """
    if "true" not in sent.fields.get(ALL, ()):
        selected = [each for ids in sent.fields.get(DOMAINS, ()) for each in ids.split()]
        if not selected:
            raise Invalid(("body",), "Select domains, or choose all domains of this view.", "nothing_selected")
        return selected, sent.first(AFTER) or None
    query = dict(parse_qsl(sent.first(PAGE).partition("?")[2]))
    wanted = {name: value for name, value in query.items() if name in FILTER_NAMES}
    found, cursor = list[str](), None
    async with aclosing(portfolio.read_pages(api, wanted, sent.first(AFTER) or None)) as pages:
        async for answer in pages:
            if not answer.is_ok:
                message = f"The domains could not be read: {reason_of(answer.body)}"
                raise Invalid(("body",), message, "domains_unread")
            found += [each["id"] for each in answer.body["items"]]
            cursor = answer.body["next_cursor"]
            if len(found) >= MAX_BULK:
                break
    return found, cursor
