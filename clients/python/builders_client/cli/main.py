"""The command tree of `bld`, and its global options, which may stand anywhere on the command line."""

import inspect
import json
import os
import re
from collections.abc import Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from builders_client.cli import (
    api,
    events,
    faults,
    invoices,
    listen,
    login,
    mcp,
    names,
    plans,
    portfolio,
    texts,
    webhooks,
)
from builders_client.cli.profiles import DEFAULT
from builders_client.cli.state import State
from builders_client.problems import BuildersError, ReplyInvalid
from builders_client.version import VERSION

_FLAGS = frozenset({"--jsonl", "--test", "--no-input", "--no-pager"})
_VALUES = frozenset({"--profile", "--api-url", "--portfolio", "--map"})
_FIELDS = re.compile(r"[a-z_]\w*(\.\w+)*(,[a-z_]\w*(\.\w+)*)*")

_PROFILE = re.compile(r"[A-Za-z0-9_-]{1,60}")  # a folder has its name


def hoist(words: Sequence[str]) -> list[str]:
    """Return the command line with the global options first.

    `--json` takes the next word after the command if it looks like names of members; `--json=…` is always clear.
    """
    first: list[str] = []
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name = word.partition("=")[0]
        if word == "--":
            return [*first, *rest, word, *left]
        if word == "--json":
            fields = left.pop(0) if rest and left and _FIELDS.fullmatch(left[0]) else ""
            first.append(f"--json={fields}")
        elif word in _FLAGS or (name in {*_VALUES, "--json"} and name != word):
            first.append(word)
        elif word in _VALUES and left:
            first += [word, left.pop(0)]
        else:
            rest.append(word)
    return first + rest


class Root(TyperGroup):
    """The group of all commands: reads the global options, and reports errors."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        return super().parse_args(ctx, hoist(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command. An error becomes a message with what to do next, and an exit code."""
        try:
            return super().invoke(ctx)
        except BuildersError as error:
            _report(ctx.find_root().obj, error)
            raise typer.Exit(faults.exit_code(error)) from error
        except (KeyboardInterrupt, typer.Abort) as error:
            texts.note("Cancelled.")
            raise typer.Exit(faults.CANCELLED) from error
        except KeyError as error:
            reply = ReplyInvalid(f"The answer of the service lacks {error}.")
            _report(ctx.find_root().obj, reply)
            raise typer.Exit(faults.exit_code(reply)) from error
        except UnicodeDecodeError as error:
            text = faults.Fault("The file is not UTF-8.", next_action="Save it as UTF-8.", code=faults.USAGE)
            _report(ctx.find_root().obj, text)
            raise typer.Exit(faults.USAGE) from error
        except BrokenPipeError as error:
            raise typer.Exit(faults.UNREAD) from error
        except OSError as error:
            if error.filename is None:  # of the output: `cli.main` reports it
                raise
            fault = faults.Fault(
                f"{error.filename or 'The file'}: {error.strerror or error}",
                next_action="Check the path and its permissions.",
            )
            _report(ctx.find_root().obj, fault)
            raise typer.Exit(faults.FAILED) from error


def _report(state: Any, error: BuildersError) -> None:
    if isinstance(state, State) and state.is_json:
        typer.echo(json.dumps({"error": faults.as_json(error)}, default=str), err=True)
        return
    typer.secho("Error: ", fg="red", bold=True, nl=False, err=True)
    texts.note(faults.message(error))
    typer.secho("Next: ", bold=True, nl=False, err=True)
    texts.note(faults.next_action(error))
    if (request := getattr(error, "request_id", None)) is not None:
        texts.note(f"Request {request}")


app = typer.Typer(
    cls=Root,
    no_args_is_help=True,
    help="Claim names and run a domain portfolio from the terminal.",
    epilog="Exit codes: "
    + " ".join(f"{code} {text}" for code, text in faults.EXIT_CODES.items())
    + " NO_COLOR turns colours off.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its colours are hard to read on a light or on a dark background
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"bld {VERSION}")
        raise typer.Exit


