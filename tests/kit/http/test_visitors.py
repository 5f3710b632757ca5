"""Headers, which may be repeated, identify a visitor."""

from collections.abc import Sequence

import pytest
from fastapi import Request

from builders.kit.http import visitors
from builders.kit.visitors import Agent, Machine, Visitor

BROWSER = (b"user-agent", b"Mozilla/5.0 (X11; Linux x86_64)")


def visitor(headers: Sequence[tuple[bytes, bytes]]) -> Visitor:
    return visitors.visitor_of(Request({"type": "http", "headers": headers, "client": ("192.0.2.7", 40000)}))


def test_a_browser_is_counted_as_a_person_of_its_network() -> None:
    assert visitor([BROWSER]) == Visitor("192.0.2.0/24", Agent.BROWSER, None)


@pytest.mark.parametrize(
    "ahead",
    [
        [(b"sec-purpose", b"prefetch;prerender")],
        [(b"purpose", b"prefetch"), (b"purpose", b"")],
        [(b"x-moz", b""), (b"x-moz", b"Prefetch"), (b"x-moz", b"")],
    ],
)
def test_a_prefetch_is_recognised(ahead: list[tuple[bytes, bytes]]) -> None:
    assert visitor([BROWSER, *ahead]).machine is Machine.PREFETCH


def test_another_purpose_is_no_prefetch() -> None:
    assert visitor([BROWSER, (b"purpose", b"reading"), (b"x-other", b"prefetch")]).machine is None
