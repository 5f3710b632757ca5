"""Any text as a local part: the check of the catalog says what a plan says, and each spelling is one name."""

import pytest
from hypothesis import given, strategies as st

from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.changes import check
from tests.loop_time import loop_time
from tests.plans.make import alias, plan
from tests.random_cases import cases

CHECK = "/v1/catalog/check"
PARTS = st.lists(
    st.sampled_from(
        (*"._-+1ßİé", "\U0001d4b6", "ada", "Grace", "\u0430", "e\u0301", "\ufb03", "\u200d", "xn--", "admin")
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0@"), min_size=1, max_size=3),
    min_size=1,
    max_size=6,
).map("".join)


@pytest.mark.fuzzer
@cases(40)
@given(local_part=PARTS | st.text("ab.-_", min_size=1, max_size=70))
async def test_a_local_part_is_planned_as_it_is_checked(
    anyone: Client, alice: Person, domain: str, local_part: str
) -> None:
    await catch_up(alice.service.api.state.catalog)  # the domain may be younger than what the process has read
    with loop_time() as loop:
        answer = await anyone.get(CHECK, params={"local_part": local_part, "domain": domain})
    check(answer, loop)
    if answer.is_error:
        return
    checked = answer.json()
    sent = alias(f"x@{domain}", "ada@example.net", key="one")
    del sent["address"]
    planned = await plan(alice, {**sent, "local_part": local_part, "domain": domain})
    assert planned["promotable"] == checked["available"], (checked, planned["errors"])
    if checked["available"]:
        [action] = planned["actions"]
        assert action["after"]["address"] == checked["address"]
        own = checked["address"].partition("@")[0]
        again = (await anyone.get(CHECK, params={"local_part": own, "domain": domain})).json()
        assert (again["available"], again["address"]) == (True, checked["address"])
