"""Concurrent rehearsals of one account run one at a time, and only succeeded steps persist."""

import asyncio
import contextlib
from typing import Any

import pytest

from builders.app import Service
from builders.plans import store
from tests.cast import Person
from tests.plans.make import Domains, Json, alias, make_addresses, manifest
from tests.plans.simulations import SIMULATE, request_simulation, simulate


async def test_requests_that_wait_for_a_rehearsal_hold_no_connection(
    alice: Person, service: Service, domains: Domains, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = manifest([alias(f"ada@{await domains()}")])
    started, end = asyncio.Event(), asyncio.Event()
    lock_account = store.lock_account

    async def take(*args: Any, **options: Any) -> None:
        await lock_account(*args, **options)
        started.set()
        await end.wait()

    monkeypatch.setattr(store, "lock_account", take)
    asked = [asyncio.create_task(request_simulation(alice, type="manifest", manifest=wanted)) for _ in range(6)]
    asked += [asyncio.create_task(request_simulation(alice, type="reset")) for _ in range(6)]
    await started.wait()
    with contextlib.suppress(TimeoutError):  # time for the other requests to proceed
        await asyncio.wait_for(end.wait(), 0.5)
    held = service.api.state.database.held  # without those that the pool connects anew
    end.set()

    assert {each.status_code for each in await asyncio.gather(*asked)} == {200}
    assert held == 1


NAMES = 6


def rehearsal(domain: str, **members: object) -> Json:
    """Return the body of a rehearsal."""
    return {
        "type": "manifest",
        "manifest": manifest([alias(each) for each in make_addresses(NAMES, domain)]),
        **members,
    }


@pytest.mark.parametrize(
    ("fails", "on_error", "succeeded"),
    [
        pytest.param({}, "stop", [0, 1, 2, 3, 4, 5], id="no step fails"),
        pytest.param({0: "taken"}, "stop", [], id="stopped at the first step"),
        pytest.param({5: "held"}, "stop", [], id="stopped at the last step"),
        pytest.param({1: "taken", 4: "x"}, "stop", [], id="stopped at two steps"),
        pytest.param({}, "continue", [0, 1, 2, 3, 4, 5], id="continued without a failure"),
        pytest.param({0: "x"}, "continue", [1, 2, 3, 4, 5], id="continued after the first step"),
        pytest.param({1: "taken", 4: "held"}, "continue", [0, 2, 3, 5], id="continued after two steps"),
        pytest.param(dict.fromkeys(range(NAMES), "held"), "continue", [], id="every step fails"),
    ],
)
async def test_only_succeeded_steps_persist(
    alice: Person, domain: str, fails: dict[int, str], on_error: str, succeeded: list[int]
) -> None:
    fail_at = {f"alias.name{at:04}": code for at, code in fails.items()}
    body = rehearsal(domain, fail_at=fail_at, on_error=on_error, persist=True)
    promotion = (await simulate(alice, **body))["promotion"]
    ended = {each["address"]: each["status"] for each in promotion["steps"]}

    assert {address for address, status in ended.items() if status == "failed"} == fail_at.keys()
    assert {(each["error"] or {}).get("code") for each in promotion["steps"]} - {None} == {*fail_at.values()}
    done = {f"alias.name{at:04}" for at in succeeded}
    assert {address for address, status in ended.items() if status == "succeeded"} == done
    again = (await simulate(alice, **rehearsal(domain)))["plan"]
    assert {each["address"] for each in again["actions"] if each["action"] == "no_op"} == done
    assert {each["address"] for each in again["actions"] if each["action"] == "create"} == ended.keys() - done


async def test_concurrent_rehearsals_run_one_at_a_time(alice: Person, domain: str) -> None:
    body = rehearsal(domain, persist=True)
    answers = await asyncio.gather(*(alice.post(SIMULATE, json=body) for _ in range(3)))

    assert [each.status_code for each in answers] == [200, 200, 200]
    summaries = [each.json()["plan"]["summary"] for each in answers]
    assert sorted(map(str, summaries)) == sorted(map(str, [{"create": NAMES}, {"no_op": NAMES}, {"no_op": NAMES}]))
    assert (await alice.get("/v1/sandbox/status")).json()["sandbox"]["aliases"] == NAMES


async def test_the_same_idempotency_key_rehearses_once(alice: Person, domain: str) -> None:
    body = rehearsal(domain, persist=True)
    first, again = [await alice.post(SIMULATE, json=body, headers={"Idempotency-Key": "r1"}) for _ in range(2)]

    assert first.json() == again.json()
    assert first.json()["plan"]["summary"] == {"create": NAMES}
    assert again.headers["Idempotent-Replayed"] == "true"
