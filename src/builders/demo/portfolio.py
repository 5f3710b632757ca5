"""The demo portfolio: 200 domains with three years of costs and income, at dates relative to today."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib.resources import files
from io import StringIO
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.rows import RowOutcome
from builders.kit.sheets.sources import SentTable, Source, TableOptions
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.kit.values.patches import Changes
from builders.portfolio.domains import changes, lookups, names as portfolio_domain_names
from builders.portfolio.domains.records import NewDomain, Ownership, PortfolioDomainStatus, RenewalDecision
from builders.portfolio.finance import changes as finance_changes
from builders.portfolio.finance.records import FinanceChange
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import EntryKind, EntrySource, Installment, NewEntry
from builders.portfolio.parking import revenue, revenue_plans
from builders.portfolio.renewals import decisions
from builders.portfolio.renewals.records import DecisionPatch, DecisionRow

YEAR, MONTH = timedelta(days=365), timedelta(days=30)
PAID_BEFORE = timedelta(days=9)  # the expiry: a renewal
DAILY_REVENUE = 60  # days with daily parking revenue; earlier revenue is recorded by month
HISTORY = 36  # months
SNOOZED = timedelta(days=14)
DECISIONS: Mapping[str, DecisionPatch] = {
    "meadow-keeper.org": DecisionPatch(
        decision=RenewalDecision.RENEW, years=2, note="Two buyers sent an inquiry."
    ),
    "hazellibrary.net": DecisionPatch(decision=RenewalDecision.RENEW, years=1),
    "sageferry.com": DecisionPatch(decision=RenewalDecision.RENEW, years=1),
    "frostcanvas.eu": DecisionPatch(decision=RenewalDecision.DROP, note="No visits in a year."),
    "lantern-ferry.net": DecisionPatch(decision=RenewalDecision.DROP, note="Costs more than it is worth."),
}
SNOOZES = {"oakenfield.net": "Wait for the answer to the offer."}
_PARKING_HEADER = ("domain", "date", "revenue", "currency", "visits", "clicks", "provider")


@dataclass(frozen=True, slots=True)
class DemoDomain:
    """A line of `portfolio.csv`. Days are counted from today; an empty cell is absent."""

    cells: Mapping[str, str]
    today: date

    @property
    def name(self) -> str:
        """Return the A-label."""
        return self.cells["domain"]

    @property
    def acquired_on(self) -> date:
        """Return the day from which the domain is held."""
        return self.today - timedelta(days=int(self.cells["days_held"]))

    @property
    def expires_on(self) -> date:
        """Return the day on which the registration ends."""
        return self.today + timedelta(days=int(self.cells["days_to_expiry"]))

    @property
    def held_until(self) -> date:
        """Return the day of the sale, or today."""
        return self.today - timedelta(days=int(self.cells["sold"] or 0))

    def money(self, column: str) -> Money | None:
        """Return an amount in the currency of the domain."""
        amount = self.cells[column]
        return Money(Decimal(amount), self.cells["currency"]) if amount else None

    def new_domain(self) -> NewDomain:
        """Return the domain to add."""
        cells = self.cells
        share = cells["revenue_share"]
        return NewDomain(
            name=portfolio_domain_names.parse_name(self.name),
            status=PortfolioDomainStatus(cells["status"]),
            ownership=Ownership.CONSIGNED if share else Ownership.OWNED,
            counterparty=cells["counterparty"] or None,
            revenue_share=Decimal(share) if share else None,
            registrar=cells["registrar"],
            registered_on=self.acquired_on if cells["kind"] == EntryKind.REGISTRATION else None,
            acquired_on=self.acquired_on,
            expires_at=datetime.combine(self.expires_on, time(), UTC),
            auto_renew=cells["auto_renew"] == "true",
            locked=True,
            privacy=True,
            renewal_price=self.money("renewal_price"),
            asking_price=self.money("asking_price"),
            estimated_value=self.money("estimated_value"),
            tags=[each for each in cells["tags"].split("|") if each],
            folder=cells["folder"],
        )


def read_domains(today: date) -> Sequence[DemoDomain]:
    """Return the domains of the demo portfolio, with the days counted from a day."""
    text = (files("builders.demo") / "portfolio.csv").read_text(encoding="utf-8")
    return [DemoDomain(cells, today) for cells in csv.DictReader(StringIO(text, newline=""))]


async def add_portfolio(conn: Conn, *, account_id: UUID, has_costs: bool = True) -> bool:
    """Add the demo portfolio to an account, unless it has one of its domains; return whether it was added.

    Without costs it has only the income from sales, and the bills of registrars can be recorded. Needs a
    transaction. If two calls are concurrent, one adds the portfolio.
    """
    today = clock.now().date()
    rows = read_domains(today)
    names = [each.name for each in rows]
    if await lookups.load_domains(conn, account_id=account_id, names=names):
        return False
    new = [each.new_domain() for each in rows]
    written = await changes.add_domains(conn, account_id=account_id, new=new, uses_rdap=False)
    if any(each.outcome is not RowOutcome.CREATED for each in written):
        return False  # a concurrent call has added them
    if has_costs:
        await _record_costs(conn, account_id=account_id, rows=rows, ids=[each.id for each in written])
    for row in rows:
        if row.cells["sold"]:
            cells = row.cells
            gross = Money(Decimal(cells["sale"]), cells["currency"])
            count = int(cells["installments"] or 0)
            part = Money((gross.amount / max(count, 1)).quantize(Decimal("0.01")), gross.currency)
            change = FinanceChange(
                sale=Changes(
                    {
                        "gross": gross,
                        "sold_on": row.held_until,
                        "commission_rate": Decimal(cells["commission"]) if cells["commission"] else None,
                        "installments": [
                            Installment(money=part, on=on, received_on=on if on <= today else None)
                            for on in (row.held_until + MONTH * at for at in range(1, count))
                        ],
                        "venue": cells["venue"],
                    }
                )
            )
            await finance_changes.change_finance(
                conn, account_id=account_id, key=row.name, change=change, member_id=account_id
            )
    return True


async def add_decisions(conn: Conn, *, account_id: UUID) -> None:
    """Decide about some renewals of the demo portfolio; needs a transaction."""
    until = clock.now().date() + SNOOZED
    snoozes = {name: DecisionPatch(note=note, snooze_until=until) for name, note in SNOOZES.items()}
    rows = [
        DecisionRow(index=at, domain=name, patch=patch)
        for at, (name, patch) in enumerate({**DECISIONS, **snoozes}.items())
    ]
    await decisions.decide(conn, account_id=account_id, member_id=account_id, rows=rows)


async def find_start(conn: Conn, *, account_id: UUID) -> date | None:
    """Return the day that the dates of an account's demo portfolio are relative to; None without one.

    It is read from the days of purchase, since a sync with a registrar changes days of expiry.
    """
    rows = {each.name: each for each in read_domains(clock.now().date())}
    found = await lookups.load_domains(conn, account_id=account_id, names=[*rows])
    days = Counter(
        each.acquired_on + (rows[name].today - rows[name].acquired_on)
        for name, each in found.items()
        if each.acquired_on is not None
    )
    return next((day for day, _ in days.most_common(1)), None)


async def _record_costs(conn: Conn, *, account_id: UUID, rows: Sequence[DemoDomain], ids: Sequence[UUID]) -> None:
    """Record the costs of the domains, and the income from leases and parking."""
    entries = [entry for row, domain_id in zip(rows, ids, strict=True) for entry in list_entries(row, domain_id)]
    await ledger_entries.post_entries(conn, account_id=account_id, entries=entries)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_PARKING_HEADER)
    parked = [each for each in rows if each.cells["parking"]]
    for at, row in enumerate(parked):
        provider = ("bodis", "parkingcrew", "above.com")[at % 3]
        for number, (day, days) in enumerate(_list_reports(row)):
            amount = (
                Decimal(row.cells["parking"]) * days * (Decimal(70 + (at + number) * 37 % 61) / 100)
            ).quantize(Decimal("0.01"))
            visits = int(amount * 45) + 3 * days
            line = (row.name, day.isoformat(), amount, row.cells["currency"], visits, visits // 14, provider)
            writer.writerow(line)
    content = text.getvalue().encode()
    table = SentTable(source=Source.FILE, content=content, options=TableOptions())
    plan = await revenue_plans.plan_own_revenue(conn, account_id=account_id, table=table)
    await revenue.record_revenue(conn, account_id=account_id, plan=plan, member_id=account_id)


def list_entries(row: DemoDomain, domain_id: UUID) -> Iterator[NewEntry]:
    """Yield the costs of a domain and its lease payments, the newest of this month."""
    price, renewal_price, rent = row.money("price"), row.money("renewal_price"), row.money("lease")
    payments: list[tuple[EntryKind, Money, date]] = []
    if price is not None:
        payments.append((EntryKind(row.cells["kind"]), price, row.acquired_on))
    if renewal_price is not None:
        payments += ((EntryKind.RENEWAL, renewal_price, day) for day in list_renewals(row))
    if rent is not None:
        payments += ((EntryKind.LEASE_INCOME, rent, row.today - MONTH * at) for at in range(HISTORY // 2))
    for kind, money, day in payments:
        yield NewEntry(
            domain_id=domain_id,
            kind=kind,
            money=money,
            occurred_on=day,
            source=EntrySource.MANUAL,
            years=1 if kind in {EntryKind.REGISTRATION, EntryKind.RENEWAL} else None,
            registrar=row.cells["registrar"] if kind is EntryKind.RENEWAL else None,
        )


def list_renewals(row: DemoDomain) -> Iterator[date]:
    """Yield the days of the renewals that were paid, the newest first: one for each year that has begun."""
    paid_on = row.expires_on - YEAR - PAID_BEFORE
    while paid_on > row.acquired_on:
        if paid_on <= row.held_until:
            yield paid_on
        paid_on -= YEAR


def _list_reports(row: DemoDomain) -> Iterator[tuple[date, int]]:
    """Yield the days on which revenue was reported, and the number of days that each report covers."""
    for ago in range(1, DAILY_REVENUE + 1):
        yield row.today - timedelta(days=ago), 1
    for at in range(1, HISTORY):
        day = row.today - timedelta(days=DAILY_REVENUE) - MONTH * at
        if day > row.acquired_on:
            yield day, MONTH.days
