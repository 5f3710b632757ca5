"""`names.claim`: plan, price, approval, promotion."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from builders.kit.db.connections import Database
from builders_client import AsyncBuilders, Money
from builders_client.claims import ApprovalPending, ApprovalRefused, NameRefused, TotalTooHigh, manifest_of
from builders_client.errors import LiveKeyRequired
from tests.cast import Person
from tests.clients.python.make import both, client_of, live
from tests.plans.approval.make import ALWAYS, post_decision, set_policy
from tests.plans.make import Domains

TO = "ada@example.net"


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a live domain, at 12 USD a year."""
    return await Domains(database, folder=tmp_path, assets=assets)()


async def test_a_live_key_claims_a_name(alice: Person, domain: str) -> None:
    async with live(alice) as client:
        claimed = await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
        [owned] = [each async for each in client.aliases.list_aliases()]
    assert claimed.promotion is not None
    assert (claimed.promotion.status, owned.address) == ("succeeded", f"ada@{domain}")


async def test_a_test_key_plans_and_the_live_key_promotes(alice: Person, domain: str) -> None:
    async with await both(alice) as client:
        claimed = await client.names.claim(f"ada@{domain}", to=[TO], max_total=Money.parse("12 usd"))
    assert claimed.promotion is not None


async def test_without_a_live_key_nothing_is_promoted(alice: Person, domain: str) -> None:
    async with client_of(alice.service, await alice.test.create_key()) as client:
        with pytest.raises(LiveKeyRequired):
            await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")


async def test_a_claim_can_be_repeated(alice: Person, domain: str) -> None:
    async with live(alice) as client:
        first = await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
        second = await client.names.claim(f"ada@{domain}", to=TO)
    assert first.promotion is not None
    assert (second.plan.status, second.promotion) == ("empty", None)


@pytest.mark.parametrize("most", [None, "11.99 USD", "100.00 EUR"])
async def test_a_name_that_costs_too_much_is_not_promoted(alice: Person, domain: str, most: str | None) -> None:
    async with live(alice) as client:
        with pytest.raises(TotalTooHigh) as caught:
            await client.names.claim(f"ada@{domain}", to=TO, max_total=most)
        assert [each async for each in client.aliases.list_aliases()] == []
    assert [each.amount for each in caught.value.total] == [Decimal(12)]
    assert "12.00 USD" in (caught.value.next_action or "")


async def test_a_taken_name_is_refused_with_the_reason(alice: Person, bob: Person, domain: str) -> None:
    async with live(alice) as client, live(bob) as stranger:
        await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
        with pytest.raises(NameRefused) as caught:
            await stranger.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
    assert caught.value.codes == ["taken"]


async def test_two_claims_at_once_have_one_winner(alice: Person, bob: Person, domain: str) -> None:
    async with live(alice) as client, live(bob) as stranger:
        claims = (each.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD") for each in (client, stranger))
        results = await asyncio.gather(*claims, return_exceptions=True)
    assert sorted(isinstance(each, NameRefused) for each in results) == [False, True]


async def test_claims_of_an_account_at_once_wait_for_each_other(alice: Person, domain: str) -> None:
    async with live(alice) as client:
        names = [f"name{n}@{domain}" for n in range(2)]
        claims = (client.names.claim(each, to=TO, max_total="12.00 USD") for each in names)
        assert all(each.promotion for each in await asyncio.gather(*claims))
        assert sorted([each.address async for each in client.aliases.list_aliases()]) == names


async def test_a_claim_that_needs_an_approval_names_the_page(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    async with live(alice) as client:
        with pytest.raises(ApprovalPending) as caught:
            await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
        assert caught.value.review_url.startswith("http://builders.test/")
        assert caught.value.plan.id in caught.value.review_url
        assert [each async for each in client.aliases.list_aliases()] == []


async def test_a_claim_waits_for_the_approval(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    async with live(alice) as client:
        waiting = asyncio.create_task(
            client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD", wait_for_approval=20)
        )
        await _decide(alice, client, "approve")
        claimed = await waiting
    assert claimed.promotion is not None


async def test_a_rejected_claim_ends(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    async with live(alice) as client:
        waiting = asyncio.create_task(
            client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD", wait_for_approval=20)
        )
        await _decide(alice, client, "reject")
        with pytest.raises(ApprovalRefused):
            await waiting


async def _decide(person: Person, client: AsyncBuilders, decision: str) -> None:
    """Decide about the plan when it is there."""
    found: list[Any] = []
    while not found:
        found = [each async for each in client.sandbox.list_plans()]
    plan = await client.sandbox.get_plan(found[0].id)
    async with person.browser() as browser:
        answer = await post_decision(browser, {"id": plan.id, "digest": plan.digest}, decision)
    assert answer.status_code == 200, answer.text


async def test_a_later_claim_uses_the_approval(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    async with live(alice) as client:
        with pytest.raises(ApprovalPending):
            await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
        await _decide(alice, client, "approve")
        claimed = await client.names.claim(f"ada@{domain}", to=TO, max_total="12.00 USD")
    assert claimed.promotion is not None


def test_the_keys_of_two_names_differ() -> None:
    keys = {
        manifest_of(each, TO, "names")["resources"]["aliases"][0]["key"]
        for each in ("a.b@harbour.example", "a-b@harbour.example", "ab@harbour.example", "é@harbour.example")
    }
    assert len(keys) == 4
