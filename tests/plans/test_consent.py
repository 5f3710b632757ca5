"""A promotion requires a live key, the digest, and consent to its deletions and its price."""

from datetime import datetime, timedelta

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.conftest import INSTANT, MakePerson, StopClock
from tests.plans.make import PROMOTE, Domains, Json, alias, apply, list_events, plan, promote, promotion_request


async def refused(person: Person, body: Json, status: int, code: str) -> Json:
    answer = await person.post(PROMOTE, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    said: Json = answer.json()
    return said


async def test_a_test_key_does_not_promote(alice: Person, domain: str) -> None:
    planned = await plan(alice.test, alias(f"ada@{domain}"))
    answer = await alice.test.post(PROMOTE, json=promotion_request(planned))
    assert (answer.status_code, answer.json()["code"]) == (403, "live_key_required")
    assert answer.json()["next_action"]


async def test_bob_does_not_promote_alices_plan(alice: Person, bob: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    alices = await refused(bob, promotion_request(planned), 404, "plan_not_found")
    nobodys = await refused(bob, {**promotion_request(planned), "plan_id": str(ids.new())}, 404, "plan_not_found")
    assert alices | {"request_id": ""} == nobodys | {"request_id": ""}
    assert (await promote(alice, planned))["status"] == "succeeded"


@pytest.mark.parametrize(
    "plan_id", ["", "x", "null", "0" * 36, "../plans", "{00000000-0000-0000-0000-000000000000}"]
)
async def test_a_malformed_plan_id_is_404(alice: Person, plan_id: str) -> None:
    await refused(alice, {"plan_id": plan_id, "digest": "sha256:0"}, 404, "plan_not_found")


async def test_a_changed_digest_is_refused(alice: Person, conn: Conn, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    last = "0" if planned["digest"][-1] != "0" else "1"
    for digest in (planned["digest"][:-1] + last, planned["digest"].upper(), planned["digest"] + " ", ""):
        await refused(alice, {**promotion_request(planned), "digest": digest}, 409, "plan_digest_mismatch")
    assert await list_events(conn, alice) == []
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_a_promoted_plan_also_requires_its_digest(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await promote(alice, planned)
    await refused(alice, {**promotion_request(planned), "digest": "sha256:0"}, 409, "plan_digest_mismatch")


async def test_an_expired_plan_is_410(alice: Person, conn: Conn, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    with clock.moved(timedelta(hours=24)):
        await refused(alice, promotion_request(planned), 410, "plan_expired")
    assert await list_events(conn, alice) == []


async def test_a_plan_ends_at_its_exact_instant(alice: Person, domain: str, stop_clock: StopClock) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    ends = datetime.fromisoformat(planned["expires_at"])
    found = []
    for at in (ends, ends - INSTANT):
        stop_clock(at)
        [listed] = (await alice.get("/v1/sandbox/plans")).json()["items"]
        shown = (await alice.get(f"/v1/sandbox/plans/{planned['id']}")).json()
        found.append((listed["status"], shown["status"]))
    assert found == [("expired", "expired"), ("ready", "ready")]
    stop_clock(ends)
    await refused(alice, promotion_request(planned), 410, "plan_expired")
    stop_clock(ends - INSTANT)
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_an_account_with_an_unverified_email_cannot_promote(people: MakePerson, domain: str) -> None:
    una = await people("una", verified=False)
    planned = await plan(una, alias(f"ada@{domain}"))
    await refused(una, promotion_request(planned), 403, "email_unverified")


@pytest.mark.parametrize("confirmed", [None, 0, 1, 3])
async def test_deletions_are_confirmed_by_their_number(alice: Person, domain: str, confirmed: int | None) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}", key="k"))
    planned = await plan(alice, alias(f"linus@{domain}", key="k"), prune=True)
    assert (planned["summary"], planned["confirm_deletes"]) == ({"replace": 1, "delete": 1}, 2)
    body = {**promotion_request(planned), "confirm_deletes": confirmed}
    said = await refused(alice, body, 409, "confirm_deletes_mismatch")
    assert (said["removals"], "2" in said["next_action"]) == (2, True)


async def test_a_plan_without_deletions_needs_no_confirmation(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await refused(alice, {**promotion_request(planned), "confirm_deletes": 1}, 409, "confirm_deletes_mismatch")
    assert (await promote(alice, planned, confirm_deletes=0))["status"] == "succeeded"


async def test_a_plan_that_costs_more_than_allowed_is_refused(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    for amount in ("23.99", "0", "-24.00"):
        most = {"amount": amount, "currency": "USD"}
        said = await refused(alice, promotion_request(planned, max_total=most), 409, "total_exceeded")
        assert said["due"] == {"amount": "24.00", "currency": "USD"}
        assert "max_total" in said["next_action"]
    exact = {"amount": "24.00", "currency": "USD"}
    assert (await promote(alice, planned, max_total=exact))["status"] == "succeeded"


async def test_a_maximum_in_another_currency_is_refused_with_both(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    for amount in ("0", "9999"):
        other = {"amount": amount, "currency": "JPY"}
        said = await refused(alice, promotion_request(planned, max_total=other), 422, "currency_mismatch")
        [error] = said["detail"]
        assert error["loc"] == ["body", "max_total", "currency"]
        assert error["msg"] == "The plan costs 12.00 USD now, and max_total is in JPY. Send it in USD."


async def test_the_total_is_the_amount_due_now_in_all_intervals(alice: Person, domains: Domains) -> None:
    wanted = [
        alias(f"ada@{await domains(price_amount='1.00', price_interval=each)}", key=each)
        for each in ("once", "month", "year")
    ]
    planned = await plan(alice, *wanted)
    await refused(
        alice, promotion_request(planned, max_total={"amount": "2.99", "currency": "USD"}), 409, "total_exceeded"
    )
    assert (await promote(alice, planned, max_total={"amount": "3.00", "currency": "USD"}))[
        "status"
    ] == "succeeded"


@pytest.mark.parametrize(
    "broken",
    [
        {"plan_id": 7},
        {"digest": None},
        {"confirm_deletes": -1},
        {"confirm_deletes": "2"},
        {"confirm_deletes": True},
        {"max_total": 12.0},
        {"max_total": {"amount": "1.001", "currency": "USD"}},
        {"on_error": "ignore"},
        {"resume": "yes"},
    ],
)
async def test_an_invalid_request_is_422(alice: Person, broken: Json) -> None:
    answer = await alice.post(PROMOTE, json={"plan_id": "x", "digest": "x", **broken})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][1] == next(iter(broken))
