"""An account sends a limited number of confirmations in a day; the others wait, and none is lost."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.aliases import confirmations
from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.aliases.make import ALIASES, DESTINATIONS, RESEND, Json, Owner, destinations, fresh, fresh_address, spec
from tests.cast import Person, make_person
from tests.conftest import MakePerson
from tests.wire import counted

DAY = timedelta(days=1)
MAILED = "SELECT email FROM aliases_destinations WHERE account_id = %s AND message_id IS NOT NULL"
WAITING = "SELECT count(wanted_at) FROM aliases_destinations WHERE account_id = %s"
ASKED = "SELECT asked FROM aliases_askers WHERE account_id = %s"


@pytest.fixture
def strict(settings: Settings) -> Settings:
    """Return settings with three confirmations in a day."""
    return settings.model_copy(update={"confirmations_per_day": 3})


@pytest.fixture
async def strict_service(strict: Settings) -> AsyncIterator[Service]:
    """Return a service with these settings."""
    app = create_app(strict)
    async with lifespan(app.api):
        yield app


@pytest.fixture
async def ada(strict_service: Service) -> AsyncIterator[Person]:
    """Return a person who uses that service."""
    async with await make_person(strict_service, name="ada", preset=Preset.DEVELOPER_FULL) as person:
        yield person


@pytest.fixture
def holder(database: Database, ada: Person) -> Owner:
    """Return Ada as an owner of names."""
    return Owner.of(database, ada)


async def send(database: Database, settings: Settings, batch_size: int = confirmations.BATCH) -> None:
    """Send due confirmations as the job does each minute."""
    tools: dict[str, Any] = {"keyring": secret_keys.keyring_of(settings), "settings": settings}
    await confirmations.send_due_confirmations(database, **tools, batch_size=batch_size)


async def mailed(conn: Conn, owner: Owner) -> set[str]:
    """Return the destinations of the account that were mailed a confirmation."""
    return {each[0] for each in await (await conn.execute(MAILED, [owner.account_id])).fetchall()}


async def claim_many(owner: Owner, count: int, manifest: str = "crowd") -> list[str]:
    """Claim names for that many new destinations, one after the other; return the addresses."""
    emails, domain = [fresh_address() for _ in range(count)], fresh()
    for at, email in enumerate(emails):
        await owner.claim_one(f"crew{at:04}", domain, email, manifest=manifest)
        clock.move(timedelta(seconds=1))
    return emails


def days_until_due(shown: Json) -> int | None:
    """Return in how many days, at most, the confirmation of a destination is due."""
    if shown["asking_at"] is None:
        return None
    return -((clock.now() - datetime.fromisoformat(shown["asking_at"])) // DAY)


async def test_confirmations_beyond_the_daily_limit_are_sent_on_the_next_days(
    ada: Person, holder: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    emails = await claim_many(holder, 8)
    for day, count in enumerate((3, 6, 8, 8)):
        await send(database, strict)
        assert await mailed(conn, holder) == set(emails[:count])
        shown = await destinations(ada)
        assert [days_until_due(shown[each]) for each in emails] == [
            None if at < count else at // 3 - day for at in range(8)
        ]
        assert [shown[each]["asked_at"] is not None for each in emails] == [at < count for at in range(8)]
        clock.move(DAY)
    listed = (await ada.get(ALIASES, params={"limit": 100})).json()["items"]
    assert len(listed) == 8  # the names are claimed anyway


async def test_a_postponed_confirmation_counts_from_its_day(
    ada: Person, holder: Owner, database: Database, strict: Settings
) -> None:
    email = (await claim_many(holder, 4))[3]
    await send(database, strict)
    clock.move(DAY)
    await send(database, strict)
    shown = (await destinations(ada))[email]
    assert clock.now() - datetime.fromisoformat(shown["asked_at"]) < timedelta(minutes=1)
    assert (await ada.post(RESEND, json={"email": email})).status_code == 429


async def test_the_day_of_an_account_starts_as_announced(
    ada: Person, holder: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    last = (await claim_many(holder, 10))[9]
    await send(database, strict)
    said = datetime.fromisoformat((await destinations(ada))[last]["asking_at"])
    for _ in range(2):  # a late job does not delay the next day
        clock.move(DAY + timedelta(hours=5))
        await send(database, strict)
    assert datetime.fromisoformat((await destinations(ada))[last]["asking_at"]) == said
    clock.move(said - clock.now())
    await send(database, strict)
    assert last in await mailed(conn, holder)


async def test_a_resend_counts_and_waits_as_a_new_destination(
    ada: Person, holder: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    emails = await claim_many(holder, 2)
    await send(database, strict)
    clock.move(timedelta(minutes=16))
    first = (await ada.post(RESEND, json={"email": emails[0]})).json()
    assert (first["sent"], first["asking_at"]) == (True, None)
    await send(database, strict)
    before = (await destinations(ada))[emails[1]]["asked_at"]
    second = (await ada.post(RESEND, json={"email": emails[1]})).json()
    assert (second["sent"], days_until_due(second), second["asked_at"]) == (True, 1, before)
    clock.move(timedelta(minutes=16))
    again = (await ada.post(RESEND, json={"email": emails[1]})).json()
    assert (again["sent"], again["asking_at"]) == (True, second["asking_at"])
    assert await asked(conn, holder) == 3
    clock.move(DAY)
    await send(database, strict)
    assert await asked(conn, holder) == 1
    assert (await destinations(ada))[emails[1]]["asking_at"] is None


async def asked(conn: Conn, owner: Owner) -> Any:
    """Return how many confirmations the account used of its daily limit."""
    return (await (await conn.execute(ASKED, [owner.account_id])).fetchall())[0][0]


@pytest.mark.maximum("confirmations_per_day")
async def test_parallel_jobs_keep_the_limit(
    holder: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    await claim_many(holder, 8)
    await asyncio.gather(*(send(database, strict, 2) for _ in range(4)))
    await send(database, strict)
    assert (len(await mailed(conn, holder)), await asked(conn, holder)) == (3, 3)


async def test_a_transaction_that_waited_takes_the_remaining_quota(
    holder: Owner, database: Database, conn: Conn
) -> None:
    await claim_many(holder, 4)
    quota: dict[str, Any] = {"quota": 3, "account_id": holder.account_id, "batch_size": 2}
    async with database.transaction() as first:
        await confirmations.admit_batch(first, now=clock.now(), **quota)
        second = asyncio.create_task(confirmations.admit_waiting(database, **quota))
        while not await is_blocking(database, first):
            assert not second.done()
    await second
    assert await asked(conn, holder) == 3
    assert await (await conn.execute(WAITING, [holder.account_id])).fetchall() == [(1,)]


async def is_blocking(database: Database, conn: Conn) -> bool:
    """Return whether another connection waits for a lock of this one."""
    query = "SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    async with database.connection() as watching:
        return await (await watching.execute(query, [conn.info.backend_pid])).fetchone() is not None


async def test_other_accounts_are_neither_delayed_nor_revealed(
    ada: Person, bob: Person, holder: Owner, database: Database, strict: Settings, conn: Conn, domain: str
) -> None:
    known, unknown = fresh_address(), fresh_address()
    bobs = Owner.of(database, bob)
    await bobs.claim_one("bob", domain, known)
    await send(database, strict)
    await holder.claim(spec("ada", domain, known), spec("grace", domain, unknown))
    await send(database, strict)
    assert await mailed(conn, holder) == {unknown}  # the other mailbox received the confirmation of Bob
    assert await asked(conn, holder) == 2  # the result does not reveal the other account
    clock.move(timedelta(minutes=1))
    shown = await destinations(ada)
    assert [shown[each]["asking_at"] for each in (known, unknown)] == [None, None]
    assert shown[known]["asked_at"] == shown[unknown]["asked_at"]
    clock.move(timedelta(minutes=15))
    answers = [(await ada.post(RESEND, json={"email": each})).json() for each in (known, unknown)]
    assert [(each["sent"], days_until_due(each)) for each in answers] == [(True, None), (True, 1)]
    await send(database, strict)
    assert await asked(conn, holder) == 3
    assert await asked(conn, bobs) == 1


async def test_a_resend_counts_while_the_mailbox_is_at_its_limit(
    ada: Person, bob: Person, holder: Owner, database: Database, strict: Settings, conn: Conn, domain: str
) -> None:
    email = fresh_address()
    await Owner.of(database, bob).claim_one("bob", domain, email)
    await send(database, strict)
    await holder.claim_one("ada", domain, email)
    await send(database, strict)
    clock.move(timedelta(minutes=14))
    await Owner.of(database, bob).claim_one("bobby", domain, email.replace("@", "+b@"))
    clock.move(timedelta(minutes=2))
    assert (await ada.post(RESEND, json={"email": email})).json()["sent"] is True
    await confirmations.admit_waiting(database, quota=3)
    assert await asked(conn, holder) == 2


async def test_destinations_of_released_names_use_no_quota(
    ada: Person, holder: Owner, database: Database, strict: Settings, conn: Conn, domain: str
) -> None:
    first, thiefs = await claim_many(holder, 3), await claim_many(holder, 7, manifest="thief")
    await send(database, strict)
    await holder.release(*(await holder.aliases("thief")).values())
    own = fresh_address()
    await holder.claim_one("ada", domain, own)
    clock.move(DAY)
    await send(database, strict)
    assert await mailed(conn, holder) == {*first, own}
    shown = await destinations(ada)
    assert [shown[each]["asking_at"] for each in thiefs] == [None] * 7


async def test_a_higher_limit_applies_immediately(
    holder: Owner, database: Database, strict: Settings, settings: Settings, conn: Conn
) -> None:
    emails = await claim_many(holder, 5)
    await send(database, strict)
    await send(database, settings)
    assert await mailed(conn, holder) == set(emails)
    await send(database, strict)  # a lower limit cancels nothing
    assert await asked(conn, holder) == 5
    late = await claim_many(holder, 1, manifest="late")
    await send(database, strict)
    assert await mailed(conn, holder) == set(emails)
    clock.move(DAY)
    await send(database, strict)
    assert await mailed(conn, holder) == {*emails, *late}


async def test_a_recipient_who_confirmed_meanwhile_gets_no_confirmation(
    ada: Person, holder: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    email = (await claim_many(holder, 4))[3]
    await send(database, strict)
    async with database.transaction() as other:
        await confirmations.verify_destination(other, account_id=holder.account_id, email=email)
    shown = (await destinations(ada))[email]
    assert (shown["verified"], shown["asking_at"]) == (True, None)
    clock.move(DAY)
    await send(database, strict)
    assert email not in await mailed(conn, holder)


async def test_the_default_limit_is_two_hundred(
    alice: Person, owner: Owner, database: Database, settings: Settings
) -> None:
    await owner.claim(
        *(spec(f"crew{at:04}", domain, fresh_address()) for domain in [fresh()] for at in range(203))
    )
    await send(database, settings)
    shown: Sequence[Json] = []
    cursor: str | None = ""
    while cursor is not None:
        params = {"limit": "100", **({"cursor": cursor} if cursor else {})}
        page = (await alice.get(DESTINATIONS, params=params)).json()
        shown, cursor = [*shown, *page["items"]], page["next_cursor"]
    assert [len([each for each in shown if days_until_due(each) == days]) for days in (None, 1)] == [200, 3]


async def test_many_confirmations_cost_no_more_statements(
    people: MakePerson, database: Database, tmp_path: Path
) -> None:
    counts = []
    for size in (5, 95):
        owner, domain = Owner.of(database, await people("owner")), fresh()
        specs = [spec(f"crew{at:04}", domain, fresh_address()) for at in range(size)]
        await owner.claim(*(replace(each, manifest=f"of-{size}") for each in specs))
        async with database.transaction() as conn:
            with counted(conn, tmp_path / "wire") as sent:
                await confirmations.admit_batch(conn, quota=3, account_id=owner.account_id, now=clock.now())
        counts += sent
    assert counts[0] == counts[1] <= 4
