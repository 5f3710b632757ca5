"""Large plans and simulations run in another thread, one of an account at a time."""

import asyncio
import threading
from typing import Any

import httpx
import pytest

from builders.app import Service
from builders.kit.http.heavy_requests import HeavyLoop
from builders.sandbox import planning
from tests.cast import Person
from tests.sandbox.make import PLAN, PROMOTE, alias, make_addresses, manifest

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


async def test_a_concurrent_large_request_of_an_account_is_refused(
    alice: Person, bob: Person, domain: str
) -> None:
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
    assert sorted(each.status_code for each in heavy) == [200, 429, 429]
    assert [other.status_code, small.status_code] == [200, 200]
    for refused in (each for each in heavy if each.status_code == httpx.codes.TOO_MANY_REQUESTS):
        assert (refused.json()["code"], refused.headers["Retry-After"]) == ("heavy_request_running", "1")
    assert (await alice.test.post(PLAN, json=body)).status_code == 200


async def test_a_large_plan_can_be_promoted_and_read(alice: Person, domain: str) -> None:
    plan = (await alice.test.post(PLAN, json=large(domain, count=300))).json()
    body = {"plan_id": plan["id"], "digest": plan["digest"]}
    promoted = await alice.post(PROMOTE, json=body)
    assert promoted.status_code == 200, promoted.text
    assert (await alice.get(f"/v1/sandbox/plans/{plan['id']}")).json()["digest"] == plan["digest"]
    assert (await alice.get(f"/v1/sandbox/promotions/{promoted.json()['id']}")).status_code == 200


async def test_the_second_loop_closes_if_it_never_started(service: Service) -> None:
    await HeavyLoop(service.api.state.settings).close()
