"""Connections of the tests."""

from builders.demo.registrars.fake import FakeRegistrar, FakeServer
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.portfolio.registrars import credentials as sealing
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import (
    DEFAULT_CONNECTION,
    Connection,
)
from builders.portfolio.registrars.store import connections as store
from tests.cast import Person

REGISTRARS = "/v1/portfolio/registrars"


def database_of(person: Person) -> Database:
    database: Database = person.service.api.state.database
    return database


def keyring_of(person: Person) -> Keyring:
    keyring: Keyring = person.service.api.state.keyring
    return keyring


async def connect(
    person: Person,
    fake: FakeRegistrar,
    fakes: FakeServer,
    *,
    name: str = DEFAULT_CONNECTION,
    is_sandbox: bool = False,
    keyring: Keyring | None = None,
) -> Connection:
    """Connect the person's portfolio to a fake, without a request to it."""
    account_id = person.account.sandbox_id if is_sandbox else person.account.id
    connection_id = ids.new()
    sealed = sealing.seal(
        keyring or keyring_of(person), fake.credentials, account_id=account_id, connection_id=connection_id
    )
    hints = sealing.make_hints(
        get_profile(fake.provider), before=(), old={}, new=fake.credentials, now=clock.now()
    )
    now = clock.now()
    new = Connection(
        account_id=account_id,
        id=connection_id,
        provider=fake.provider,
        name=name,
        base_url=fakes.add(fake),
        hints=hints,
        created_at=now,
        updated_at=now,
    )
    async with database_of(person).transaction() as conn:
        made = await store.save(conn, new, credentials=sealed)
    assert made is not None
    return made


async def events_of(person: Person, *, is_sandbox: bool = False) -> list[str]:
    """Return the names of the person's events about registrars, the oldest first."""
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT name FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.registrar.%%' ORDER BY id",
            [person.account.sandbox_id if is_sandbox else person.account.id],
        )
        return [name.removeprefix("portfolio.registrar.") for (name,) in await rows.fetchall()]
