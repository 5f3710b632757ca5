"""`bld plan`, `bld promote`, `bld approve`: describe names in a file, review the changes, execute them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from builders_client.cli import manifests, output, texts
from builders_client.cli.faults import CHANGES, FAILED, INVALID, REFUSED, USAGE, Fault, field_message
from builders_client.cli.manifests import Manifest
from builders_client.cli.state import State, given, state_of

Json = Mapping[str, Any]
_SIGNS = {"create": "+", "update": "~", "adopt": "~", "replace": "!", "delete": "-", "no_op": " "}
# Only signs have a colour: it is hard to read on one background or the other.
_COLOURS = {"create": "green", "update": "magenta", "adopt": "magenta", "replace": "red", "delete": "red"}
_LONG = {"queued", "running", "waiting"}
_POLL_S = 1.0
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Consent without a question.")]
MaxTotal = Annotated[
    str | None, typer.Option("--max-total", metavar="AMOUNT", help="The most that may be due now: '24.00 USD'.")
]


def make_plan(
    ctx: typer.Context,
    *,
    file: Annotated[
        Path, typer.Option("--file", "-f", help="The manifest, YAML or JSON; - reads the standard input.")
    ] = Path("names.yaml"),
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 3 if there are changes.")
    ] = False,
) -> None:
    """Show what a manifest would change, with prices. Nothing is changed."""
    state = state_of(ctx)
    manifest = manifests.read(file)
    plan = _plan(state, manifest)
    if state.is_json:
        output.print_json(state, plan)
    else:
        _print_plan(plan)
    if plan["errors"]:
        raise Fault(
            "\n".join(
                f"{manifest.of_address(each['address'])}: {each['address']}: {each['message']}"
                for each in plan["errors"]
            ),
            next_action="Correct the file there, then plan again.",
        )
    if plan["status"] != "empty" and not state.is_json:
        texts.note(f"Next: {_next(plan)}")
    if detailed_exitcode and plan["status"] != "empty":
        raise typer.Exit(CHANGES)


def _plan(state: State, manifest: Manifest) -> Any:
    """Return the plan. Raise Fault with the line and column of what is not valid."""
    from builders_client.problems import ApiError

    try:
        return state.call("sandbox_make_plan", body=manifest.data)
    except TypeError as error:  # a member of the manifest is missing
        raise Fault(
            f"{manifest.at(())}: {error}", next_action="Add the member to the file.", code=USAGE
        ) from error
    except ApiError as error:
        if error.status != INVALID or not error.errors:
            raise
        lines = [f"{manifest.at(each.location[1:])}: {field_message(each, skip=1)}" for each in error.errors]
        raise Fault(
            "\n".join(lines), next_action="Correct the file there, then plan again.", code=USAGE
        ) from error


def _next(plan: Json) -> str:
    deletes = f" --confirm-deletes {plan['confirm_deletes']}" if plan["confirm_deletes"] else ""
    promote = f"bld promote {plan['id']} --digest {plan['digest']}{deletes}"
    asks = plan["approval"]["state"] not in {"not_required", "approved"}
    return f"bld approve {plan['id']} --ask, then {promote}" if asks else promote


def _print_plan(plan: Json) -> None:
    for action in plan["actions"]:
        if action["action"] == "no_op":
            continue
        for sign, colour, text in _lines(action):
            typer.echo(f"{typer.style(sign, fg=colour)} {texts.one_line(text)}")
    typer.echo(f"Plan: {_summary(plan)}")
    for total in plan["totals"]:
        dues = {word: total[word] for word in ("once", "month", "year") if float(total[word]["amount"])}
        said = ", ".join(
            f"{texts.plain(due)}" + ("" if word == "once" else f" a {word}") for word, due in dues.items()
        )
        typer.secho(f"Price: {said or 'free'}", bold=True)
    for each in plan["warnings"]:
        typer.secho("Warning: ", bold=True, nl=False, err=True)
        texts.note(each["message"])


def _summary(plan: Json) -> str:
    counted = {word: count for word, count in plan["summary"].items() if count and word != "no_op"}
    return ", ".join(f"{count} to {word}" for word, count in counted.items()) or "no changes"


def _lines(action: Json) -> Iterator[tuple[str, str | None, str]]:
    """Return the lines of an action: a sign, its colour and a text."""
    word = action["action"]
    price = f"  {texts.plain(action['price'])}" if action["price"] else ""
    shown = action["after"] or action["before"] or {}
    what = shown.get("address") or shown.get("domain") or shown.get("url") or shown.get("name") or ""
    risk = f"  (risk: {action['risk']})" if action["risk"] == "high" else ""
    yield f"{_SIGNS.get(word, '?')} {word}", _COLOURS.get(word), f"{action['address']}  {what}{price}{risk}"
    before, after = action["before"] or {}, action["after"] or {}
    for name in (
        action["changed_fields"] if word != "create" else [each for each in after if each == "destinations"]
    ):
        if before.get(name) not in (None, [], {}):
            yield "    -", "red", f"{name}: {texts.plain(before.get(name))}"
        if after.get(name) not in (None, [], {}):
            yield "    +", "green", f"{name}: {texts.plain(after.get(name))}"


def promote(
    ctx: typer.Context,
    plan_id: Annotated[str, typer.Argument(help="The id that `bld plan` shows.")],
    *,
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="The digest that `bld plan` shows: exactly this plan is executed."),
    ] = None,
    max_total: MaxTotal = None,
    confirm_deletes: Annotated[
        int | None, typer.Option("--confirm-deletes", help="How many resources the plan deletes or replaces.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Try failed and skipped steps again.")] = False,
    when_approved: Annotated[
        bool, typer.Option("--when-approved", help="Start as soon as the required approval is there.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Execute a plan that you have reviewed. Without --digest it is shown again, and you are asked."""
    state = state_of(ctx)
    if digest is None:
        digest, confirm_deletes = _review(state, plan_id, confirm_deletes, yes=yes)
    body = given(
        plan_id=plan_id,
        digest=digest,
        max_total=None if max_total is None else money(max_total),
        confirm_deletes=confirm_deletes,
        resume=resume or None,
        when_approved=when_approved or None,
    )
    promotion = _finish(state, _start(state, plan_id, body))
    output.show(state, promotion, ("id", "status", "plan_id"))
    _check_promotion(promotion)


