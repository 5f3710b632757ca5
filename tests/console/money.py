"""The amounts of a page, and those of a reply of the API."""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any, NamedTuple

import httpx

AMOUNT = re.compile(r'<span class="money">(-?[\d.,]+) <small>([A-Z]+)</small></span>')
# What could be an amount anywhere in the source of a page.
LIKE_AMOUNT = re.compile(r"\d\.\d\d(?!\d)")


def amounts_of(page: httpx.Response) -> Counter[tuple[str, str]]:
    """Return how often each amount is shown."""
    return Counter((amount.replace(",", ""), currency) for amount, currency in AMOUNT.findall(page.text))


class Figure(NamedTuple):
    """An amount where a person reads it."""

    heading: str  # of the part of the page
    row: str  # of a table; "" outside one
    label: str  # of the column, or of the amount itself
    amount: str  # with its currency


class _Figures(HTMLParser):
    """Collects the amounts of a page with what stands beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Figure] = []
        self._heading = self._row = self._label = ""
        self._text: list[str] | None = None  # of a heading, a label, the head of a row or an amount
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"h1", "h2", "h3", "dt"} or (tag == "th" and given.get("scope") == "row"):
            self._open, self._text = tag, []
        elif tag == "span" and given.get("class") == "money" and self._text is None:
            self._open, self._text = "money", []
        elif tag in {"td", "th"}:
            self._label = given.get("data-label") or given.get("scope") or ""
        elif tag in {"dl", "tr"}:
            self._row = self._label = ""

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._text is None or tag != ("span" if self._open == "money" else self._open):
            return
        text = " ".join("".join(self._text).split())
        if self._open == "money":
            self.found.append(Figure(self._heading, self._row, self._label, text))
        elif self._open == "th":
            self._row = text
        elif self._open == "dt":
            self._row, self._label = "", text
        else:
            self._heading, self._row, self._label = text, "", ""
        self._text = None


def figures_of(page: httpx.Response) -> list[Figure]:
    """Return each amount in a table or beside a label of a page."""
    parser = _Figures()
    parser.feed(page.text)
    return [each for each in parser.found if each.label]


def figure(heading: str, row: str, label: str, amount: dict[str, str] | None) -> Iterator[Figure]:
    """Yield the amount of a reply as a page should show it; none for null."""
    if amount is not None:
        yield Figure(heading, row, label, f"{Decimal(amount['amount']):,} {amount['currency']}")


def amounts_in(reply: Any) -> Counter[tuple[str, str]]:
    """Return how often each amount is in a reply."""
    return Counter(_amounts(reply))


def _amounts(part: Any) -> Iterator[tuple[str, str]]:
    if isinstance(part, dict):
        if part.keys() == {"amount", "currency"}:
            yield part["amount"], part["currency"]
        for each in part.values():
            yield from _amounts(each)
    elif isinstance(part, list):
        for each in part:
            yield from _amounts(each)
