"""Writes docs/reference/client-contract.md from clients/contract.toml, which the tests of all clients run."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NAME = "client-contract.md"
HEAD = """\
# The contract of the clients

<!-- Written by script/clients. -->

What the clients do when the service, or something on the way to it, behaves in this way. Tests run each row with
the Python client, with and without `await`, and with the TypeScript client. `bld` uses the Python client.

"""


def render(file: Path) -> str:
    """Return the page."""
    told: Mapping[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    parts = [
        _table(title, [each for each in told["behaviors"] if each["part"] == part])
        for part, title in told["names"].items()
    ]
    return HEAD + "\n".join([*parts, _table("What `verify` accepts", told["deliveries"])])


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    lines = "".join(f"| {each['when']} | {each['then']} |\n" for each in rows)
    return f"## {title}\n\n| When | Then |\n|---|---|\n{lines}"
