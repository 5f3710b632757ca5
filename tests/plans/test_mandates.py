"""A machine promotes a plan within its mandate, whoever made it: effects, amounts, and a person's approval."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from builders.aliases import billing
from builders.app import Service, create_app, lifespan
from builders.identity import keys, mandates
from builders.identity.records import ConnectionSpec, KeyKind, Preset
from builders.invoices.records import Seller
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.mandates import MANDATE, MandateExceeded
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from tests.cast import Person, replaced
from tests.identity.make import PATH
from tests.mandates import FREE, Machine, confirm, machine, reason, refused, send, usd
from tests.plans.approval.make import decide
from tests.plans.make import (
    Domains,
    Json,
    alias,
    apply,
    full_manifest,
    make_addresses,
    plan,
    plan_manifest,
    webhook,
)

MACHINES = "/v1/account/machines"


async def spent(person: Person) -> list[Json]:
    found: list[Json] = (await person.get(MACHINES)).json()["spent"]
    return found


async def test_a_machine_promotes_a_plan_of_another_key(alice: Person, domain: str) -> None:
    agent = await machine(alice)
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert answer.json()["status"] == "succeeded"


async def test_a_plan_may_cost_what_the_mandate_says(alice: Person, domain: str) -> None:
    agent = await machine(alice, max_total_per_plan=usd("12.00"), max_total_per_30_days=usd("12.00"))
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert answer.json()["status"] == "succeeded"


@pytest.mark.parametrize("limit", ["max_total_per_plan", "max_total_per_30_days"])
async def test_a_plan_that_costs_a_cent_more_is_refused(alice: Person, domain: str, limit: str) -> None:
    mandate: Json = {limit: usd("11.99")}
    agent = await machine(alice, **mandate)
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert reason(answer) == refused("max_total")


async def test_a_currency_that_is_not_listed_is_zero(alice: Person, domains: Domains) -> None:
    agent = await machine(alice)
    in_euros = await domains(price_currency="EUR")
    assert reason(await send(agent, await plan(alice, alias(f"ada@{in_euros}")))) == refused("max_total")


async def test_each_currency_has_its_amount(alice: Person, domain: str, domains: Domains) -> None:
    both = [*usd("12.00"), {"amount": "12.00", "currency": "EUR"}]
    agent = await machine(alice, max_total_per_plan=both, max_total_per_30_days=both)
    in_euros = await domains(price_currency="EUR")
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"ada@{in_euros}", key="euro"))
    assert (await send(agent, planned)).json()["status"] == "succeeded"


async def test_a_refused_plan_counts_nothing(alice: Person, domain: str) -> None:
    agent = await machine(alice, max_total_per_plan=usd("11.99"))
    await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert await spent(alice) == []


async def test_plans_of_30_days_are_added_up(alice: Person, domain: str) -> None:
    agent = await machine(alice, max_total_per_30_days=usd("23.99"))
    await send(agent, await plan(alice, alias(f"ada@{domain}"), name="first"))
    answer = await send(agent, await plan(alice, alias(f"bob@{domain}"), name="second"))
    assert reason(answer) == refused("max_total")


@pytest.mark.parametrize(
    ("passed", "expected"), [(timedelta(days=30), 200), (timedelta(days=30, seconds=-2), 403)]
)
async def test_the_month_is_the_last_30_days(alice: Person, domain: str, passed: timedelta, expected: int) -> None:
    agent = await machine(alice, max_total_per_30_days=usd("12.00"))
    await send(agent, await plan(alice, alias(f"ada@{domain}"), name="first"))
    clock.move(passed)
    assert (await send(agent, await plan(alice, alias(f"bob@{domain}"), name="second"))).status_code == expected


async def test_a_rotated_key_continues_the_sum(alice: Person, domain: str) -> None:
    agent = await machine(alice, max_total_per_30_days=usd("12.00"))
    await send(agent, await plan(alice, alias(f"ada@{domain}"), name="first"))
    rotated = (await alice.post(f"{PATH}/{agent.key_id}/rotate", json={"overlap_hours": 0})).json()
    again = Machine(alice, rotated["secret"], rotated["id"])
    answer = await send(again, await plan(alice, alias(f"bob@{domain}"), name="second"))
    assert reason(answer) == refused("max_total")


async def test_a_release_gives_nothing_back(alice: Person, domain: str) -> None:
    agent = await machine(alice, max_total_per_30_days=usd("12.00"))
    promotion = (await send(agent, await plan(alice, alias(f"ada@{domain}")))).json()
    released = await alice.delete(f"/v1/aliases/{promotion['steps'][0]['resource_id']}")
    assert released.json()["claim_undone"]
    answer = await send(agent, await plan(alice, alias(f"bob@{domain}"), name="second"))
    assert reason(answer) == refused("max_total")


async def test_a_repeated_request_counts_once(alice: Person, domain: str) -> None:
    agent = await machine(alice)
    planned = await plan(alice, alias(f"ada@{domain}"))
    for _ in range(2):
        await send(agent, planned)
    assert await spent(alice) == usd("12.00")


async def test_a_plan_without_a_cost_needs_no_amount(alice: Person, domains: Domains) -> None:
    free = await domains(price_amount="0.00")
    agent = await machine(alice, max_total_per_plan=[], max_total_per_30_days=[])
    answer = await send(agent, await plan(alice, alias(f"ada@{free}")))
    assert answer.json()["status"] == "succeeded"


async def removal(alice: Person, domain: str) -> Json:
    """Return a plan that deletes a name."""
    await apply(alice, alias(f"ada@{domain}"), alias(f"bob@{domain}"))
    return await plan(alice, alias(f"ada@{domain}"), prune=True)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"deletes_per_plan": 1, "deletes_per_30_days": 1}, 200),
        ({"deletes_per_plan": 0}, 403),
        ({"deletes_per_30_days": 0}, 403),
    ],
    ids=str,
)
async def test_a_plan_deletes_as_much_as_the_mandate_says(
    alice: Person, domain: str, limits: Json, expected: int
) -> None:
    agent = await machine(alice, **limits)
    assert (await send(agent, await removal(alice, domain))).status_code == expected


async def test_deletions_of_plans_and_of_requests_are_added_up(alice: Person, domain: str) -> None:
    agent = await machine(alice, deletes_per_30_days=1)
    await agent.delete(f"{PATH.replace('api-keys', 'aliases')}/{alice.account.id}")
    assert reason(await send(agent, await removal(alice, domain))) == refused("deletes")


@pytest.mark.parametrize("toolsets", [["plans"], ["plans", "api"]], ids=str)
async def test_a_plan_needs_the_toolset_of_each_kind(alice: Person, domain: str, toolsets: list[str]) -> None:
    agent = await machine(alice, toolsets=toolsets)
    assert reason(await send(agent, await plan(alice, alias(f"ada@{domain}")))) == refused("toolset")


async def test_a_new_destination_needs_a_person_under_the_policy_never(alice: Person, domain: str) -> None:
    agent = await machine(alice, outward=False)
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert reason(answer)[:2] == (403, "approval_required")
    assert answer.json()["rules"] == ["outward"]


async def test_a_person_sees_what_is_asked_and_approves_it(alice: Person, domain: str) -> None:
    agent = await machine(alice, outward=False)
    planned = await plan(alice, alias(f"ada@{domain}"))
    await send(agent, planned)
    shown = (await alice.get(f"/v1/sandbox/plans/{planned['id']}")).json()["approval"]
    assert [each["rule"] for each in shown["rules"]] == ["outward"]
    assert (await decide(alice, planned))["state"] == "approved"
    assert (await send(agent, planned)).json()["status"] == "succeeded"


async def test_an_outward_plan_starts_when_a_person_approves_it(
    alice: Person, domain: str, database: Database
) -> None:
    agent = await machine(alice, outward=False)
    planned = await plan(alice, alias(f"ada@{domain}"))
    waiting = (await send(agent, planned, when_approved=True)).json()
    assert waiting["status"] == "waiting"
    await decide(alice, planned)
    await queue.run_pending(database, alice.service.api.state.settings)
    assert (await alice.get(f"/v1/sandbox/promotions/{waiting['id']}")).json()["status"] == "succeeded"


async def test_another_key_promotes_what_a_machine_asks_for(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await send(await machine(alice, outward=False), planned)
    assert (await send(alice, planned)).json()["status"] == "succeeded"


async def test_a_confirmed_destination_is_not_new(alice: Person, domain: str, conn: Conn) -> None:
    await apply(alice, alias(f"bob@{domain}"), name="first")
    await confirm(conn, alice)
    agent = await machine(alice, outward=False)
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert answer.json()["status"] == "succeeded"


async def test_the_address_of_the_account_is_not_new(alice: Person, domain: str) -> None:
    agent = await machine(alice, outward=False)
    answer = await send(agent, await plan(alice, alias(f"ada@{domain}", alice.account.email)))
    assert answer.json()["status"] == "succeeded"


async def test_a_host_of_an_enabled_webhook_is_not_new(alice: Person) -> None:
    agent = await machine(alice, outward=False)
    planned = await plan_manifest(alice, full_manifest(webhooks=[webhook("one")]))
    assert reason(await send(agent, planned))[1] == "approval_required"
    await send(alice, planned)
    again = await plan_manifest(alice, full_manifest("other", webhooks=[webhook("two")]))
    assert (await send(agent, again)).json()["status"] == "succeeded"


async def test_a_catch_all_is_new(alice: Person, own: str) -> None:
    agent = await machine(alice, outward=False)
    settings = {"domain": own, "catch_all": True, "default_destination": alice.account.email}
    planned = await plan_manifest(alice, full_manifest(domains=[{"key": "own", **settings}], on_conflict="adopt"))
    assert reason(await send(agent, planned))[1] == "approval_required"


async def test_the_policy_can_require_an_approval_of_what_is_new(alice: Person, domain: str) -> None:
    async with alice.browser() as browser:
        policy = {"require": "when", "when": {"outward": True}}
        assert (await browser.put("/v1/sandbox/approval-policy", json=policy)).status_code == 200
    answer = await send(alice, await plan(alice, alias(f"ada@{domain}")))
    assert answer.json()["rules"] == ["outward"]


async def waiting_promotion(alice: Person, agent: Person, domain: str) -> tuple[Json, str]:
    planned = await plan(alice, alias(f"ada@{domain}"))
    answer = (await send(agent, planned, when_approved=True)).json()
    return planned, answer["id"]


async def test_the_mandate_is_applied_again_when_a_waiting_promotion_starts(
    alice: Person, domain: str, database: Database
) -> None:
    agent = await machine(alice, outward=False, max_total_per_30_days=usd("12.00"))
    planned, waiting = await waiting_promotion(alice, agent, domain)
    other = await plan(alice, alias(f"bob@{domain}", alice.account.email), name="other")
    assert (await send(agent, other)).json()["status"] == "succeeded"
    await decide(alice, planned)
    await queue.run_pending(database, alice.service.api.state.settings)
    ended = (await alice.get(f"/v1/sandbox/promotions/{waiting}")).json()
    assert (ended["status"], ended["error"]["code"]) == ("failed", "mandate_exceeded")


async def test_the_mandate_is_applied_again_to_a_resumed_promotion(alice: Person, domain: str, conn: Conn) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"))
    await conn.execute("UPDATE plans_promotions SET status = 'partial' WHERE id = %s", (promotion["id"],))
    await conn.execute("UPDATE plans SET status = 'partial' WHERE id = %s", (promotion["plan_id"],))
    planned = (await alice.get(f"/v1/sandbox/plans/{promotion['plan_id']}")).json()
    agent = await machine(alice, max_total_per_plan=usd("11.99"))
    assert reason(await send(agent, planned, resume=True)) == refused("max_total")


async def set_limit(alice: Person, limit: Any) -> Json:
    async with alice.browser() as browser:
        answer = await browser.put(MACHINES, json={"max_total_per_30_days": limit})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_one_limit_bounds_all_machines(alice: Person, domain: str) -> None:
    await set_limit(alice, usd("23.99"))
    await send(await machine(alice), await plan(alice, alias(f"ada@{domain}"), name="first"))
    answer = await send(await machine(alice), await plan(alice, alias(f"bob@{domain}"), name="second"))
    assert reason(answer) == refused("machines")


async def test_the_limit_of_all_machines_is_taken_away(alice: Person, domain: str) -> None:
    await set_limit(alice, [])
    await set_limit(alice, None)
    answer = await send(await machine(alice), await plan(alice, alias(f"ada@{domain}")))
    assert answer.json()["status"] == "succeeded"


async def test_no_key_sets_the_limit_of_all_machines(alice: Person) -> None:
    answer = await alice.put(MACHINES, json={"max_total_per_30_days": None})
    assert reason(answer)[:2] == (403, "person_required")


async def test_the_operator_bounds_the_machines_of_each_account(
    alice: Person, domain: str, service: Service
) -> None:
    agent = await machine(alice)
    bound = service.api.state.settings.model_copy(update={"machines_max_total": (Money.of("11.99", "USD"),)})
    with replaced(service, settings=bound):
        answer = await send(agent, await plan(alice, alias(f"ada@{domain}")))
    assert reason(answer) == refused("operator")


async def test_another_account_sees_nothing_of_the_machines(alice: Person, bob: Person, domain: str) -> None:
    await send(await machine(alice), await plan(alice, alias(f"ada@{domain}")))
    assert await spent(bob) == []


@pytest.fixture
async def other_process(alice: Person, settings: Settings) -> AsyncIterator[Person]:
    """Return Alice as a client of a second process."""
    app = create_app(settings)
    async with lifespan(app.api):
        yield Person(app, account=alice.account, name="alice", preset=Preset.DEVELOPER_FULL, live=alice.key)


async def test_twenty_promotions_at_once_keep_the_sum(alice: Person, domain: str, other_process: Person) -> None:
    """Two processes, and two credentials of one client."""
    agent = await machine(alice, max_total_per_30_days=usd("120.00"))
    rotated = (await alice.post(f"{PATH}/{agent.key_id}/rotate", json={})).json()
    agents = [agent, Machine(other_process, rotated["secret"], rotated["id"])]
    left = [
        await plan(alice, alias(address), name=f"plan-{at}")
        for at, address in enumerate(make_addresses(20, domain))
    ]
    outcomes = Counter[str]()
    for _ in range(20):  # each time at least one of them starts or is refused
        answers = await asyncio.gather(*(send(agents[at % 2], each) for at, each in enumerate(left)))
        bodies = [each.json() for each in answers]
        outcomes.update(
            each.get("reason") or each["status"] for each in bodies if "type" not in each or "reason" in each
        )
        left = [each for each, body in zip(left, bodies, strict=True) if body.get("code") == "promotion_running"]
        if not left:
            break
    assert outcomes == {"succeeded": 10, "max_total": 10}
    assert await spent(alice) == usd("120.00")


async def test_a_client_that_connects_again_continues_its_sum(alice: Person, database: Database) -> None:
    spec = ConnectionSpec(
        label="Laptop",
        kind=KeyKind.LIVE,
        client="https://client.example/metadata",
        client_name="Client",
        mandate=MANDATE.validate_python({**FREE, "max_total_per_30_days": usd("12.00")}),
        expires_at=clock.now() + timedelta(days=30),
    )
    due: Mapping[str, Money] = {"USD": Money.of("12.00", "USD")}
    for is_allowed in (True, False):
        async with database.transaction() as conn:
            made = await keys.create_connection(conn, account_id=alice.account.id, spec=spec, actor=OPERATOR)
            spender = await keys.find_spender(conn, account_id=alice.account.id, actor=keys.actor_of(made))
            assert spender is not None
            if is_allowed:
                await mandates.use(conn, spender=spender, subject=ids.new(), due=due)
                await keys.revoke_all(conn, account_id=alice.account.id, actor=OPERATOR)
                continue
            with pytest.raises(MandateExceeded):
                await mandates.use(conn, spender=spender, subject=ids.new(), due=due)


async def test_a_year_of_monthly_names_counts_each_renewal(
    alice: Person, domains: Domains, database: Database
) -> None:
    monthly = await domains(price_amount="1.00", price_interval="month")
    agent = await machine(alice, max_total_per_30_days=usd("1.00"))
    await send(agent, await plan(alice, alias(f"ada@{monthly}")))
    await apply(alice, alias(f"bob@{monthly}"), name="not-under-a-mandate")
    found = []
    for _ in range(12):
        clock.move(timedelta(days=31))
        async with database.transaction() as conn:
            await billing.renew_aliases(conn, account_id=alice.account.id, seller=Seller(name="Harbour Names Ltd"))
        found.append(await spent(alice))
    assert found == [usd("1.00")] * 12


async def test_renewals_leave_less_for_plans(alice: Person, domains: Domains, database: Database) -> None:
    monthly = await domains(price_amount="1.00", price_interval="month")
    agent = await machine(alice, max_total_per_30_days=usd("1.99"))
    await send(agent, await plan(alice, alias(f"ada@{monthly}")))
    clock.move(timedelta(days=31))
    async with database.transaction() as conn:
        await billing.renew_aliases(conn, account_id=alice.account.id, seller=Seller(name="Harbour Names Ltd"))
    answer = await send(agent, await plan(alice, alias(f"bob@{monthly}"), name="second"))
    assert reason(answer) == refused("max_total")


async def test_stopping_all_machines_ends_waiting_promotions(alice: Person, domain: str) -> None:
    agent = await machine(alice, outward=False)
    _, waiting = await waiting_promotion(alice, agent, domain)
    async with alice.browser() as browser:
        assert (await browser.delete(PATH)).status_code == 200
        ended = (await browser.get(f"/v1/sandbox/promotions/{waiting}")).json()
    assert (ended["status"], ended["error"]["code"]) == ("failed", "machines_stopped")


async def test_no_promotion_starts_after_all_machines_were_stopped(
    alice: Person, domain: str, database: Database
) -> None:
    agent = await machine(alice)
    plans = [
        await plan(alice, alias(address), name=f"plan-{at}")
        for at, address in enumerate(make_addresses(20, domain))
    ]
    count = "SELECT count(*) FROM plans_promotions WHERE account_id = %s"

    async def stop() -> int:
        async with alice.browser() as browser:
            assert (await browser.delete(PATH)).status_code == 200
        async with database.connection() as conn:
            found = await (await conn.execute(count, (alice.account.id,))).fetchone()
        assert found is not None
        return int(found[0])

    started, *answers = await asyncio.gather(stop(), *(send(agent, each) for each in plans))
    assert {each.status_code for each in answers} <= {200, 401, 409}
    async with database.connection() as conn:
        assert await (await conn.execute(count, (alice.account.id,))).fetchone() == (started,)
