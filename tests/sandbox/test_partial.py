"""Promotions that get through in part: what failed is named, the rest is done or left out, and can be resumed."""

from datetime import timedelta

import pytest

from builders.aliases import service as aliases
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.sandbox import service as sandbox
from builders.sandbox.promotion import run
from builders.sandbox.promotion.batches import UNEXPECTED
from builders.sandbox.store import steps as journal
from tests.cast import Person
from tests.sandbox.make import (
    PROMOTE,
    Domains,
    Json,
    alias,
    alter,
    apply,
    begin,
    crew,
    events,
    findings,
    order,
    plan,
    promote,
    steps,
    suspend,
)

HOLD_OVER = timedelta(minutes=15)
Errors = dict[str, tuple[str, bool]]


def errors(promotion: Json) -> Errors:
    """Code of each failed step, and whether it can be tried again."""
    failed = [each for each in promotion["steps"] if each["error"]]
    return {each["address"]: (each["error"]["code"], each["error"]["retryable"]) for each in failed}


async def test_names_of_a_promotion_under_way_are_kept_for_a_quarter_of_an_hour(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"norman@{domain}"))
    await begin(database, alice, planned)
    wanted = (alias(f"ada@{domain}"), alias(f"norrnan@{domain}"))
    seen = {("alias.ada", "held"), ("alias.norrnan", "confusable")}
    assert findings((await plan(bob, *wanted))["errors"]) == seen
    with clock.moved(HOLD_OVER):
        assert (await plan(bob, *wanted))["errors"] == []
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_with_continue_the_rest_is_done(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    names = crew(20, domain)
    planned = await plan(alice, *map(alias, names))
    await begin(database, alice, planned, on_error="continue")
    clock.move(HOLD_OVER)
    await apply(bob, alias(names[3]), alias(names[7]))
    promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["on_error"]) == ("partial", "continue")
    assert promotion["summary"] == {"succeeded": 18, "failed": 2}
    assert errors(promotion) == {"alias.crew0003": ("taken", False), "alias.crew0007": ("taken", False)}
    assert promotion["next_actions"] == ["replan", "confirm_destinations", "pay_invoices"]
    assert await promote(alice, planned) == promotion
    told = await events(conn, alice)
    assert [name for name, _ in told] == ["alias.created"] * 18 + ["promotion.failed"]
    assert {"succeeded": 18, "failed": 2, "skipped": 0}.items() <= told[-1][1].items()
    assert (await plan(alice, *map(alias, names)))["status"] == "blocked"


async def test_with_stop_the_rest_is_left_out(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await begin(database, alice, planned)
    clock.move(HOLD_OVER)
    await apply(bob, alias(f"ada@{domain}"))
    promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["on_error"]) == ("failed", "stop")
    assert steps(promotion) == {"alias.ada": "failed", "alias.grace": "skipped"}
    assert [name for name, _ in await events(conn, alice)] == ["promotion.failed"]


