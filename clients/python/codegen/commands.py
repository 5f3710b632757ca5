"""Writes docs/reference/bld.md from the command tree of `bld`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from builders_client.cli.faults import EXIT_CODES
from builders_client.cli.main import app, command_map

HEAD = """\
# bld

<!-- Written by script/clients. -->

`bld` is the command line of customers, in the extra `builders-client[cli]`:

    python3 -m venv ~/bld && . ~/bld/bin/activate
    pip install 'clients/python[cli]'
    bld login --api-url https://builders.example

Global options can stand anywhere. `--json` prints JSON, and `--json=id,price.amount` these members of it;
`--jsonl` prints a line for each item. Without a terminal, tables are lines with tabs and nobody is asked: consent
is `--yes`. Results go to the standard output, all else to the standard error. Each error says what
to do next; with `--json` it is an object. NO_COLOR turns colours off, PAGER names the pager.

`BUILDERS_API_KEY` wins over the profile. `bld login` stores the keys in the keyring where the machine has one (the
package `keyring`), else in a file that only you can read. They are sent to the service of the profile alone. A
command uses the live key if the profile has one with the scope, and with `--test` only test keys, which work on
the sandbox.

`bld plan` reads YAML or JSON. An error of the file has its line and column. An editor checks a manifest that
begins with this comment, for the address of your service:

    # yaml-language-server: $schema=https://builders.example/v1/sandbox/manifest.schema.json

`bld listen` keeps its position in the event feed on disk, so it misses no event while it is stopped. It passes on
one event at a time, in order, and repeats it until the receiver accepts it. With `--concurrency` it passes on
several; the events of one resource stay in order, and an event that names none waits for all earlier ones.

"""


def render() -> str:
    """Return the page."""
    codes = "\n".join(f"| {code} | {text} |" for code, text in EXIT_CODES.items())
    tree = command_map(typer.main.get_command(app), "bld")
    commands = "\n\n".join(_sections(tree, "bld"))
    return f"{HEAD}## Exit codes\n\n| Code | Meaning |\n|---|---|\n{codes}\n\n{commands}\n"


def _sections(command: Mapping[str, Any], path: str) -> Iterator[str]:
    arguments = [each for each in command["parameters"] if each["kind"] == "argument"]
    usage = " ".join([path, *(_argument(each) for each in arguments)])
    rows = [
        f"| {_name(each)} | {_cell(each['help'])}{' Required.' if each['required'] else ''} |"
        for each in command["parameters"]
        if each["name"] not in {"help", "install_completion", "show_completion"}
    ]
    table = "\n".join(["| Parameter | Meaning |", "|---|---|", *rows]) if rows else ""
    yield "\n\n".join(filter(None, (f"## {path}", f"`{usage}`" * bool(arguments), _cell(command["help"]), table)))
    for each in command["commands"]:
        yield from _sections(each, f"{path} {each['name']}")


def _argument(parameter: Mapping[str, Any]) -> str:
    shown = parameter["name"].upper() + "..." * parameter["multiple"]
    return shown if parameter["required"] else f"[{shown}]"


def _name(parameter: Mapping[str, Any]) -> str:
    options = parameter["options"] if parameter["kind"] == "option" else [parameter["name"].upper()]
    return ", ".join(f"`{each}`" for each in options)


def _cell(text: str) -> str:
    # A name in capitals or brackets is no HTML and no link.
    return re.sub(r"([|<>\[\]*])", r"\\\1", text)
