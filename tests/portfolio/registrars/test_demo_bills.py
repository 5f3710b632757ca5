"""The bills of the demo's registrars: each charge is booked on the domain that it is for, to the cent."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.demo.portfolio import add_portfolio
from builders.demo.registrars.fake import FakeServer
from builders.demo.registrars.fakes import make_fakes
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.portfolio.billing.bills import record_lines
from builders.portfolio.billing.records import Booking, ChargeSource, Origin
from builders.portfolio.domains import lookups
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.providers import ADAPTERS
from tests.cast import Person
from tests.demo.truth import TrueCharge, list_true_charges
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of
from tests.registrars.fakes import FAKES

BILLED = ("godaddy", "namecom", "namesilo", "ovh", "route53")
ENTRIES = """
    SELECT currency, sum(CASE kind WHEN 'refund' THEN -amount ELSE amount END) FROM portfolio_ledger_entries
    WHERE account_id = %s AND source = 'sync' AND voided_at IS NULL GROUP BY currency
"""
HISTORY = timedelta(days=1_200)
BOOKING = Booking(min_confidence=Decimal("0.80"))
Json = dict[str, Any]


class NoPace:
    async def acquire(self) -> None:
        return


async def record_bills(person: Person, fakes: FakeServer, outbound: Outbound, today: date) -> None:
    """Record what the adapters read of the bills."""
    account_id = person.account.sandbox_id
    for fake in make_fakes(today, kinds={name: FAKES[name] for name in BILLED}):
        connection = await connect(person, fake, fakes, is_sandbox=True)
        api = ApiClient(outbound=outbound, pace=NoPace(), base_url=fakes.add(fake))
        adapter = ADAPTERS[fake.provider](api, credentials=fake.credentials)
        pages = [page async for page in adapter.list_charges(since=today - HISTORY, until=today)]
        origin = Origin(
            provider=fake.provider,
            account=connection.name,
            connection_id=connection.id,
            source=ChargeSource.API,
            run_id=ids.new(),
        )
        lines = [line for page in pages for line in page]
        async with database_of(person).transaction() as conn:
            await record_lines(conn, account_id=account_id, lines=lines, origin=origin, booking=BOOKING)


async def list_charges(person: Person) -> Sequence[Json]:
    """Return all charges."""
    charges, cursor = list[Json](), None
    while True:
        query = {"limit": 1_000} | ({} if cursor is None else {"cursor": cursor})
        answer = await person.test.get(f"{REGISTRARS}/billing/charges", params=query)
        assert answer.status_code == 200, answer.text
        charges += answer.json()["items"]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return charges


async def test_each_charge_is_booked_on_the_domain_that_it_is_for(
    alice: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    today, account_id = clock.now().date(), alice.account.sandbox_id
    truth = {(each.provider, each.order_id, each.line_id): each for each in list_true_charges(today)}
    async with database_of(alice).transaction() as conn:
        await add_portfolio(conn, account_id=account_id, has_costs=False)
        names = sorted({name for each in truth.values() for name in each.domains})
        owned = await lookups.load_domains(conn, account_id=account_id, names=names)

    await record_bills(alice, fakes, outbound, today)

    charges = await list_charges(alice)
    by_id = {str(each.id): name for name, each in owned.items()}
    lines = {each["id"]: truth[each["provider"], each["order_id"], each["line_id"]] for each in charges}
    booked = {each["id"]: by_id[each["match"]["domain_id"]] for each in charges if each["state"] == "applied"}
    assert [name for name in booked.items() if name[1] not in lines[name[0]].domains] == []
    left = [each for each in charges if each["id"] not in booked and is_for_one(each, lines[each["id"]], owned)]
    assert len(charges) > 950
    assert len(booked) > 500
    assert len(left) < 0.05 * len(charges)
    assert sum_charges(charges) == sum_truth(truth.values())
    applied = sum_charges(each for each in charges if each["id"] in booked)
    assert await sum_entries(alice, account_id) == applied
    assert applied.keys() == {"EUR", "GBP", "USD"}


def is_for_one(charge: Json, line: TrueCharge, owned: Mapping[str, object]) -> bool:
    """Return whether a charge is for a domain of the portfolio."""
    named = {charge["domain"]} if charge["domain"] in line.domains else {*line.domains}
    return not owned.keys().isdisjoint(named)


def sum_charges(charges: Iterable[Json]) -> Mapping[str, Decimal]:
    sums = defaultdict[str, Decimal](Decimal)
    for each in charges:
        sums[each["total"]["currency"]] += Decimal(each["total"]["amount"])
    return sums


def sum_truth(truth: Iterable[TrueCharge]) -> Mapping[str, Decimal]:
    sums = defaultdict[str, Decimal](Decimal)
    for each in truth:
        sums[each.currency] += each.total
    return sums


async def sum_entries(person: Person, account_id: UUID) -> Mapping[str, Decimal]:
    """Return what the ledger has of the bills."""
    async with database_of(person).connection() as conn:
        rows = await conn.execute(ENTRIES, [account_id])
        return dict(await rows.fetchall())
