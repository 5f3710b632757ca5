"""Partial promotions: failed steps have errors, others are executed or skipped, and all can be resumed."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.aliases import claims
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.kit.values.conflicts import ResourcesChanged
from builders.plans import planning, store
from builders.plans.promotion import run
from builders.plans.promotion.batches import UNEXPECTED
from tests.cast import Person
from tests.plans.make import (
    PROMOTE,
    Domains,
    Json,
    alias,
    apply,
    change_aliases,
    findings,
    list_events,
    make_addresses,
    plan,
    promote,
    promotion_request,
    start_promotion,
    step_statuses,
    suspend_aliases,
)

AFTER_RESERVATION = timedelta(minutes=15)


def errors(promotion: Json) -> dict[str, tuple[str, bool]]:
    """Return the code of each failed step, and whether it is retryable."""
    failed = [each for each in promotion["steps"] if each["error"]]
    return {each["address"]: (each["error"]["code"], each["error"]["retryable"]) for each in failed}


async def test_names_of_a_running_promotion_are_reserved_for_fifteen_minutes(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"norman@{domain}"))
    await start_promotion(database, alice, planned)
    wanted = (alias(f"ada@{domain}"), alias(f"norrnan@{domain}"))
    seen = {("alias.ada", "held"), ("alias.norrnan", "confusable")}
    assert findings((await plan(bob, *wanted))["errors"]) == seen
    with clock.moved(AFTER_RESERVATION):
        assert (await plan(bob, *wanted))["errors"] == []
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_continue_executes_the_other_steps(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    names = make_addresses(20, domain)
    planned = await plan(alice, *map(alias, names))
    await start_promotion(database, alice, planned, on_error="continue")
    clock.move(AFTER_RESERVATION)
    await apply(bob, alias(names[3]), alias(names[7]))
    promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["on_error"]) == ("partial", "continue")
    assert promotion["summary"] == {"succeeded": 18, "failed": 2}
    assert errors(promotion) == {"alias.name0003": ("taken", False), "alias.name0007": ("taken", False)}
    assert promotion["next_actions"] == ["replan", "confirm_destinations", "pay_invoices"]
    assert await promote(alice, planned) == promotion
    published = await list_events(conn, alice)
    assert [name for name, _ in published] == ["alias.created"] * 18 + ["promotion.failed"]
    assert {"succeeded": 18, "failed": 2, "skipped": 0}.items() <= published[-1][1].items()
    assert (await plan(alice, *map(alias, names)))["status"] == "blocked"


async def test_stop_skips_the_other_steps(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await start_promotion(database, alice, planned)
    clock.move(AFTER_RESERVATION)
    await apply(bob, alias(f"ada@{domain}"))
    promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["on_error"]) == ("failed", "stop")
    assert step_statuses(promotion) == {"alias.ada": "failed", "alias.grace": "skipped"}
    assert [name for name, _ in await list_events(conn, alice)] == ["promotion.failed"]


async def test_a_failed_update_prevents_deletions(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"), alias(f"linus@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", note="x"), alias(f"grace@{domain}", note="x"), prune=True)
    await start_promotion(database, alice, planned)
    await change_aliases(conn, alice, f"ada@{domain}")
    promotion = await promote(alice, planned)
    assert step_statuses(promotion) == {"alias.ada": "failed", "alias.grace": "skipped", "alias.linus": "skipped"}
    assert errors(promotion) == {"alias.ada": ("alias_changed", False)}


async def test_a_step_fails_if_its_key_was_taken(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    await apply(alice, alias(f"grace@{domain}", key="other"), name="other")
    planned = await plan(alice, alias(f"ada@{domain}", key="boss"), alias(f"linus@{domain}"))
    await start_promotion(database, alice, planned, on_error="continue")
    await conn.execute(
        "UPDATE aliases SET manifest = 'acme-mail', manifest_key = 'boss' WHERE account_id = %s",
        [alice.account.id],
    )
    promotion = await promote(alice, planned)
    assert step_statuses(promotion) == {"alias.boss": "failed", "alias.linus": "succeeded"}
    assert errors(promotion) == {"alias.boss": ("key_in_use", True)}


async def test_a_batch_with_an_unexplained_refusal_fails_and_can_be_resumed(
    alice: Person, conn: Conn, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise ResourcesChanged(frozenset({ids.new()}))

    await apply(alice, alias(f"grace@{domain}"))
    planned = await plan(
        alice, alias(f"ada@{domain}"), alias(f"linus@{domain}"), alias(f"grace@{domain}", note="x")
    )
    with monkeypatch.context() as patch:
        patch.setattr(claims, "create_aliases", refuse)
        promotion = await promote(alice, planned)
    assert (promotion["status"], promotion["next_actions"][:2]) == ("partial", ["resume", "replan"])
    assert step_statuses(promotion) == {"alias.ada": "failed", "alias.linus": "failed", "alias.grace": "succeeded"}
    assert errors(promotion) == {f"alias.{each}": ("unexpected", True) for each in ("ada", "linus")}
    assert "promotion.failed" in {name for name, _ in await list_events(conn, alice)}
    assert (await promote(alice, planned, resume=True))["status"] == "succeeded"


async def test_a_step_that_needs_the_key_of_a_failed_step_fails(
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
    await start_promotion(database, alice, planned, on_error="continue")
    await suspend_aliases(conn, alice, f"grace@{domain}")
    promotion = await promote(alice, planned)
    assert promotion["status"] == "failed"
    assert {address: code for address, (code, _) in errors(promotion).items()} == {
        "alias.three": "alias_changed",
        "alias.two": "key_in_use",
        "alias.one": "key_in_use",
    }


async def test_a_resumed_promotion_executes_the_remaining_steps(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    """A reservation of Bob blocks the name until it expires."""
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    bobs = await plan(bob, alias(f"ada@{domain}"))
    await start_promotion(database, alice, planned)
    clock.move(AFTER_RESERVATION)
    await start_promotion(database, bob, bobs)
    first = await promote(alice, planned)
    assert errors(first) == {"alias.ada": ("held", True)}
    assert (await promote(alice, planned)) == first
    clock.move(AFTER_RESERVATION)
    second = await promote(alice, planned, resume=True)
    assert (second["id"], second["status"]) == (first["id"], "succeeded")
    assert [each["attempts"] for each in second["steps"]] == [2, 1]
    assert await promote(alice, planned, resume=True) == second
    read = await alice.get(f"/v1/sandbox/plans/{planned['id']}")
    assert read.json()["status"] == "promoted"
    published = [name for name, _ in await list_events(conn, alice)]
    assert published == ["promotion.failed", "alias.created", "alias.created", "promotion.completed"]


async def test_a_resumed_promotion_reports_drift(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await start_promotion(database, alice, planned)
    clock.move(AFTER_RESERVATION)
    await apply(bob, alias(f"ada@{domain}"))
    first = await promote(alice, planned)
    answer = await alice.post(PROMOTE, json=promotion_request(planned, resume=True))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    assert findings(answer.json()["changed"]) == {("alias.ada", "taken")}
    assert await promote(alice, planned) == first
    second = await promote(alice, planned, resume=True, on_error="continue")
    assert step_statuses(second) == {"alias.ada": "failed", "alias.grace": "succeeded"}
    assert (second["status"], second["on_error"]) == ("partial", "continue")


async def test_a_promotion_is_not_resumed_at_an_outdated_price(
    alice: Person, bob: Person, database: Database, domains: Domains
) -> None:
    domain = await domains()
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await start_promotion(database, alice, planned)
    clock.move(AFTER_RESERVATION)
    await apply(bob, alias(f"ada@{domain}"))
    await promote(alice, planned)
    await domains(domain, price_amount="99.00")
    promotion = await promote(alice, planned, resume=True, on_error="continue")
    assert {address: code for address, (code, _) in errors(promotion).items()} == {
        "alias.ada": "taken",
        "alias.grace": "price_changed",
    }


async def test_a_resumed_promotion_reserves_its_names_again(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    bobs = await plan(bob, alias(f"ada@{domain}"))
    await start_promotion(database, alice, planned)
    clock.move(AFTER_RESERVATION)
    await start_promotion(database, bob, bobs)
    await promote(alice, planned)
    clock.move(AFTER_RESERVATION)
    await start_promotion(database, alice, planned, resume=True)
    assert findings((await plan(bob, alias(f"grace@{domain}")))["errors"]) == {("alias.grace", "held")}


async def test_an_expired_reservation_leaves_a_name_in_quarantine(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    """The end of a reservation does not end a longer quarantine."""
    await apply(alice, alias(f"ada@{domain}"))
    await apply(alice, prune=True)
    await start_promotion(database, alice, await plan(alice, alias(f"ada@{domain}")))
    clock.move(AFTER_RESERVATION)
    assert findings((await plan(bob, alias(f"ada@{domain}")))["errors"]) == {("alias.ada", "quarantined")}


async def test_a_failed_replacement_releases_nothing(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    planned = await plan(alice, alias(f"grace@{domain}", key="boss"))
    await start_promotion(database, alice, planned)
    clock.move(AFTER_RESERVATION)
    await apply(bob, alias(f"grace@{domain}"))
    assert (await promote(alice, planned))["status"] == "failed"
    assert (await plan(alice, alias(f"ada@{domain}", key="boss")))["status"] == "empty"


async def test_an_internal_error_fails_its_batch_and_blocks_no_other_promotion(
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


async def test_steps_of_a_concurrent_run_are_not_failed(
    alice: Person, database: Database, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    started = await start_promotion(database, alice, planned)
    async with database.connection() as reading:
        found = await planning.get_plan(reading, account_id=alice.account.id, plan_id=UUID(planned["id"]))
    skipped: list[object] = []

    async def skip(*_: object, **named: object) -> None:
        skipped.append(named)

    monkeypatch.setattr(store, "skip_steps", skip)
    await run._fail(database, found, started, {7: UNEXPECTED})  # of a batch that another run executed
    assert skipped == []
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_max_total_limits_the_remaining_steps_of_a_resumed_promotion(
    alice: Person, conn: Conn, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}", note="x"))
    await start_promotion(database, alice, planned)
    await change_aliases(conn, alice, f"grace@{domain}")
    assert (await promote(alice, planned))["status"] == "failed"
    cheap = promotion_request(
        planned, resume=True, on_error="continue", max_total={"amount": "11.99", "currency": "USD"}
    )
    answer = await alice.post(PROMOTE, json=cheap)
    assert (answer.status_code, answer.json()["code"]) == (409, "total_exceeded")
    enough = {"amount": "12.00", "currency": "USD"}
    promotion = await promote(alice, planned, resume=True, on_error="continue", max_total=enough)
    assert step_statuses(promotion) == {"alias.ada": "succeeded", "alias.grace": "failed"}
