"""URLs of a manifest are judged a few at once, and never more than an account may have."""

import asyncio

import pytest

from builders.kit.outbound.client import Outbound
from builders.kit.outbound.targets import Rule, Target, UrlRefused
from builders.webhooks import batches, destinations
from tests.cast import Person
from tests.sandbox.make import findings, plan_of, webhook, whole

PATIENCE_S = 10


async def test_slow_name_servers_are_asked_at_once(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    outbound: Outbound = alice.service.api.state.outbound
    together = asyncio.Barrier(destinations.MAX_LOOKUPS)

    async def judge_host(target: Target) -> None:
        await together.wait()
        if "private" in target.url:
            raise UrlRefused(Rule.ADDRESS, "Not a public one.")

    monkeypatch.setattr(outbound, "validate_host", judge_host)
    urls = [f"https://h{at}.example/" for at in range(2 * destinations.MAX_LOOKUPS - 1)] + [
        "https://private.example/"
    ]
    async with asyncio.timeout(PATIENCE_S):
        judged = await destinations.validate_urls(outbound, urls)
    assert judged.refused == {"https://private.example/": "Not a public one."}
    assert {*judged.kept} == {*urls[:-1]}


async def test_for_more_than_an_account_may_have_nobody_is_asked(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Target] = []

    async def judge_host(target: Target) -> None:
        asked.append(target)

    monkeypatch.setattr(alice.service.api.state.outbound, "validate_host", judge_host)
    many = [webhook(f"h{at}", url=f"https://h{at}.example/") for at in range(batches.MAX_DESTINATIONS)]
    planned = await plan_of(alice, whole(webhooks=[*many, webhook("form", url="ftp://example.net/")]))
    assert planned["status"] == "blocked"
    assert findings(planned["errors"]) == {("webhook.form", "url_not_allowed")}
    assert asked == []
    planned = await plan_of(alice, whole(webhooks=many))
    assert (planned["status"], len(asked)) == ("ready", batches.MAX_DESTINATIONS)
