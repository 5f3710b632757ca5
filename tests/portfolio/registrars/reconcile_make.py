"""Portfolios and holdings of the tests, and the reports about them."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import NewDomain
from tests.cast import Client, Person
from tests.portfolio.parking.make import database_of

REPORT = "/v1/portfolio/registrars/reconcile"
CONNECTION = """
    INSERT INTO portfolio_registrars_connections (
        account_id, id, provider, name, environment, hints, is_enabled, sync_interval_hours, status, paced_until,
        version, created_at, updated_at
    ) VALUES (%(account_id)s, %(id)s, %(provider)s, %(name)s, 'live', '[]', %(is_enabled)s, %(hours)s, %(status)s,
              %(now)s, 1, %(now)s, %(now)s)
"""
SNAPSHOT = """
    INSERT INTO portfolio_registrars_snapshots (
        account_id, connection_id, provider, source, taken_at, is_complete, domains, last_complete_at
    ) VALUES (%(account_id)s, %(connection_id)s, %(provider)s, 'api', %(taken_at)s,
              %(complete_at)s::timestamptz IS NOT NULL, 0, %(complete_at)s)
"""
HOLDING = """
    INSERT INTO portfolio_registrars_holdings (
        account_id, connection_id, domain, provider, expires_at, auto_renew, locked, privacy, status,
        renewal_price, renewal_currency, source, listing_id, first_seen_at, last_seen_at, missing_since
    ) SELECT %(account_id)s, connection_id, %(domain)s, provider, %(expires_at)s, %(auto_renew)s, %(locked)s,
             %(privacy)s, %(status)s, %(price)s, %(currency)s, 'api', %(listing_id)s, taken_at, taken_at,
             %(missing_since)s
    FROM portfolio_registrars_snapshots
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
"""
_LISTED: dict[str, Any] = {
    "auto_renew": True,
    "locked": True,
    "privacy": True,
    "status": "active",
    "price": "10.00",
    "currency": "USD",
    "missing_since": None,
}


def ahead(days: float) -> datetime:
    return clock.now().replace(microsecond=0) + timedelta(days=days)


async def connect(
    person: Person,
    provider: str = "porkbun",
    *,
    listed_h: float | None = 1,
    complete_h: float | None = 1,
    **fields: Any,
) -> UUID:
    """Add a connection that was listed, and listed completely, so many hours ago; None: never."""
    now, connection_id = clock.now(), ids.new()
    row = {"name": "default", "is_enabled": True, "hours": 24, "status": "ok", **fields}
    row |= {"account_id": person.account.id, "id": connection_id, "provider": provider, "now": now}
    async with database_of(person).transaction() as conn:
        await conn.execute(CONNECTION, row)
        if listed_h is not None:
            times = {
                "taken_at": now - timedelta(hours=listed_h),
                "complete_at": None if complete_h is None else now - timedelta(hours=complete_h),
            }
            await conn.execute(SNAPSHOT, {**row, **times, "connection_id": connection_id})
    return connection_id


async def hold(person: Person, connection_id: UUID, *names: str, **fields: Any) -> None:
    """Let a registrar hold domains: active, locked, with auto-renew, for a year."""
    row = {**_LISTED, "expires_at": ahead(365), **fields}
    row |= {"account_id": person.account.id, "connection_id": connection_id, "listing_id": ids.NIL}
    async with database_of(person).transaction() as conn:
        for name in names:
            await conn.execute(HOLDING, {**row, "domain": name})


async def own(person: Person, *names: str, **fields: Any) -> dict[str, UUID]:
    """Add domains to the portfolio, as `hold` has them, since a week."""
    known: dict[str, Any] = {
        "registrar": "Porkbun",
        "expires_at": ahead(365),
        "auto_renew": True,
        "locked": True,
        "privacy": True,
        "renewal_price": Money.of("10.00", "USD"),
        "acquired_on": ahead(-7).date(),
        **fields,
    }
    new = [NewDomain(name=domain_names.parse_name(name), **known) for name in names]
    async with database_of(person).transaction() as conn:
        written = await changes.add_domains(conn, account_id=person.account.id, new=new)
    return {name: each.id for name, each in zip(names, written, strict=True)}


async def report(owner: Client, headers: Any = None, **query: Any) -> dict[str, Any]:
    answer = await owner.get(REPORT, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def named(found: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Severity, category and domain of the findings, in their order."""
    return [(each["severity"], each["category"], each["domain"]) for each in found["findings"]]


def finding(found: dict[str, Any], category: str) -> dict[str, Any]:
    [each] = [each for each in found["findings"] if each["category"] == category]
    return dict(each)
