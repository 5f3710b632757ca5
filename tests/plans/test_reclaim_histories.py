"""No history of claims, releases and payments bills a period of a name twice."""

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import example, given, strategies as st

from builders.aliases import billing
from builders.invoices import invoices, payments
from builders.invoices.records import CreditKind, Invoice, InvoiceStatus, Line, Seller
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.kit.values.money import Money
from tests.cast import Person
from tests.conftest import MakePerson
from tests.invoices.make import usd
from tests.plans.make import Domains, Json, alias, list_invoices, plan, promote
from tests.random_cases import cases
from tests.worker import Worker

NAMES = ("ada", "grace")
STEPS = ("claim", "claim_both", "release", "release_by_hand", "pay", "void", "wait")
TIMES = (timedelta(hours=1), timedelta(hours=25), timedelta(days=20), timedelta(days=45), timedelta(days=345))
HISTORY = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, len(TIMES) - 1)), min_size=2, max_size=9)


@pytest.fixture(autouse=True)
async def _without_other_invoices(conn: Conn) -> None:
    """Make the open invoices of other tests uncollectible."""
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


@dataclass
class History:
    """An account with two names, and its payments."""

    person: Person
    database: Database
    event_worker: Worker
    domain: str
    paid: Money = field(default_factory=lambda: usd("0.00"))

    async def take(self, step: str, choice: int) -> None:
        """Execute one step; skip it if it is impossible now."""
        name = NAMES[choice % len(NAMES)]
        match step:
            case "claim":
                await self._apply(name, name)
            case "claim_both":
                await self._apply("both", *NAMES)
            case "release":
                await self._apply(name)
                await self._apply("both")
            case "release_by_hand":
                await self._release(name)
            case "wait":
                await self._wait(TIMES[choice])
            case _:
                await self._settle(step, choice)

    async def _apply(self, manifest: str, *names: str) -> None:
        wanted = [alias(f"{each}@{self.domain}") for each in names]
        planned = await plan(self.person, *wanted, name=manifest, prune=True, on_conflict="adopt")
        if planned["promotable"] and planned["status"] != "empty":
            self._compare(planned, await promote(self.person, planned))

    def _compare(self, planned: Json, promotion: Json) -> None:
        """Assert that the invoices have the price of the plan."""
        assert promotion["status"] == "succeeded"
        asked = [each["year"] for each in planned["totals"]]
        assert asked == [each["total"] for each in promotion["invoices"]]

    async def _release(self, name: str) -> None:
        found = (await self.person.get("/v1/aliases", params={"q": f"{name}@"})).json()["items"]
        for each in found:
            assert (await self.person.delete(f"/v1/aliases/{each['id']}")).status_code == 200

    async def _wait(self, time: timedelta) -> None:
        clock.move(time)
        async with self.database.transaction() as conn:
            await billing.renew_aliases(
                conn, account_id=self.person.account.id, seller=Seller(name="Harbour Names Ltd")
            )
        await invoices.advance(self.database)
        await self.event_worker.work()

    async def _settle(self, step: str, choice: int) -> None:
        unpaid = [
            each
            for each in await list_invoices(self.database, self.person)
            if each.status in {InvoiceStatus.OPEN, InvoiceStatus.UNCOLLECTIBLE}
        ]
        if not unpaid:
            return
        invoice = unpaid[choice % len(unpaid)]
        owner: dict[str, Any] = {"account_id": invoice.account_id, "invoice_id": invoice.id}
        async with self.database.transaction() as conn:
            if step == "pay":
                await payments.pay(conn, **owner, method="transfer", reference=uuid4().hex)
                self.paid += invoice.amount_due
            else:
                await payments.void(conn, **owner)
        await self.event_worker.work()

    async def check(self) -> None:
        """Assert that no period is charged twice, that invoices add up, and that no money is lost."""
        found = await list_invoices(self.database, self.person)
        charged = [line for each in found if each.status is not InvoiceStatus.VOID for line in each.lines]
        for name in NAMES:
            own = [each for each in charged if each.description.startswith(f"{name}@") and not each.credited_at]
            self._check_apart(sorted(own, key=lambda line: line.period_start))
        for each in found:
            zero = Money.zero(each.currency)
            assert each.total == sum((line.amount + line.tax_amount for line in each.lines), zero)
        await self._check_money(found, charged)

    def _check_apart(self, lines: list[Line]) -> None:
        for before, after in pairwise(lines):
            assert before.period_end is not None
            assert before.period_end <= after.period_start, lines

    async def _check_money(self, found: list[Invoice], charged: list[Line]) -> None:
        async with self.database.connection() as conn:
            credit = await payments.get_credit(conn, account_id=self.person.account.id, limit=500)
        zero = usd("0.00")
        held = sum(
            (each.credit_applied + each.amount_paid for each in found if each.status is not InvoiceStatus.VOID),
            zero,
        )
        returned = sum((each.amount + each.tax_amount for each in charged if each.credited_at), zero)
        assert sum(credit.balances, zero) + held - returned == self.paid
        of = [each.reason for each in credit.entries if each.kind is CreditKind.RETURNED]
        assert len(of) == len(set(of))  # no period twice


@cases(3)
@example([("claim_both", 0), ("pay", 0), ("release_by_hand", 0), ("claim", 0), ("release", 0), ("claim", 0)])
@example([("claim", 0), ("wait", 1), ("wait", 4), ("pay", 0), ("release", 0), ("claim", 0), ("wait", 1)])
@example([("claim", 0), ("wait", 3), ("pay", 0), ("claim", 0), ("release", 0), ("claim", 0)])
@given(history=HISTORY)
async def test_no_period_is_billed_twice(
    people: MakePerson,
    database: Database,
    event_worker: Worker,
    domains: Domains,
    history: list[tuple[str, int]],
) -> None:
    published = History(
        person=await people("carol"), database=database, event_worker=event_worker, domain=await domains()
    )
    for step, choice in history:
        await published.take(step, choice)
    await published.check()
