"""A promotion that cannot be completed is abandoned; its account can promote again, and resuming completes it."""

from datetime import timedelta

import pytest

from builders.aliases import billing, claims
from builders.invoices.records import InvoiceStatus, Seller
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy
from builders.kit.values import clock, ids
from builders.kit.values.conflicts import ResourcesChanged
from builders.plans import jobs as plans_jobs
from builders.plans.promotion import run
from tests.cast import Person
from tests.plans.failures import FAIL_EVENT, FAIL_INVOICE, FailingCompletion, ResumingWorker
from tests.plans.make import (
    AFTER_COOLING_OFF,
    PROMOTE,
    YEAR,
    Domains,
    Json,
    alias,
    apply,
    findings,
    list_events,
    list_invoices,
    make_addresses,
    plan,
    promote,
    promotion_request,
    start_promotion,
    step_statuses,
)


async def read(person: Person, planned: Json) -> Json:
    """Return the current promotion of a plan."""
    answer = await person.post(PROMOTE, json=promotion_request(planned))
    assert answer.status_code == 200, answer.text
    promotion: Json = (await person.get(f"/v1/sandbox/promotions/{answer.json()['id']}")).json()
    return promotion


async def test_a_promotion_that_cannot_be_billed_is_abandoned_and_billed_when_resumed(
    alice: Person, bob: Person, conn: Conn, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    other = await plan(alice, alias(f"alan@{domain}"), name="other")
    async with failing(alice, FAIL_INVOICE):
        assert (await alice.post(PROMOTE, json=promotion_request(planned))).status_code == 500
        await worker.resume()
        for _ in range(plans_jobs.TRIES):
            refused = await alice.post(PROMOTE, json=promotion_request(other))
            assert (refused.status_code, refused.json()["code"]) == (409, "promotion_running")
            await worker.run_next_attempt(alice)
        abandoned = await read(alice, planned)
        assert (await promote(bob, await plan(bob, alias(f"linus@{domain}"))))["status"] == "succeeded"

    assert (abandoned["status"], abandoned["error"]["code"]) == ("partial", "ending_failed")
    assert (abandoned["summary"], abandoned["invoices"]) == ({"succeeded": 2}, [])
    assert abandoned["next_actions"][:2] == ["resume", "replan"]
    assert (await alice.get(f"/v1/sandbox/plans/{planned['id']}")).json()["status"] == "partial"
    assert (await promote(alice, other))["status"] == "succeeded"

    again = await promote(alice, planned, resume=True)
    assert (again["status"], again["error"], again["summary"]) == ("succeeded", None, {"succeeded": 2})
    assert [each["total"]["amount"] for each in again["invoices"]] == ["24.00"]
    assert [step["attempts"] for step in again["steps"]] == [1, 1]
    published = [name for name, _ in await list_events(conn, alice)]
    assert [name for name in published if name != "alias.created"] == [
        "promotion.failed",
        "promotion.completed",
        "promotion.completed",
    ]


async def test_a_promotion_that_cannot_publish_its_event_is_billed_once(
    alice: Person, bob: Person, conn: Conn, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    planned, bobs = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    async with failing(alice, FAIL_EVENT):
        assert (await alice.post(PROMOTE, json=promotion_request(planned))).status_code == 500
        await worker.run_last_attempt(alice)
        assert (await promote(bob, bobs))["status"] == "succeeded"
    abandoned = await read(alice, planned)
    assert (abandoned["status"], abandoned["error"]["code"]) == ("partial", "ending_failed")
    assert [each["total"]["amount"] for each in abandoned["invoices"]] == ["12.00"]
    again = await promote(alice, planned, resume=True)
    assert (again["status"], again["invoices"]) == ("succeeded", abandoned["invoices"])
    assert [name for name, _ in await list_events(conn, alice)] == ["alias.created", "promotion.completed"]


async def test_an_abandoned_promotion_releases_its_reserved_names(
    alice: Person,
    bob: Person,
    worker: ResumingWorker,
    failing: FailingCompletion,
    domain: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise ResourcesChanged(frozenset({ids.new()}))

    planned, bobs = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"ada@{domain}"))
    async with failing(alice, FAIL_EVENT):
        with monkeypatch.context() as patch:
            patch.setattr(claims, "create_aliases", refuse)
            assert (await alice.post(PROMOTE, json=promotion_request(planned))).status_code == 500
        assert (await bob.post(PROMOTE, json=promotion_request(bobs))).json()["code"] == "plan_stale"
        await worker.run_last_attempt(alice)
        assert (await promote(bob, bobs))["status"] == "succeeded"
    abandoned = await read(alice, planned)
    assert (abandoned["status"], abandoned["error"]["code"]) == ("failed", "ending_failed")
    assert (abandoned["steps"][0]["status"], abandoned["steps"][0]["error"]["code"]) == ("failed", "unexpected")
    refused = await alice.post(PROMOTE, json=promotion_request(planned, resume=True))
    assert (refused.status_code, refused.json()["code"]) == (409, "plan_stale")


@pytest.mark.parametrize("actions", ["[]", "[{}]"])
async def test_a_promotion_of_an_unreadable_plan_is_abandoned(
    alice: Person, bob: Person, database: Database, conn: Conn, worker: ResumingWorker, domain: str, actions: str
) -> None:
    planned, bobs = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    started = await start_promotion(database, alice, planned)
    await start_promotion(database, bob, bobs)
    await conn.execute("UPDATE plans SET actions = %s::jsonb WHERE id = %s", [actions, planned["id"]])
    await worker.run_last_attempt(alice)
    abandoned = (await alice.get(f"/v1/sandbox/promotions/{started}")).json()
    assert (abandoned["status"], abandoned["error"]["code"]) == ("failed", "ending_failed")
    assert step_statuses(abandoned) == {"alias.ada": "skipped"}
    assert (await read(bob, bobs))["status"] == "succeeded"
    assert (await promote(alice, await plan(alice, alias(f"alan@{domain}"))))["status"] == "succeeded"


async def test_a_large_promotion_is_abandoned(
    alice: Person, bob: Person, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    planned = await plan(alice, *map(alias, make_addresses(251, domain)))
    async with failing(alice, FAIL_INVOICE):
        assert (await alice.post(PROMOTE, json=promotion_request(planned))).json()["status"] == "running"
        await worker.run_last_attempt(alice)
        assert (await promote(bob, await plan(bob, alias(f"linus@{domain}"))))["status"] == "succeeded"
    abandoned = await read(alice, planned)
    assert (abandoned["status"], abandoned["summary"]) == ("partial", {"succeeded": 251})
    again = await promote(alice, planned, resume=True)
    assert (again["status"], [each["total"]["amount"] for each in again["invoices"]]) == ("succeeded", ["3012.00"])


async def test_a_busy_database_does_not_abandon_a_promotion(
    alice: Person,
    bob: Person,
    database: Database,
    worker: ResumingWorker,
    domain: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def busy(*_: object, **__: object) -> None:
        raise DatabaseBusy("Later.", retry_after=1)

    planned, bobs = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    started = await start_promotion(database, alice, planned)
    await start_promotion(database, bob, bobs)
    with monkeypatch.context() as patch:
        patch.setattr(run, "run_promotion", busy)
        await worker.run_last_attempt(alice)
    assert (await alice.get(f"/v1/sandbox/promotions/{started}")).json()["status"] == "running"
    await worker.resume()
    assert [(await read(person, each))["status"] for person, each in ((alice, planned), (bob, bobs))] == [
        "succeeded",
        "succeeded",
    ]


async def _claimed_but_not_billed(
    person: Person, worker: ResumingWorker, failing: FailingCompletion, address: str
) -> Json:
    """Claim a name with a promotion that was abandoned without an invoice; return its plan."""
    planned = await plan(person, alias(address))
    async with failing(person, FAIL_INVOICE):
        assert (await person.post(PROMOTE, json=promotion_request(planned))).status_code == 500
        await worker.run_last_attempt(person)
    return planned


async def test_a_name_reclaimed_before_its_invoice_is_billed_once(
    alice: Person, database: Database, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    planned = await _claimed_but_not_billed(alice, worker, failing, f"ada@{domain}")
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)

    back = await plan(alice, alias(f"ada@{domain}"))
    promotion = await promote(alice, back)
    await promote(alice, planned, resume=True)

    assert (back["actions"][0]["price"]["amount"], promotion["invoices"]) == ("0.00", [])
    (invoice,) = await list_invoices(database, alice)
    assert [str(each.amount) for each in invoice.lines] == ["12.00 USD"]
    (step,) = promotion["steps"]
    found = (await alice.get(f"/v1/aliases/{step['resource_id']}")).json()
    assert (str(invoice.lines[0].alias_id), found["status"]) == (step["resource_id"], "active")


async def test_an_unbilled_name_has_its_price_after_its_period(
    alice: Person, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    await _claimed_but_not_billed(alice, worker, failing, f"ada@{domain}")
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    clock.move(YEAR)
    assert (await plan(alice, alias(f"ada@{domain}")))["actions"][0]["price"]["amount"] == "12.00"


async def test_a_claim_undone_before_its_invoice_is_not_free(
    alice: Person, database: Database, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    planned = await _claimed_but_not_billed(alice, worker, failing, f"ada@{domain}")
    await apply(alice, prune=True)  # within the cooling-off period
    back = await plan(alice, alias(f"ada@{domain}"))
    assert back["actions"][0]["price"]["amount"] == "12.00"
    await promote(alice, back)
    await promote(alice, planned, resume=True)
    assert [each.status for each in await list_invoices(database, alice)] == [InvoiceStatus.OPEN]


async def test_a_plan_warns_about_an_unbilled_name(
    alice: Person, worker: ResumingWorker, failing: FailingCompletion, domain: str
) -> None:
    await _claimed_but_not_billed(alice, worker, failing, f"ada@{domain}")
    clock.move(AFTER_COOLING_OFF)
    released = await plan(alice, prune=True)
    (warning,) = released["warnings"]
    assert findings([warning]) == {("alias.ada", "period_not_refunded")}
    assert warning["until"] is not None


async def test_a_late_invoice_covers_only_the_first_period(
    alice: Person, database: Database, worker: ResumingWorker, failing: FailingCompletion, domains: Domains
) -> None:
    """The renewal has billed the next period."""
    name = await domains(price_interval="month")
    planned = await _claimed_but_not_billed(alice, worker, failing, f"ada@{name}")
    clock.move(timedelta(days=25))
    async with database.transaction() as conn:
        assert (
            await billing.renew_aliases(conn, account_id=alice.account.id, seller=Seller(name="Harbour Names Ltd"))
            == 1
        )
    await promote(alice, planned, resume=True)
    renewal, first = [line for each in await list_invoices(database, alice) for line in each.lines]
    assert first.period_end == renewal.period_start
