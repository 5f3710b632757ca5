"""Clients of the tests."""

from typing import Any

import httpx2

from builders.app import Service
from builders_client import AsyncBuilders
from builders_client.wire import Key
from tests.cast import Person


def client_of(service: Service, key: Key, **options: Any) -> AsyncBuilders:
    """Return a client that sends its requests to the service in this process."""
    return AsyncBuilders(
        key, base_url="http://builders.test", http=lambda: httpx2.ASGITransport(app=service), **options
    )


def live(person: Person, **options: Any) -> AsyncBuilders:
    """Return a client with the live key of a person."""
    return client_of(person.service, person.key, **options)


async def both(person: Person) -> AsyncBuilders:
    """Return a client with the test key of a person, and the live key for promotions."""
    return client_of(person.service, await person.test.create_key(), live_key=person.key)
