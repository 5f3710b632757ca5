"""Texts for a person: values without control characters, and notes beside the result."""

import re
from collections.abc import Mapping
from typing import Any

import typer

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z")
# Text of other parties could move the cursor or rename the window.
HIDDEN = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # JSON escapes the others
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f]|{HIDDEN.pattern}")


def plain(value: Any) -> str:
    """Return a value as text for a person, without control characters."""
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case {"amount": amount, "currency": currency, **rest}:
            text = f"{amount} {currency}" + (f"/{rest['interval']}" if rest.get("interval") else "")
        case Mapping():
            text = ", ".join(f"{name}={plain(each)}" for name, each in value.items())
        case list():
            text = ", ".join(map(plain, value))
        case _:
            text = _TIME.sub(r"\1Z", str(value))
    return _CONTROL.sub("\ufffd", text)


def one_line(value: Any) -> str:
    """Return a value as text on one line: text of other parties could look like lines of ours."""
    return plain(value).replace("\t", " ").replace("\n", " ")


def note(text: str) -> None:
    """Tell the person something that is not the result."""
    typer.secho(_CONTROL.sub("\ufffd", text), err=True)
