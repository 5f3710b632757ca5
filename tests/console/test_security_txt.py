"""/.well-known/security.txt (RFC 9116): whom to tell about a vulnerability, if the operator names a contact."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from builders.app import Service
from builders.console.api import SECURITY_TXT
from builders.kit.process.settings import Settings
from tests.cast import Client, replaced
from tests.conftest import StopClock

NOW = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


async def ask(service: Service, **values: Any) -> httpx.Response:
    """Ask a service with other settings."""
    changed = Settings(**{**service.api.state.settings.model_dump(), **values})
    with replaced(service, settings=changed):
        async with Client(service) as client:
            return await client.get(SECURITY_TXT)


def fields(text: str) -> dict[str, str]:
    """Return the fields of the file, each of which is there once."""
    pairs = [(name, value) for name, _, value in (line.partition(": ") for line in text.splitlines())]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        ("security@builders.example", "mailto:security@builders.example"),
        ("https://builders.example/security?to=us", "https://builders.example/security?to=us"),
    ],
)
async def test_the_contact_is_shown_as_an_address(
    service: Service, stop_clock: StopClock, contact: str, shown: str
) -> None:
    stop_clock(NOW)
    answer = await ask(service, security_contact=contact, base_url="https://api.builders.example/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert fields(answer.text) == {
        "Contact": shown,
        "Expires": (NOW.replace(microsecond=0) + timedelta(days=30)).isoformat(),
        "Canonical": "https://api.builders.example/.well-known/security.txt",
        "Preferred-Languages": "en",
    }


async def test_no_address_without_tls_is_shown(service: Service) -> None:
    """RFC 9116, 2.5: web addresses of the file begin with https."""
    answer = await ask(service, security_contact="security@builders.example", base_url="http://builders.test")
    assert fields(answer.text).keys() == {"Contact", "Expires", "Preferred-Languages"}


async def test_without_a_contact_there_is_no_file(service: Service) -> None:
    answer = await ask(service, security_contact=None)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_the_document_does_not_have_it(service: Service) -> None:
    assert SECURITY_TXT not in service.openapi()["paths"]
