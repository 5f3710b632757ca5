"""Webhooks in a manifest: secrets are shown once, and URLs are validated concurrently."""

import asyncio
import re

import pytest

from builders.kit.db.connections import Conn
from builders.kit.outbound.client import Outbound
from builders.kit.outbound.targets import Rule, Target, UrlRefused
from builders.kit.values import ids
from builders.webhooks import destinations
from tests.cast import Person
from tests.plans.make import (
    PLAN,
    PROMOTE,
    Json,
    findings,
    full_manifest,
    plan_manifest,
    promote,
    promotion_request,
    webhook,
)

WEBHOOKS = "/v1/notifications/webhooks"


def secrets(promotion: Json) -> dict[str, str]:
    return {each["address"]: each["signing_secret"] for each in promotion["steps"] if "signing_secret" in each}


async def test_a_new_secret_is_shown_once(alice: Person, conn: Conn) -> None:
    planned = await plan_manifest(
        alice, full_manifest(webhooks=[webhook("main"), webhook("copy", signing_secret_ref="main")])
    )
    promotion = await promote(alice, planned)
    (shown,) = secrets(promotion).values()
    assert shown.startswith("whsec_")
    hints = {each["secret_hint"] for each in (await alice.get(WEBHOOKS)).json()["items"]}
    assert hints == {shown.rstrip("=")[-4:]}
    assert secrets(await promote(alice, planned)) == {}
    read = await alice.get(f"/v1/sandbox/promotions/{promotion['id']}")
    assert shown not in read.text
    kept = await conn.execute(
        "SELECT plan.actions::text || coalesce(string_agg(step::text, ''), '') FROM plans AS plan"
        " JOIN plans_promotions AS promotion ON promotion.plan_id = plan.id"
        " JOIN plans_steps AS step ON step.promotion_id = promotion.id WHERE plan.id = %s GROUP BY plan.actions",
        [planned["id"]],
    )
    assert shown not in str(await kept.fetchone())


async def test_one_of_many_concurrent_calls_shows_the_secret(alice: Person) -> None:
    planned = await plan_manifest(alice, full_manifest(webhooks=[webhook("main")]))
    answers = await asyncio.gather(*(alice.post(PROMOTE, json=promotion_request(planned)) for _ in range(8)))
    assert sum(len(secrets(answer.json())) for answer in answers) == 1


async def test_an_idempotent_replay_omits_the_secret(alice: Person) -> None:
    planned = await plan_manifest(alice, full_manifest(webhooks=[webhook("main")]))
    headers = {"Idempotency-Key": str(ids.new())}
    first, second = [await alice.post(PROMOTE, json=promotion_request(planned), headers=headers) for _ in range(2)]
    assert (len(secrets(first.json())), secrets(second.json())) == (1, {})


async def test_a_secret_rotated_in_the_meantime_is_not_shown(alice: Person, conn: Conn) -> None:
    planned = await plan_manifest(alice, full_manifest(webhooks=[webhook("main")]))
    await promote(alice, planned)
    await conn.execute(
        "UPDATE webhooks_destinations SET secret_unseen = true WHERE account_id = %s", [alice.account.id]
    )
    (made,) = (await alice.get(WEBHOOKS)).json()["items"]
    await alice.post(f"{WEBHOOKS}/{made['id']}/rotate-secret", json={"overlap_hours": 0})
    assert secrets(await promote(alice, planned)) == {}


async def test_a_secret_is_copied_from_a_destination_by_its_label(alice: Person) -> None:
    await alice.post(
        WEBHOOKS, json={"label": "by hand", "url": webhook("x")["url"], "enabled": True, "events": ["*"]}
    )
    planned = await plan_manifest(alice, full_manifest(webhooks=[webhook("main", signing_secret_ref="by hand")]))
    assert secrets(await promote(alice, planned)) == {}
    hints = [each["secret_hint"] for each in (await alice.get(WEBHOOKS)).json()["items"]]
    assert hints[0] == hints[1]


