"""How records are shown, and said to be set."""

from collections.abc import Iterable

MAX_SHOWN = 5  # values of one record
MAX_SHOWN_LENGTH = 255  # characters of a value


def shorten(values: Iterable[str]) -> tuple[str, ...]:
    """The first of the values, each on one line and of bounded length."""
    return tuple(_line(each) for each in list(values)[:MAX_SHOWN])


def _line(text: str) -> str:
    cut = text if len(text) <= MAX_SHOWN_LENGTH else f"{text[: MAX_SHOWN_LENGTH - 3]}..."
    return "".join(char if char.isprintable() else "?" for char in cut)


def txt_instruction(name: str, value: str) -> str:
    """Asks for a TXT record."""
    return f'Set a TXT record at {name} with the value "{value}".'
