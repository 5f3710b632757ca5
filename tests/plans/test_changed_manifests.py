"""Any change of a manifest is planned or refused with its place; a plan is the same again, and claims nothing."""

import json

import pytest
from hypothesis import given, strategies as st

from tests.cast import Person
from tests.changes import changed_bytes, changed_json, check
from tests.loop_time import loop_time
from tests.plans.make import PLAN, alias, full_manifest, webhook
from tests.random_cases import cases


@pytest.mark.fuzzer
@cases(30)
@given(data=st.data())
async def test_a_changed_manifest_is_planned_or_refused(
    alice: Person, bob: Person, domain: str, data: st.DataObject
) -> None:
    first = alias(f"ada@{domain}", "ada@example.net", key="ada", labels={"team": "one"}, note="first")
    second = {"key": "grace", "local_part": "grace", "domain": domain, "destinations": ["grace@example.net"]}
    project = {"key": "shop", "name": "Shop", "slug": "shop"}
    manifest = full_manifest(aliases=[first, second], projects=[project], webhooks=[webhook("hook")])
    changed = data.draw(changed_json(manifest))
    content = json.dumps(changed).encode()
    if data.draw(st.integers(0, 4)) == 0:
        content = data.draw(changed_bytes(json.dumps(manifest).encode()))
    headers = {"Content-Type": "application/json"}
    with loop_time() as loop:
        answer = await alice.post(PLAN, content=content, headers=headers)
    check(answer, loop)
    if answer.is_success:
        again = (await alice.post(PLAN, content=content, headers=headers)).json()
        assert again["digest"] == answer.json()["digest"]
        assert all(each["code"] and each["message"] for each in again["errors"])
        check(await alice.test.get(f"/v1/sandbox/plans/{again['id']}"))
        assert (await bob.get(f"/v1/sandbox/plans/{again['id']}")).status_code == 404
    assert (await alice.get("/v1/aliases")).json()["items"] == []
