"""The form that a browser sent, and the fields that every form of the console has."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from fastapi import Request

from builders.kit.errors import Invalid

MAX_FIELDS = 1_000  # of one form, as many as a page of a list has, with some more
MAX_DIGITS = 18  # of an integer; Python refuses to parse more than 4300
# Fields of every form; the others are parameters of the path and members of the body.
CSRF, KEY, ETAG, PAGE = "_csrf", "_key", "_etag", "_page"
_BEFORE = "_before."  # the value of a member when the form was shown


class Sent(NamedTuple):
    """A form that a person sent."""

    fields: Mapping[str, Sequence[str]]

    def first(self, name: str) -> str:
        """Return the value of a field; "" without one."""
        return self.fields.get(name, ("",))[0]

    def path_values(self) -> Mapping[str, str]:
        """Return the first value of each field."""
        return {name: values[0] for name, values in self.fields.items()}

    def before(self) -> Mapping[str, str]:
        """Return the value that each member had when the form was shown."""
        return {
            name.removeprefix(_BEFORE): values[0]
            for name, values in self.fields.items()
            if name.startswith(_BEFORE)
        }


async def read_form(request: Request) -> Sent:
    """Return the fields of the form. Raise Invalid."""
    try:
        pairs = parse_qsl(
            (await request.body()).decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise Invalid(("body",), f"A form has at most {MAX_FIELDS} fields.", "too_many_fields") from None
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise Invalid(("body",), "Text must not contain the character NUL (%00).", "nul_character")
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))  # as a browser sends a line break
    return Sent(fields)


def as_integer(text: str) -> int | str:
    """Return the number that a field contains, else its text, which the API refuses with the reason."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS else text


def as_amount(text: str) -> Mapping[str, str] | str:
    """Return the amount that a field contains, with its currency if it has one: `12.34 USD`."""
    amount, _, currency = text.strip().partition(" ")
    return {"amount": amount, "currency": currency.strip().upper()} if currency else amount