def money(text: str) -> dict[str, str]:
    """Return an amount with its currency. Raise Fault."""
    from builders_client.values import Money

    try:
        found = Money.parse(text)
    except ValueError as error:
        raise Fault(f"--max-total: {error}.", next_action="Write --max-total '24.00 USD'.", code=USAGE) from error
    return {"amount": f"{found.amount:f}", "currency": found.currency}


def _review(state: State, plan_id: str, deletes: int | None, *, yes: bool) -> tuple[str, int | None]:
    """Show the plan and ask; return its digest and the number of deletions. A script gives the digest."""
    if yes or not state.may_ask:
        raise Fault(
            "A plan is promoted with its digest only.",
            next_action="Add --digest, which `bld plan` shows with the plan.",
            code=USAGE,
        )
    plan = state.call("sandbox_get_plan", path={"plan_id": plan_id})
    _print_plan(plan)
    output.confirm(state, "Execute this plan?", yes=False)
    return plan["digest"], deletes if deletes is not None else plan["confirm_deletes"] or None


def _start(state: State, plan_id: str, body: Json) -> Any:
    from builders_client.errors import ApprovalRequired

    try:
        return state.call("sandbox_promote", body=body)
    except ApprovalRequired as error:
        raise Fault(
            "A person must approve the plan first.",
            next_action=f"bld approve {plan_id} --ask opens the page and asks the deciders. Then promote again.",
            code=REFUSED,
        ) from error


def _finish(state: State, promotion: Any) -> Any:
    """Return the promotion when it has ended."""
    while promotion["status"] in _LONG - {"waiting"}:
        state.sleep(_POLL_S)
        promotion = state.call("sandbox_get_promotion", path={"promotion_id": promotion["id"]})
    return promotion


def _check_promotion(promotion: Json) -> None:
    if promotion["status"] == "succeeded" or promotion["status"] in _LONG:
        return
    said = [
        f"{each['address']}: {each['error']['message']}"
        for each in promotion.get("steps", ())
        if each.get("error")
    ]
    raise Fault(
        "\n".join(said) or f"The promotion is {promotion['status']}.",
        next_action="Solve it, then repeat the command with --resume.",
        code=FAILED,
    )


def approve(
    ctx: typer.Context,
    plan_id: Annotated[str, typer.Argument(help="The id that `bld plan` shows.")],
    *,
    ask: Annotated[bool, typer.Option("--ask", help="Also ask the people who decide about plans.")] = False,
) -> None:
    """Open the page on which a person reviews and approves a plan. This command itself cannot approve."""
    state = state_of(ctx)
    path = {"plan_id": plan_id}
    if ask:
        state.call("sandbox_request_approval", path=path)
    approval = state.call("sandbox_get_plan", path=path)["approval"]
    page = open_page(state, approval["review_url"])
    output.show(
        state, {"plan_id": plan_id, "state": approval["state"], "review_url": page}, ("state", "review_url")
    )


def open_page(state: State, page: str) -> str:
    """Open a page of the service in the browser, if a person is there. Return its address."""
    if state.may_ask and page.startswith(("http://", "https://")):
        typer.launch(page)
    return page
