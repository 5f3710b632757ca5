"""Secrets of webhooks that a promotion makes: shown once, and never in a plan, a journal or a manifest."""

import asyncio
import re

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from tests.cast import Person
from tests.sandbox.make import PLAN, PROMOTE, Json, findings, order, plan_of, promote, webhook, whole

WEBHOOKS = "/v1/notifications/webhooks"


def secrets(promotion: Json) -> dict[str, str]:
    return {each["address"]: each["signing_secret"] for each in promotion["steps"] if "signing_secret" in each}


async def test_a_secret_that_was_made_is_shown_once(alice: Person, conn: Conn) -> None:
    planned = await plan_of(alice, whole(webhooks=[webhook("main"), webhook("copy", signing_secret_ref="main")]))
    promotion = await promote(alice, planned)
    (shown,) = secrets(promotion).values()
    assert shown.startswith("whsec_")
    hints = {each["secret_hint"] for each in (await alice.get(WEBHOOKS)).json()["items"]}
    assert hints == {shown.rstrip("=")[-4:]}
    assert secrets(await promote(alice, planned)) == {}
    read = await alice.get(f"/v1/sandbox/promotions/{promotion['id']}")
    assert shown not in read.text
    kept = await conn.execute(
        "SELECT plan.actions::text || coalesce(string_agg(step::text, ''), '') FROM sandbox_plans AS plan"
        " JOIN sandbox_promotions AS promotion ON promotion.plan_id = plan.id"
        " JOIN sandbox_steps AS step ON step.promotion_id = promotion.id WHERE plan.id = %s GROUP BY plan.actions",
        [planned["id"]],
    )
    assert shown not in str(await kept.fetchone())


async def test_of_many_calls_at_once_one_gets_the_secret(alice: Person) -> None:
    planned = await plan_of(alice, whole(webhooks=[webhook("main")]))
    answers = await asyncio.gather(*(alice.post(PROMOTE, json=order(planned)) for _ in range(8)))
    assert sum(len(secrets(answer.json())) for answer in answers) == 1


async def test_the_replay_of_an_idempotent_promotion_comes_without_it(alice: Person) -> None:
    planned = await plan_of(alice, whole(webhooks=[webhook("main")]))
    headers = {"Idempotency-Key": str(ids.new())}
    first, second = [await alice.post(PROMOTE, json=order(planned), headers=headers) for _ in range(2)]
    assert (len(secrets(first.json())), secrets(second.json())) == (1, {})


async def test_a_secret_that_was_given_anew_in_between_is_not_shown(alice: Person, conn: Conn) -> None:
    planned = await plan_of(alice, whole(webhooks=[webhook("main")]))
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
    planned = await plan_of(alice, whole(webhooks=[webhook("main", signing_secret_ref="by hand")]))
    assert secrets(await promote(alice, planned)) == {}
    hints = [each["secret_hint"] for each in (await alice.get(WEBHOOKS)).json()["items"]]
    assert hints[0] == hints[1]


async def test_a_reference_to_nothing_is_an_error_that_does_not_repeat_it(alice: Person) -> None:
    body = whole(
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
    answer = await alice.post(PLAN, json=whole(webhooks=[webhook("main", signing_secret_ref=secret)]))
    assert answer.status_code == 422
    assert secret not in answer.text
    (error,) = answer.json()["detail"]
    assert error["loc"] == ["body", "resources", "webhooks", 0, "signing_secret_ref"]


async def test_urls_and_events_are_judged_when_planning(alice: Person) -> None:
    wanted = [
        webhook("inside", url="https://127.0.0.1/hook"),
        webhook("typo", events=["alias.creatd"]),
    ]
    planned = await plan_of(alice, whole(webhooks=wanted))
    assert findings(planned["errors"]) == {
        ("webhook.inside", "url_not_allowed"),
        ("webhook.typo", "event_unknown"),
    }


async def test_with_a_test_key_a_url_shows_only_whose_it_is(alice: Person) -> None:
    body = whole(webhooks=[webhook("main", url="https://93.184.215.14/hooks?token=hidden")])
    planned = await plan_of(alice, body)
    masked = await alice.test.get(f"/v1/sandbox/plans/{planned['id']}")
    shown = masked.json()["actions"][0]["after"]["url"]
    assert re.fullmatch(r"https://93\.184\.215\.14/\*\*\*#[0-9a-f]{8}", shown)
    assert "hidden" not in masked.text
