"""Large plans and simulations run in another thread, one of an account at a time; so do large bodies."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.http.compiled_routes import LARGE_BODY
from builders.kit.http.heavy_requests import POOL_TIMEOUT_S, HeavyLoop
from builders.plans import planning
from tests.cast import Person
from tests.heavy import held_connections, held_turn
from tests.invoices.make import make_invoice
from tests.plans.make import PLAN, PROMOTE, alias, make_addresses, manifest, promotion_request
from tests.portfolio.team.make import code

SIMULATE = "/v1/sandbox/simulate"
LARGE = 1_000  # names


def large(domain: str, name: str = "large", *, count: int = LARGE) -> dict[str, Any]:
    return manifest([alias(each) for each in make_addresses(count, domain)], name=name)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return the threads in which plans are made."""
    found: set[int] = set()
    draft = planning.build_plan

    async def noted(*args: Any, **options: Any) -> Any:
        found.add(threading.get_ident())
        return await draft(*args, **options)

    monkeypatch.setattr(planning, "build_plan", noted)
    return found


@pytest.mark.parametrize("is_simulation", [False, True])
async def test_only_a_large_manifest_is_planned_in_another_thread(
    is_simulation: bool, alice: Person, domain: str, threads: set[int]
) -> None:
    path = SIMULATE if is_simulation else PLAN
    here = threading.get_ident()
    for count, is_here in ((2, True), (LARGE, False)):
        threads.clear()
        body = large(domain, count=count)
        wanted = {"type": "manifest", "manifest": body} if is_simulation else body
        answer = await alice.test.post(path, json=wanted)
        assert answer.status_code == 200, answer.text
        assert (threads == {here}) is is_here


@pytest.fixture
async def held(service: Service, alice: Person) -> AsyncIterator[None]:
    """Hold the turn of Alice's account, with as many requests as may wait for it."""
    async with held_turn(service, alice.account.id):
        yield


async def test_large_requests_of_an_account_at_once_all_succeed(alice: Person, bob: Person, domain: str) -> None:
    body = large(domain)
    simulation = {"type": "manifest", "manifest": body}
    first, second, simulated, other, small = await asyncio.gather(
        alice.test.post(PLAN, json=body),
        alice.test.post(PLAN, json=body),
        alice.test.post(SIMULATE, json=simulation),
        bob.test.post(PLAN, json=body),
        alice.test.post(PLAN, json=large(domain, "small", count=1)),
    )
    heavy = (first, second, simulated)
    assert [each.status_code for each in heavy] == [200] * 3
    assert [other.status_code, small.status_code] == [200, 200]


@pytest.mark.usefixtures("held")
async def test_a_large_request_over_the_waiting_ones_is_refused(alice: Person, bob: Person, domain: str) -> None:
    body = large(domain)
    refused, other, small = await asyncio.gather(
        alice.test.post(PLAN, json=body),
        bob.test.post(PLAN, json=body),
        alice.test.post(PLAN, json=large(domain, "small", count=1)),
    )
    assert code(refused) == (429, "heavy_request_running")
    assert refused.headers["Retry-After"] == "1"
    assert [other.status_code, small.status_code] == [200, 200]


@pytest.mark.usefixtures("held")
async def test_any_large_body_is_read_in_the_turn_of_its_account(alice: Person, bob: Person) -> None:
    body = {"name": "Lander", "metadata": {"padding": " " * LARGE_BODY}}
    assert code(await alice.post("/v1/builders/projects", json=body)) == (429, "heavy_request_running")
    assert (await bob.post("/v1/builders/projects", json=body)).status_code != 429
    assert (await alice.post("/v1/builders/projects", json={"name": "Lander"})).status_code == 201


@pytest.mark.usefixtures("held")
async def test_a_pdf_is_written_in_the_turn_of_its_account(alice: Person, bob: Person, database: Database) -> None:
    own, other = [await make_invoice(database, account_id=each.account.id) for each in (alice, bob)]
    assert code(await alice.get(f"/v1/invoices/{own.id}/pdf")) == (429, "heavy_request_running")
    assert (await alice.get(f"/v1/invoices/{own.id}")).status_code == 200
    assert (await bob.get(f"/v1/invoices/{other.id}/pdf")).status_code == 200


async def test_a_large_plan_can_be_promoted_and_read(alice: Person, domain: str) -> None:
    plan = (await alice.test.post(PLAN, json=large(domain, count=300))).json()
    body = {"plan_id": plan["id"], "digest": plan["digest"]}
    promoted = await alice.post(PROMOTE, json=body)
    assert promoted.status_code == 200, promoted.text
    assert (await alice.get(f"/v1/sandbox/plans/{plan['id']}")).json()["digest"] == plan["digest"]
    assert (await alice.get(f"/v1/sandbox/promotions/{promoted.json()['id']}")).status_code == 200


async def test_the_second_loop_closes_if_it_never_started(service: Service) -> None:
    await HeavyLoop(service.api.state.settings).close()


async def test_a_promotion_waits_five_seconds_for_a_connection(alice: Person, domain: str) -> None:
    planned = (await alice.test.post(PLAN, json=large(domain, count=1))).json()
    async with held_connections(alice.service):
        refused = await alice.post(PROMOTE, json=promotion_request(planned))
    assert code(refused) == (503, "database_busy")
    assert int(refused.headers["Retry-After"]) > 0
    assert POOL_TIMEOUT_S <= 5
    assert (await alice.post(PROMOTE, json=promotion_request(planned))).status_code == 200
