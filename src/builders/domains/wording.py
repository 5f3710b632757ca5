"""How records are shown, and said to be set."""

from collections.abc import Iterable

MOST_SHOWN = 5  # values of one record
LONGEST_SHOWN = 255  # characters of a value


def shown(values: Iterable[str]) -> tuple[str, ...]:
    """The first of the values, each on one line and of bounded length."""
    return tuple(_line(each) for each in list(values)[:MOST_SHOWN])


def _line(text: str) -> str:
    cut = text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."
    return "".join(char if char.isprintable() else "?" for char in cut)


def set_txt(name: str, value: str) -> str:
    """Asks for a TXT record."""
    return f'Set a TXT record at {name} with the value "{value}".'
