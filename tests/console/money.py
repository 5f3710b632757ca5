"""The amounts of a page, and those of a reply of the API."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx

AMOUNT = re.compile(r'<span class="money">(-?[\d.]+) <small>([A-Z]+)</small></span>')
# What could be an amount anywhere in the source of a page.
LIKE_AMOUNT = re.compile(r"\d\.\d\d(?!\d)")


def amounts_of(page: httpx.Response) -> Counter[tuple[str, str]]:
    """Return how often each amount is shown."""
    return Counter(AMOUNT.findall(page.text))


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