async def test_updates_fail_for_themselves_and_nothing_is_deleted_after_a_stop(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"), alias(f"linus@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", note="x"), alias(f"grace@{domain}", note="x"), prune=True)
    await begin(database, alice, planned)
    await alter(conn, alice, f"ada@{domain}")
    promotion = await promote(alice, planned)
    assert steps(promotion) == {"alias.ada": "failed", "alias.grace": "skipped", "alias.linus": "skipped"}
    assert errors(promotion) == {"alias.ada": ("alias_changed", False)}


async def test_a_key_that_was_taken_in_the_meantime_fails_its_step(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    await apply(alice, alias(f"grace@{domain}", key="other"), name="other")
    planned = await plan(alice, alias(f"ada@{domain}", key="boss"), alias(f"linus@{domain}"))
    await begin(database, alice, planned, on_error="continue")
    await conn.execute(
        "UPDATE aliases SET manifest = 'acme-mail', manifest_key = 'boss' WHERE account_id = %s",
        [alice.account.id],
    )
    promotion = await promote(alice, planned)
    assert steps(promotion) == {"alias.boss": "failed", "alias.linus": "succeeded"}
    assert errors(promotion) == {"alias.boss": ("key_in_use", True)}


async def test_a_batch_that_fails_with_nobody_to_blame_fails_whole_and_can_be_tried_again(
    alice: Person, conn: Conn, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise aliases.AliasesChanged(frozenset({ids.new()}))

    await apply(alice, alias(f"grace@{domain}"))
    planned = await plan(
        alice, alias(f"ada@{domain}"), alias(f"linus@{domain}"), alias(f"grace@{domain}", note="x")
    )
    with monkeypatch.context() as broken:
        broken.setattr(aliases, "create_aliases", refuse)
        promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["next_actions"][:2]) == ("partial", ["resume", "replan"])
    assert steps(promotion) == {"alias.ada": "failed", "alias.linus": "failed", "alias.grace": "succeeded"}
    assert errors(promotion) == {f"alias.{each}": ("unexpected", True) for each in ("ada", "linus")}
    assert "promotion.failed" in {name for name, _ in await events(conn, alice)}
    assert (await promote(alice, planned, resume=True))["status"] == "succeeded"


async def test_what_waits_for_the_key_of_a_failed_step_fails_too(
    alice: Person, conn: Conn, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}", key="one"), alias(f"grace@{domain}", key="two"))
    moved = (
        alias(f"ada@{domain}", key="two"),
        alias(f"grace@{domain}", key="three"),
        alias(f"alan@{domain}", key="one"),
    )
    planned = await plan(alice, *moved)
    assert planned["summary"] == {"update": 2, "create": 1}
    await begin(database, alice, planned, on_error="continue")
    await suspend(conn, alice, f"grace@{domain}")
    promotion = await promote(alice, planned)
    assert promotion["status"] == "failed"
    assert {address: code for address, (code, _) in errors(promotion).items()} == {
        "alias.three": "alias_changed",
        "alias.two": "key_in_use",
        "alias.one": "key_in_use",
    }


async def test_a_resumed_promotion_does_what_is_left(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    """Bob's hold is in the way, and then over."""
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    his = await plan(bob, alias(f"ada@{domain}"))
    await begin(database, alice, planned)
    clock.move(HOLD_OVER)
    await begin(database, bob, his)
    first = await promote(alice, planned)
    assert errors(first) == {"alias.ada": ("held", True)}
    assert (await promote(alice, planned)) == first
    clock.move(HOLD_OVER)
    second = await promote(alice, planned, resume=True)
    assert (second["id"], second["status"]) == (first["id"], "succeeded")
    assert [each["attempts"] for each in second["steps"]] == [2, 1]
    assert await promote(alice, planned, resume=True) == second
    read = await alice.get(f"/v1/sandbox/plans/{planned['id']}")
    assert read.json()["status"] == "promoted"
    told = [name for name, _ in await events(conn, alice)]
    assert told == ["promotion.failed", "alias.created", "alias.created", "promotion.completed"]


async def test_a_resumed_promotion_says_what_stands_in_its_way(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await begin(database, alice, planned)
    clock.move(HOLD_OVER)
    await apply(bob, alias(f"ada@{domain}"))
    first = await promote(alice, planned)
    answer = await alice.post(PROMOTE, json=order(planned, resume=True))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    assert findings(answer.json()["changed"]) == {("alias.ada", "taken")}
    assert await promote(alice, planned) == first
    second = await promote(alice, planned, resume=True, on_error="continue")
    assert steps(second) == {"alias.ada": "failed", "alias.grace": "succeeded"}
    assert (second["status"], second["on_error"]) == ("partial", "continue")


async def test_an_old_promotion_is_not_resumed_at_an_old_price(
    alice: Person, bob: Person, database: Database, domains: Domains
) -> None:
    domain = await domains()
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await begin(database, alice, planned)
    clock.move(HOLD_OVER)
    await apply(bob, alias(f"ada@{domain}"))
    await promote(alice, planned)
    await domains(domain, price_amount="99.00")
    promotion = await promote(alice, planned, resume=True, on_error="continue")
    assert {address: code for address, (code, _) in errors(promotion).items()} == {
        "alias.ada": "taken",
        "alias.grace": "price_changed",
    }


async def test_a_resumed_promotion_holds_its_names_again(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    his = await plan(bob, alias(f"ada@{domain}"))
    await begin(database, alice, planned)
    clock.move(HOLD_OVER)
    await begin(database, bob, his)
    await promote(alice, planned)
    clock.move(HOLD_OVER)
    await begin(database, alice, planned, resume=True)
    assert findings((await plan(bob, alias(f"grace@{domain}")))["errors"]) == {("alias.grace", "held")}


async def test_a_name_given_back_to_its_owner_and_held_stays_in_quarantine(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    """A hold that runs out does not set free what was kept for longer."""
    await apply(alice, alias(f"ada@{domain}"))
    await apply(alice, prune=True)
    await begin(database, alice, await plan(alice, alias(f"ada@{domain}")))
    clock.move(HOLD_OVER)
    assert findings((await plan(bob, alias(f"ada@{domain}")))["errors"]) == {("alias.ada", "quarantined")}


async def test_a_replacement_that_fails_gives_nothing_up(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    planned = await plan(alice, alias(f"grace@{domain}", key="boss"))
    await begin(database, alice, planned)
    clock.move(HOLD_OVER)
    await apply(bob, alias(f"grace@{domain}"))
    assert (await promote(alice, planned))["status"] == "failed"
    assert (await plan(alice, alias(f"ada@{domain}", key="boss")))["status"] == "empty"


async def test_a_fault_of_ours_fails_its_batch_and_holds_up_no_other_promotion(
    alice: Person, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", note="bad"))
    other = await plan(alice, alias(f"linus@{domain}"), name="other")
    await conn.execute("ALTER TABLE aliases ADD CONSTRAINT ours CHECK (note IS DISTINCT FROM 'bad')")
    try:
        promotion = await promote(alice, planned)
        assert (promotion["status"], errors(promotion)) == ("failed", {"alias.ada": ("unexpected", True)})
        assert (await promote(alice, other))["status"] == "succeeded"
    finally:
        await conn.execute("ALTER TABLE aliases DROP CONSTRAINT ours")
    assert (await promote(alice, planned, resume=True))["status"] == "succeeded"


async def test_what_another_runner_has_done_meanwhile_stops_nothing(
    alice: Person, database: Database, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    begun = await begin(database, alice, planned)
    async with database.connection() as reading:
        promotion = await run.read_promotion(reading, account_id=alice.account.id, promotion_id=begun)
        found = await sandbox.get_plan(reading, account_id=alice.account.id, plan_id=promotion.plan_id)
    skipped: list[object] = []

    async def skip(*_: object, **named: object) -> None:
        skipped.append(named)

    monkeypatch.setattr(journal, "skip_steps", skip)
    await run._fail(database, found, promotion, {7: UNEXPECTED})  # of a batch that was done since
    assert skipped == []
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_a_resumed_promotion_keeps_to_max_total_for_what_is_left(
    alice: Person, conn: Conn, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}", note="x"))
    await begin(database, alice, planned)
    await alter(conn, alice, f"grace@{domain}")
    assert (await promote(alice, planned))["status"] == "failed"
    cheap = order(planned, resume=True, on_error="continue", max_total={"amount": "11.99", "currency": "USD"})
    answer = await alice.post(PROMOTE, json=cheap)
    assert (answer.status_code, answer.json()["code"]) == (409, "total_exceeded")
    enough = {"amount": "12.00", "currency": "USD"}
    promotion = await promote(alice, planned, resume=True, on_error="continue", max_total=enough)
    assert steps(promotion) == {"alias.ada": "succeeded", "alias.grace": "failed"}
