"""`bld names`: find, claim, change and release names."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from builders_client.cli import output, texts
from builders_client.cli.faults import FAILED, REFUSED, USAGE, Fault
from builders_client.cli.plans import MaxTotal, Yes, money
from builders_client.cli.state import State, given, state_of

app = typer.Typer(no_args_is_help=True, help="Find, claim, change and release names.")
Json = Mapping[str, Any]
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="The name, such as ada@harbour.example, or its id.")
]
NewAddress = Annotated[str, typer.Argument(metavar="ADDRESS", help="The name, such as ada@harbour.example.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many.")]
OFFERS: Mapping[str, output.Column] = {"ADDRESS": "address", "PRICE": "price", "AVAILABLE": "available"}
OWNED: Mapping[str, output.Column] = {
    "ADDRESS": "address",
    "STATUS": "status",
    "ENABLED": "enabled",
    "TO": lambda each: [one["email"] for one in each["destinations"]],
    "RENEWS": lambda each: (each["renews_at"] or "")[:10],
}


@app.command("suggest")
def suggest(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="Words, such as a name or a business.")],
    *,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many.")] = None,
) -> None:
    """Suggest free names for a few words."""
    state = state_of(ctx)
    found = state.call("catalog_suggest", query={"q": query, "limit": limit})
    output.show_list(state, found["items"], OFFERS, empty="Nothing fits. Next: try other words.")


@app.command("check")
def check(ctx: typer.Context, address: NewAddress) -> None:
    """Say whether a name is free and what it costs. The exit code is 1 if not."""
    state = state_of(ctx)
    local_part, domain = _parts(address)
    found = state.call("catalog_check", query={"local_part": local_part, "domain": domain})
    output.show(state, found, ("address", "available", "price", "available_at"))
    if not found["available"]:
        instead = [each["address"] for each in found["alternatives"]]
        raise Fault(
            f"{address} is not free: {found['message']}",
            next_action=f"Take one of these: {', '.join(instead)}." if instead else "bld names suggest WORDS",
        )


@app.command("claim")
def claim(
    ctx: typer.Context,
    address: NewAddress,
    *,
    to: Annotated[list[str], typer.Option("--to", help="Mailbox that receives the mail; repeat it for more.")],
    max_total: MaxTotal = None,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for an approval that is needed.")
    ] = 0.0,
    yes: Yes = False,
) -> None:
    """Claim a name that forwards to your mailboxes. Shows the price and asks; repeat it without a further effect.

    With --max-total and --yes nobody is asked. Needs a live key.
    """
    state = state_of(ctx)
    _parts(address)
    most = None if max_total is None else money(max_total)
    if not yes:
        most = _ask(state, address, to, most)
    claimed = _claim(state, address, to, most, wait)
    told = {
        "address": claimed.address,
        "plan_id": claimed.plan.id,
        "digest": claimed.plan.digest,
        "status": "unchanged" if claimed.promotion is None else claimed.promotion.status,
        "promotion_id": None if claimed.promotion is None else claimed.promotion.id,
    }
    output.show(state, told, ("address", "status", "promotion_id"))


def _ask(state: State, address: str, to: Sequence[str], most: dict[str, str] | None) -> dict[str, str] | None:
    """Show the price and ask. Return the most that may be paid."""
    if not state.may_ask:
        output.confirm(state, "", yes=False)
    from builders_client import claims

    plan = state.client().sandbox.make_plan(**claims.manifest_of(address, list(to), claims.MANIFEST))
    prices = [each.price for each in plan.actions if each.price is not None and each.price.amount]
    if plan.status == "empty" or (not prices and plan.promotable):
        return most
    if len(prices) == 1 and plan.promotable:
        price = {"amount": f"{prices[0].amount:f}", "currency": prices[0].currency}
        texts.note(f"{address} costs {texts.plain(price)} a {prices[0].interval}.".replace(" a once", " once"))
        output.confirm(state, f"Claim it for {texts.plain(price)}?", yes=False)
        return most or price
    return most  # the claim itself says why not


def _claim(state: State, address: str, to: Sequence[str], most: dict[str, str] | None, wait: float) -> Any:
    from builders_client.claims import ApprovalPending, ApprovalRefused, TotalTooHigh
    from builders_client.values import Money

    limit = None if most is None else Money.model_validate(most)
    try:
        return state.client().names.claim(address, to=list(to), max_total=limit, wait_for_approval=wait)
    except TotalTooHigh as error:
        costs = ", ".join(map(str, error.total))
        raise Fault(
            f"{address} costs {costs}, which is more than "
            + ("nothing, and there is no --max-total." if limit is None else f"--max-total {limit}."),
            next_action=f"Add --max-total '{costs}', or claim another name.",
            code=REFUSED,
        ) from error
    except ApprovalRefused:
        raise
    except ApprovalPending as error:
        raise Fault(
            f"A person must approve it first: {error.review_url}",
            next_action=f"bld approve {error.plan.id} opens the page. Then repeat the command.",
            code=REFUSED,
        ) from error


@app.command("list")
def list_names(
    ctx: typer.Context,
    *,
    query: Annotated[str | None, typer.Option("--query", "-q", help="Part of the address or note.")] = None,
    domain: Annotated[str | None, typer.Option("--domain", help="Only names on this domain.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only names with this status.")] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Only names of the project with this id.")
    ] = None,
    limit: Limit = None,
) -> None:
    """List your names."""
    state = state_of(ctx)
    wanted = given(q=query, domain=domain, status=status, project_id=project)
    found = state.items("aliases_list_aliases", limit=limit, query=wanted)
    output.show_list(state, found, OWNED, empty="There are no such names. Next: bld names suggest WORDS")


@app.command("show")
def show(ctx: typer.Context, address: Address) -> None:
    """Show one of your names."""
    state = state_of(ctx)
    _show(state, _find(state, address))


def _show(state: State, found: Json) -> None:
    told = found if state.is_json else {**found, "destinations": [one["email"] for one in found["destinations"]]}
    members = (
        *("address", "id", "status", "enabled", "destinations", "note", "labels", "block", "pause_until", "reply"),
        *("price", "project_id", "claimed_at", "renews_at", "quarantined_until"),
    )
    output.show(state, told, members)


@app.command("set")
def change(
    ctx: typer.Context,
    address: Address,
    *,
    to: Annotated[
        list[str] | None, typer.Option("--to", help="All mailboxes, in place of the present ones.")
    ] = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether mail is forwarded.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="Your own note; an empty one removes it.")] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="Your own label; NAME= removes it.")
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(
            "--block", help="All senders whose mail is refused: addresses or domains; an empty one: none."
        ),
    ] = None,
    pause_until: Annotated[
        str | None,
        typer.Option("--pause-until", help="Mail is not accepted before this time; an empty one: it is."),
    ] = None,
    reply: Annotated[
        bool | None, typer.Option("--reply/--no-reply", help="Whether destinations may answer as the name.")
    ] = None,
) -> None:
    """Change one of your names."""
    state = state_of(ctx)
    body = given(destinations=to or None, enabled=enabled, reply=reply)
    body |= {
        name: text or None for name, text in (("note", note), ("pause_until", pause_until)) if text is not None
    }
    if block:
        body["block"] = [each for each in block if each]
    if label:
        body["labels"] = dict(map(_label, label))
    if not body:
        raise Fault("Nothing to change.", next_action="Give one of the options that --help lists.", code=USAGE)
    found = _find(state, address)
    _show(state, state.call("aliases_change", path={"alias_id": found["id"]}, body=body))


def _label(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    if not equals:
        raise Fault(f"--label {text} has no value.", next_action="Write --label NAME=VALUE.", code=USAGE)
    return name, value or None


@app.command("release")
def release(ctx: typer.Context, address: Address, *, yes: Yes = False) -> None:
    """Give up one of your names: its mail is no longer forwarded."""
    state = state_of(ctx)
    found = _find(state, address)
    output.confirm(state, f"Release {found['address']}? Its mail is then refused.", yes=yes)
    state.call("aliases_release", path={"alias_id": found["id"]})
    output.show(state, {"address": found["address"], "status": "released"})


def _find(state: State, address: str) -> Json:
    """Return one of the account's names by its address or id. Raise Fault."""
    if _ID.fullmatch(address.lower()):
        return dict(state.call("aliases_get", path={"alias_id": address}))
    _, domain = _parts(address)
    wanted = address.strip().lower()
    found = state.items("aliases_list_aliases", query={"q": wanted, "domain": domain})
    for each in found:
        if each["address"].lower() == wanted and each["status"] != "released":
            return dict(each)
    raise Fault(f"You do not have {address}.", next_action="bld names list shows your names.", code=FAILED)


def _parts(address: str) -> tuple[str, str]:
    local_part, at, domain = address.strip().rpartition("@")
    if not at or not local_part or not domain:
        raise Fault(f"{address} is no address.", next_action="Write it as ada@harbour.example.", code=USAGE)
    return local_part, domain