async def test_the_error_for_an_unknown_reference_does_not_repeat_it(alice: Person) -> None:
    body = full_manifest(
        webhooks=[
            webhook("one", signing_secret_ref="hunter2-hunter2"),
            webhook("two", signing_secret_ref="three"),
            webhook("three", signing_secret_ref="two"),
        ]
    )
    answer = await alice.post(PLAN, json=body)
    assert findings(answer.json()["errors"]) == {
        ("webhook.one", "secret_ref_unknown"),
        ("webhook.two", "secret_ref_circular"),
        ("webhook.three", "secret_ref_circular"),
    }
    assert "hunter2" not in answer.text


async def test_a_literal_secret_is_refused_and_not_repeated(alice: Person) -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    answer = await alice.post(PLAN, json=full_manifest(webhooks=[webhook("main", signing_secret_ref=secret)]))
    assert answer.status_code == 422
    assert secret not in answer.text
    (error,) = answer.json()["detail"]
    assert error["loc"] == ["body", "resources", "webhooks", 0, "signing_secret_ref"]


async def test_planning_validates_urls_and_events(alice: Person) -> None:
    wanted = [
        webhook("inside", url="https://127.0.0.1/hook"),
        webhook("typo", events=["alias.creatd"]),
    ]
    planned = await plan_manifest(alice, full_manifest(webhooks=wanted))
    assert findings(planned["errors"]) == {
        ("webhook.inside", "url_not_allowed"),
        ("webhook.typo", "event_unknown"),
    }


async def test_a_test_key_sees_only_the_host_of_a_url(alice: Person) -> None:
    body = full_manifest(webhooks=[webhook("main", url="https://93.184.215.14/hooks?token=hidden")])
    planned = await plan_manifest(alice, body)
    masked = await alice.test.get(f"/v1/sandbox/plans/{planned['id']}")
    shown = masked.json()["actions"][0]["after"]["url"]
    assert re.fullmatch(r"https://93\.184\.215\.14/\*\*\*#[0-9a-f]{8}", shown)
    assert "hidden" not in masked.text


TIMEOUT_S = 60


async def test_slow_name_servers_are_queried_concurrently(alice: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    outbound: Outbound = alice.service.api.state.outbound
    together = asyncio.Barrier(destinations.MAX_LOOKUPS)

    async def validate_host(target: Target) -> None:
        await together.wait()
        if "private" in target.url:
            raise UrlRefused(Rule.ADDRESS, "Not a public one.")

    monkeypatch.setattr(outbound, "validate_host", validate_host)
    urls = [f"https://h{at}.example/" for at in range(2 * destinations.MAX_LOOKUPS - 1)] + [
        "https://private.example/"
    ]
    async with asyncio.timeout(TIMEOUT_S):
        validated = await destinations.validate_urls(outbound, urls)
    assert validated.refused == {"https://private.example/": "Not a public one."}
    assert {*validated.kept} == {*urls[:-1]}


async def test_urls_above_the_limit_of_an_account_are_not_resolved(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Target] = []

    async def validate_host(target: Target) -> None:
        asked.append(target)

    monkeypatch.setattr(alice.service.api.state.outbound, "validate_host", validate_host)
    many = [webhook(f"h{at}", url=f"https://h{at}.example/") for at in range(destinations.MAX_DESTINATIONS)]
    planned = await plan_manifest(
        alice, full_manifest(webhooks=[*many, webhook("form", url="ftp://example.net/")])
    )
    assert planned["status"] == "blocked"
    assert findings(planned["errors"]) == {("webhook.form", "url_not_allowed")}
    assert asked == []
    planned = await plan_manifest(alice, full_manifest(webhooks=many))
    assert (planned["status"], len(asked)) == ("ready", destinations.MAX_DESTINATIONS)
