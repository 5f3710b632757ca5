"""The digest of a plan depends on account, manifest and live state, and protects the stored plan."""

import re
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import ids, texts
from tests.cast import Person
from tests.plans.make import PROMOTE, Domains, Json, alias, apply, plan, promote, promotion_request


async def test_the_same_state_and_manifest_have_the_same_digest(alice: Person, domain: str) -> None:
    first, second = [await plan(alice, alias(f"ada@{domain}")) for _ in range(2)]
    assert first["digest"] == second["digest"]
    assert first["id"] != second["id"]
    assert first["digest"].startswith("sha256:")


@pytest.mark.parametrize(
    "change",
    [
        {"key": "other"},
        {"local_part": "grace"},
        {"destinations": ["other@example.net"]},
        {"destinations": ["ada@example.net", "other@example.net"]},
        {"enabled": False},
        {"note": ""},
        {"labels": {"a": "b"}},
    ],
)
async def test_each_member_of_an_alias_changes_the_digest(
    alice: Person, domain: str, change: dict[str, Any]
) -> None:
    wanted: Json = {"key": "ada", "local_part": "ada", "domain": domain, "destinations": ["ada@example.net"]}
    assert (await plan(alice, wanted))["digest"] != (await plan(alice, {**wanted, **change}))["digest"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"prune": True},
        {"on_conflict": "adopt"},
        {"metadata": {"name": "acme-mail", "labels": {"a": "b"}}},
    ],
)
async def test_each_member_of_a_manifest_changes_the_digest(
    alice: Person, domain: str, change: dict[str, Any]
) -> None:
    wanted = alias(f"ada@{domain}")
    assert (await plan(alice, wanted))["digest"] != (await plan(alice, wanted, **change))["digest"]


async def test_the_account_changes_the_digest(alice: Person, bob: Person, domain: str) -> None:
    wanted = alias(f"ada@{domain}")
    assert (await plan(alice, wanted))["digest"] != (await plan(bob, wanted))["digest"]


async def test_the_price_changes_the_digest(alice: Person, domains: Domains) -> None:
    domain = await domains()
    before = await plan(alice, alias(f"ada@{domain}"))
    await domains(domain, price_amount="12.01")
    assert before["digest"] != (await plan(alice, alias(f"ada@{domain}")))["digest"]


async def test_the_version_of_an_alias_changes_the_digest(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    before = await plan(alice, alias(f"ada@{domain}"))
    await apply(alice, alias(f"ada@{domain}", note="x"))
    await apply(alice, alias(f"ada@{domain}"))
    assert before["digest"] != (await plan(alice, alias(f"ada@{domain}")))["digest"]


async def test_a_test_key_plans_against_the_live_state_with_the_same_digest(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "ada@example.net"))
    wanted = (alias(f"ada@{domain}", "new@example.net"), alias(f"grace@{domain}", "grace@example.org", key="g"))
    live, test = await plan(alice, *wanted), await plan(alice.test, *wanted)
    assert live["digest"] == test["digest"]
    assert [each["action"] for each in test["actions"]] == ["update", "create"]
    changed, created = test["actions"]
    assert re.fullmatch(r"a\*\*\*#[0-9a-f]{8}@example\.net", changed["before"]["destinations"][0])
    assert re.fullmatch(r"n\*\*\*#[0-9a-f]{8}@example\.net", changed["after"]["destinations"][0])
    assert re.fullmatch(r"g\*\*\*#[0-9a-f]{8}@example\.org", created["after"]["destinations"][0])
    assert live["actions"][1]["after"]["destinations"] == ["grace@example.org"]


async def test_a_test_key_reads_a_live_keys_plan_masked(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", "private@example.net", block=["private@example.org"]))
    masked = await alice.test.get(f"/v1/sandbox/plans/{planned['id']}")
    assert masked.json()["digest"] == planned["digest"]
    assert "private" not in masked.text


async def test_a_stored_plan_may_break_a_rule_that_is_newer(alice: Person, conn: Conn, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", note="short"))
    older = "UPDATE plans SET actions = replace(actions::text, 'short', %s)::jsonb WHERE id = %s"
    await conn.execute(older, ["x" * 201, planned["id"]])
    shown = await alice.get(f"/v1/sandbox/plans/{planned['id']}")
    assert shown.json()["actions"][0]["after"]["note"] == "x" * 201


@pytest.mark.parametrize(
    ("written", "forged"),
    [("ada@example.net", "eve@example.net"), ('"12.00"', '"1.00"'), ('"ada"', '"eve"'), ("low", "high")],
)
async def test_a_tampered_plan_is_not_promoted(
    alice: Person, conn: Conn, domain: str, written: str, forged: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    forge = "UPDATE plans SET actions = replace(actions::text, %s, %s)::jsonb WHERE id = %s"
    await conn.execute(forge, [written, forged, planned["id"]])
    answer = await alice.post(PROMOTE, json=promotion_request(planned))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_digest_mismatch")
    assert (await plan(alice, alias(f"ada@{domain}")))["actions"] == planned["actions"]
    await conn.execute(forge, [forged, written, planned["id"]])
    assert (await promote(alice, planned))["status"] == "succeeded"


async def masked(person: Person, domain: str, *destinations: str) -> list[str]:
    """Return the destinations of a new alias in a plan for a test key."""
    planned = await plan(person.test, alias(f"{ids.new().hex[-8:]}@{domain}", *destinations))
    found: list[str] = planned["actions"][0]["after"]["destinations"]
    return found


async def test_a_masked_plan_shows_that_an_address_differs(alice: Person, bob: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "owner@example.net"))
    [moved] = (await plan(alice.test, alias(f"ada@{domain}", "other@example.net")))["actions"]
    before, after = moved["before"]["destinations"], moved["after"]["destinations"]
    again = await masked(alice, domain, "other@example.net", "owner@example.net")
    strangers = await masked(bob, domain, "owner@example.net")

    assert before != after
    assert again == [*after, *before]
    assert strangers != before  # each account has its own key
    for shown in (*before, *after, *strangers):
        assert texts.canonical_email(shown) == shown
        assert shown.startswith("o***#")
        assert shown.endswith("@example.net")
