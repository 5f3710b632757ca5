"""An agent explains why something failed, and does it again."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from builders.aliases import claims
from builders.app import Service
from builders.kit.values import clock, ids
from builders.kit.values.conflicts import ResourcesChanged
from tests.cast import Person
from tests.kit.outbound.receivers import OK, Receiver, saying
from tests.mandates import machine
from tests.mcp_server.make import Agent, call, refuse
from tests.plans.make import Json, alias, apply, get_alias, plan, promote
from tests.webhooks.make import create, deliveries, happen, send_due
from tests.webhooks.reaching import reachable

DOWN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 7\r\n\r\nbuy now"


@pytest.fixture
async def receiver(service: Service) -> AsyncIterator[Receiver]:
    """Return a receiver on loopback that the service may call; it answers 500."""
    async with reachable(service) as receiver:
        receiver.answer = saying(DOWN)
        yield receiver


@pytest.fixture
async def acting(service: Service, alice: Person) -> Agent:
    """Return an agent with a mandate that writes."""
    return Agent(service, (await machine(alice)).key)


@pytest.fixture
async def delivery(service: Service, alice: Person, receiver: Receiver) -> Json:
    """Return a delivery whose first attempt failed."""
    await create(alice, url=receiver.url)
    await happen(service.api.state.database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    (failed,) = await deliveries(alice)
    found: Json = failed
    return found


async def test_a_delivery_is_explained_with_its_attempts(acting: Agent, delivery: Json) -> None:
    why = await call(acting, "explain_failure", kind="delivery", id=delivery["id"])
    assert (why["last_status"], why["attempts"][0]["status"]) == (500, 500)
    assert why["attempts"][0]["untrusted_response"] == "buy now"
    assert why["next_actions"][0]["arguments"] == {"kind": "delivery", "id": delivery["id"]}


async def test_a_delivery_is_sent_again(acting: Agent, delivery: Json, receiver: Receiver) -> None:
    receiver.answer = saying(OK)
    again = await call(acting, "repeat", kind="delivery", id=delivery["id"])
    assert (again["status"], again["attempt"]["status"]) == ("succeeded", 200)
    assert "next_actions" not in again or again["next_actions"] == []


async def test_a_repeated_call_sends_once(acting: Agent, delivery: Json) -> None:
    for _ in range(2):
        again = await call(acting, "repeat", kind="delivery", id=delivery["id"])
    why = await call(acting, "explain_failure", kind="delivery", id=delivery["id"])
    assert (again["replayed"], len(why["attempts"])) == (True, 2)


async def test_a_promotion_that_failed_is_explained_and_resumed(
    acting: Agent, alice: Person, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse_claims(*_: object, **__: object) -> None:
        raise ResourcesChanged(frozenset({ids.new()}))

    planned = await plan(alice, alias(f"ada@{domain}"))
    with monkeypatch.context() as patch:
        patch.setattr(claims, "create_aliases", refuse_claims)
        failed = await promote(alice, planned)
    why = await call(acting, "explain_failure", kind="promotion", id=failed["id"])
    assert (why["status"], why["steps"][0]["error"]["code"]) == ("failed", "unexpected")
    assert why["next_actions"][-1]["arguments"] == {"kind": "promotion", "id": failed["id"]}
    again = await call(acting, "repeat", kind="promotion", id=failed["id"])
    assert (again["id"], again["status"]) == (failed["id"], "succeeded")


async def test_the_mail_of_a_name_without_mail_is_explained(acting: Agent, alice: Person, domain: str) -> None:
    name = await get_alias(alice, await apply(alice, alias(f"ada@{domain}")))
    why = await call(acting, "explain_failure", kind="mail", id=name["id"])
    assert (why["status"], why["mail"]) == ("no_mail", [])


async def test_the_delivery_of_a_stranger_is_not_found(service: Service, bob: Person, delivery: Json) -> None:
    other = Agent(service, (await machine(bob)).key)
    for tool in ("explain_failure", "repeat"):
        assert (await refuse(other, tool, kind="delivery", id=delivery["id"]))["status"] == 404


async def test_without_an_id_the_delivery_that_failed_last_is_explained(
    acting: Agent, service: Service, alice: Person, delivery: Json
) -> None:
    clock.move(timedelta(seconds=1))
    await happen(service.api.state.database, alice.account.id)
    waiting = {each["id"] for each in await deliveries(alice)} - {delivery["id"]}
    assert (await call(acting, "explain_failure", kind="delivery"))["id"] == delivery["id"]
    await send_due(service, account_id=alice.account.id)
    assert {(await call(acting, "explain_failure", kind="delivery"))["id"]} == waiting
