"""Transfers of the tests."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from builders.demo.registrars.fake import FakeAccount, FakeDomain, FakeServer
from builders.kit.values import clock, ids
from builders.portfolio.domains import changes, names
from builders.portfolio.domains.records import Domain, NewDomain
from builders.portfolio.registrars.records import TransferDirection, TransferState
from builders.portfolio.transfers import states
from builders.portfolio.transfers.records import (
    CodeDelivery,
    CodeRequest,
    FactSource,
    Move,
    TimeFact,
    TransferFacts,
)
from tests.cast import Client, Person
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.registrars.make import connect, database_of
from tests.registrars.fakes import FAKES

PLANTED = "Planted-Auth-Code-7Qx"  # is looked for where it must not be
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DOMAIN = Domain(
    id=ids.new(),
    domain="harbour.com",
    unicode="harbour.com",
    tld="com",
    lifecycle=None,
    created_at=NOW,
    updated_at=NOW,
)
OLD = TimeFact(at=NOW - 900 * DAY, known_from=FactSource.RDAP)
FREE = TransferFacts(tld="com", created=OLD, is_unlocked=True)
OUT, IN = TransferDirection.OUT, TransferDirection.IN
REQUEST = CodeRequest(requested_at=NOW - DAY, delivery=CodeDelivery.RETURNED)


def move(
    state: TransferState,
    direction: TransferDirection = OUT,
    provider: str | None = "gandi",
    started_at: datetime | None = NOW - 2 * DAY,
    ended_at: datetime | None = None,
) -> Move:
    return Move(
        direction=direction,
        state=state,
        status_raw=state,
        provider=provider,
        started_at=started_at,
        ended_at=ended_at,
    )


def merged(
    before: Move | None,
    said: Move | None,
    *,
    domain: Domain = DOMAIN,
    code: CodeRequest | None = None,
    now: datetime = NOW,
) -> Move | None:
    return states.merge_move(before, said, domain=domain, code=code, now=now)


async def add_held(
    person: Person,
    fakes: FakeServer,
    provider: str = "spaceship",
    domain: str = "harbour.com",
    *,
    locked: bool = True,
) -> FakeAccount:
    """Add a domain that a connected fake holds; return the account there."""
    now = clock.now()
    made = FakeDomain(
        domain=domain, created_at=now - 900 * DAY, expires_at=now + 90 * DAY, auth_code=PLANTED, locked=locked
    )
    account = FakeAccount(domains=[made])
    connection = await connect(person, FAKES[provider](account), fakes)
    async with database_of(person).transaction() as conn:
        new = NewDomain(name=names.parse_name(domain), connection_id=connection.id)
        await changes.add_domains(conn, account_id=person.account.id, new=[new])
    return account


async def report(person: Client, domain: str = "harbour.com", headers: Any = None, **query: Any) -> dict[str, Any]:
    answer = await person.get(f"{DOMAINS}/{domain}/transfer", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def published(person: Person) -> list[tuple[str, dict[str, Any]]]:
    """Return the events about transfers and auth codes, the oldest first."""
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name ~ %s ORDER BY id",
            [person.account.id, "^portfolio.(auth_code|transfer)"],
        )
        found = await rows.fetchall()
    return [(name.removeprefix("portfolio."), json.loads(data)) for name, data in found]