def _show_map(ctx: typer.Context, value: str | None) -> None:
    if value is None:
        return
    if value != "json":
        raise typer.BadParameter("the only form is json")
    typer.echo(json.dumps(command_map(ctx.command, "bld"), indent=2))
    raise typer.Exit


def command_map(command: Any, name: str) -> dict[str, Any]:
    """Return a command with its parameters and the commands below it."""
    # Versions of typer differ in how a parameter tells its type, so the function that typer reads tells it.
    hints = get_type_hints(inspect.unwrap(command.callback)) if command.callback else {}
    return {
        "name": name,
        "help": " ".join((command.help or "").split()),
        "parameters": [
            {
                "name": each.name,
                "kind": each.param_type_name,
                "options": [*each.opts, *each.secondary_opts],
                "required": each.required,
                "multiple": each.multiple or each.nargs == -1,
                "type": _type_name(hints.get(each.name, bool)),  # typer's own parameters are switches
                "help": getattr(each, "help", None) or "",
            }
            for each in command.params
        ],
        "commands": [command_map(each, word) for word, each in getattr(command, "commands", {}).items()],
    }


def _type_name(hint: Any) -> str:
    """Return the word for one value of a parameter: `str`, `path`; of `list[str] | None` also `str`."""
    if get_origin(hint) is None:
        return "boolean" if hint is bool else str(hint.__name__).lower()
    return _type_name(next(each for each in get_args(hint) if each is not type(None)))


@app.callback()
def read_options(
    ctx: typer.Context,
    *,
    json_: Annotated[
        str | None,
        typer.Option(
            "--json", metavar="[FIELDS]", help="Print JSON, of these members only: --json=id,price.amount"
        ),
    ] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print each item as a line of JSON.")] = False,
    profile: Annotated[
        str, typer.Option("--profile", envvar="BLD_PROFILE", help="Name of the profile.")
    ] = DEFAULT,
    api_url: Annotated[
        str | None,
        typer.Option("--api-url", help="Address of the service; else BUILDERS_API_URL, or the profile's."),
    ] = None,
    portfolio_id: Annotated[
        str | None, typer.Option("--portfolio", help="Id of the account whose portfolio you work on.")
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Use only test keys of the profile: work on the sandbox.")
    ] = False,
    no_input: Annotated[
        bool, typer.Option("--no-input", help="Never ask. Without a terminal it never does.")
    ] = False,
    no_pager: Annotated[bool, typer.Option("--no-pager", help="Never start a pager.")] = False,
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    map_: Annotated[  # noqa: ARG001 - its callback acts
        str | None,
        typer.Option("--map", metavar="json", callback=_show_map, is_eager=True, help="Print the command tree."),
    ] = None,
) -> None:
    """Keep the global options."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if not _PROFILE.fullmatch(profile):
        raise typer.BadParameter("a profile has a name of letters, digits, - and _", param_hint="--profile")
    state = ctx.obj if isinstance(ctx.obj, State) else State()
    state.fields = None if json_ is None else tuple(filter(None, json_.split(",")))
    state.jsonl, state.profile, state.api_url, state.portfolio = jsonl, profile, api_url, portfolio_id
    state.test, state.no_input, state.pager = test, no_input, not no_pager
    ctx.obj = state
    ctx.call_on_close(state.close)


app.command("login")(login.log_in)
app.command("logout")(login.log_out)
app.command("whoami")(login.show_me)
app.add_typer(names.app, name="names")
app.command("plan")(plans.make_plan)
app.command("promote")(plans.promote)
app.command("approve")(plans.approve)
app.command("listen")(listen.listen)
app.command("mcp")(mcp.copy_messages)
app.command("trigger")(webhooks.trigger)
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(events.app, name="events")
app.add_typer(invoices.app, name="invoices")
app.add_typer(portfolio.app, name="portfolio")
app.command("api")(api.send)
