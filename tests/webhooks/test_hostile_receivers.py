"""An endless response of a receiver ends at a byte limit; script/soak isolation measures the other accounts."""

import asyncio
from collections.abc import Iterator

import pytest
from aiohttp.client_proto import ResponseHandler

from builders.app import Service
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.webhooks import endless_receivers
from tests.webhooks.make import PATH, create
from tests.webhooks.reaching import calling_by

PARSED = 128 * 1024  # bytes that the parser may see of one response: head, 16 KB of body, framing


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of endless receivers in a separate process."""
    with endless_receivers.serving() as port:
        yield port


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the sizes of the data that the HTTP parser gets."""
    sizes: list[int] = []
    received = ResponseHandler.data_received

    def data_received(self: ResponseHandler, data: bytes) -> None:
        sizes.append(len(data))
        received(self, data)

    monkeypatch.setattr(ResponseHandler, "data_received", data_received)
    return sizes


async def _test_send(person: Person, url: str) -> str:
    made = await create(person, url=url)
    answer = await person.post(f"{PATH}/{made['id']}/test")
    assert answer.status_code == 200
    return str(answer.json()["attempt"]["error"])


@pytest.mark.parametrize("kind", endless_receivers.KINDS)
async def test_a_test_send_ends_at_the_byte_limit_and_other_accounts_are_served(
    kind: str, alice: Person, bob: Person, service: Service, port: int, parsed: list[int]
) -> None:
    allow = f"{endless_receivers.HOST}:{port}"
    settings = Settings(outbound_allow=(allow,), base_url="https://builders.test")
    async with Outbound(settings) as outbound, calling_by(service, outbound, allow=allow):
        sending = asyncio.create_task(_test_send(alice, f"http://{endless_receivers.HOST}:{port}/{kind}"))
        served = [(await bob.get("/v1/me")).status_code for _ in range(5)]
        error = await sending
    assert error != "timeout"
    assert sum(parsed) <= PARSED
    assert served == [200] * 5
