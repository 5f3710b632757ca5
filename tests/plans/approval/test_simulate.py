"""A simulated decision shows each state of an approval; it counts for no promotion."""

import pytest

from tests.cast import Person
from tests.plans.approval.make import ALWAYS, get_approval, refuse_promotion, set_policy
from tests.plans.make import Json, alias, manifest, plan

SIMULATE = "/v1/sandbox/simulate"


async def simulate(person: Person, domain: str, **members: object) -> Json:
    body = {"type": "manifest", "manifest": manifest([alias(f"ada@{domain}")]), **members}
    answer = await person.post(SIMULATE, json=body)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


@pytest.mark.parametrize(
    ("decision", "state"), [("none", "required"), ("reject", "rejected"), ("expire", "expired")]
)
async def test_a_rehearsal_without_an_approval_is_refused(
    alice: Person, domain: str, decision: str, state: str
) -> None:
    found = await simulate(alice, domain, decision=decision, persist=True)
    assert (found["plan"]["approval"]["state"], found["promotion"], found["persisted"]) == (state, None, False)
    assert (found["refusal"]["status"], found["refusal"]["code"]) == (403, "approval_required")
    names = (await alice.test.get("/v1/aliases")).json()["items"]
    assert names == []


async def test_an_approved_rehearsal_is_executed(alice: Person, domain: str) -> None:
    found = await simulate(alice, domain, decision="approve")
    assert found["plan"]["approval"] == {
        "state": "approved",
        "approvals": 1,
        "rules": [{"rule": "always", "message": "Every plan requires an approval."}],
    }
    assert (found["refusal"], found["promotion"]["status"]) == (None, "succeeded")


async def test_a_rehearsal_needs_no_approval_by_default(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    found = await simulate(alice, domain)
    assert (found["plan"]["approval"]["state"], found["promotion"]["status"]) == ("not_required", "succeeded")


async def test_a_simulated_approval_counts_for_no_promotion(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    planned = await plan(alice, alias(f"ada@{domain}"))
    await simulate(alice, domain, decision="approve")
    assert (await get_approval(alice, planned))["decisions"] == []
    await refuse_promotion(alice, planned)


async def test_a_plan_without_changes_needs_no_approval(alice: Person, domain: str) -> None:
    await simulate(alice, domain, persist=True)
    found = await simulate(alice, domain, decision="none")
    assert (found["plan"]["approval"]["state"], found["refusal"]) == ("not_required", None)
