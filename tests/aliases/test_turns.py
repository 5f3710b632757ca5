"""An account has so many readers asked in a day, and nobody is lost who has to wait."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from builders.aliases import confirmations, service as aliases
from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.aliases.make import ALIASES, DESTINATIONS, RESEND, Json, Owner, destinations, fresh, somebody, spec
from tests.aliases.wire import counted
from tests.cast import Person, make_person
from tests.conftest import MakePerson

DAY = timedelta(days=1)
MAILED = "SELECT email FROM aliases_destinations WHERE account_id = %s AND message_id IS NOT NULL"
ASKED = "SELECT asked FROM aliases_askers WHERE account_id = %s"


@pytest.fixture
def strict(settings: Settings) -> Settings:
    """Three readers a day."""
    return settings.model_copy(update={"confirmations_per_day": 3})


@pytest.fixture
async def strict_service(strict: Settings) -> AsyncIterator[Service]:
    """A service with these settings."""
    app = create_app(strict)
    async with lifespan(app.api):
        yield app


@pytest.fixture
async def ada(strict_service: Service) -> AsyncIterator[Person]:
    """Somebody who asks that service."""
    async with await make_person(strict_service, name="ada", preset=Preset.DEVELOPER_FULL) as person:
        yield person


@pytest.fixture
def hers(database: Database, ada: Person) -> Owner:
    """Ada, as she claims names."""
    return Owner.of(database, ada)


async def ask(database: Database, settings: Settings) -> None:
    """What the job does each minute."""
    await aliases.send_due_confirmations(database, keyring=secret_keys.keyring_of(settings), settings=settings)


async def mailed(conn: Conn, owner: Owner) -> set[str]:
    """The destinations of the account whose readers were mailed."""
    return {each[0] for each in await (await conn.execute(MAILED, [owner.account_id])).fetchall()}


async def claim_crowd(owner: Owner, count: int, manifest: str = "crowd") -> list[str]:
    """Names that forward to so many new readers, claimed one after the other; their addresses."""
    emails, domain = [somebody() for _ in range(count)], fresh()
    for at, email in enumerate(emails):
        await owner.claim_one(f"crew{at:04}", domain, email, manifest=manifest)
        clock.move(timedelta(seconds=1))
    return emails


def days_off(shown: Json) -> int | None:
    """In how many days, at most, it is the turn of a destination."""
    if shown["asking_at"] is None:
        return None
    return -((clock.now() - datetime.fromisoformat(shown["asking_at"])) // DAY)


async def test_those_beyond_the_day_are_asked_on_the_next_days(
    ada: Person, hers: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    emails = await claim_crowd(hers, 8)
    for day, count in enumerate((3, 6, 8, 8)):
        await ask(database, strict)
        assert await mailed(conn, hers) == set(emails[:count])
        shown = await destinations(ada)
        assert [days_off(shown[each]) for each in emails] == [
            None if at < count else at // 3 - day for at in range(8)
        ]
        assert [shown[each]["asked_at"] is not None for each in emails] == [at < count for at in range(8)]
        clock.move(DAY)
    listed = (await ada.get(ALIASES, params={"limit": 100})).json()["items"]
    assert len(listed) == 8  # the names are claimed whoever waits


async def test_what_was_asked_in_the_next_day_counts_from_its_turn(
    ada: Person, hers: Owner, database: Database, strict: Settings
) -> None:
    email = (await claim_crowd(hers, 4))[3]
    await ask(database, strict)
    clock.move(DAY)
    await ask(database, strict)
    shown = (await destinations(ada))[email]
    assert clock.now() - datetime.fromisoformat(shown["asked_at"]) < timedelta(minutes=1)
    assert (await ada.post(RESEND, json={"email": email})).status_code == 429


async def test_the_day_of_an_account_comes_when_it_was_said_to(
    ada: Person, hers: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    last = (await claim_crowd(hers, 10))[9]
    await ask(database, strict)
    said = datetime.fromisoformat((await destinations(ada))[last]["asking_at"])
    for _ in range(2):  # the job comes late, and the day after is not later for it
        clock.move(DAY + timedelta(hours=5))
        await ask(database, strict)
    assert datetime.fromisoformat((await destinations(ada))[last]["asking_at"]) == said
    clock.move(said - clock.now())
    await ask(database, strict)
    assert last in await mailed(conn, hers)


async def test_a_resend_counts_and_waits_like_a_new_reader(
    ada: Person, hers: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    emails = await claim_crowd(hers, 2)
    await ask(database, strict)
    clock.move(timedelta(minutes=16))
    first = (await ada.post(RESEND, json={"email": emails[0]})).json()
    assert (first["sent"], first["asking_at"]) == (True, None)
    await ask(database, strict)
    before = (await destinations(ada))[emails[1]]["asked_at"]
    second = (await ada.post(RESEND, json={"email": emails[1]})).json()
    assert (second["sent"], days_off(second), second["asked_at"]) == (True, 1, before)
    clock.move(timedelta(minutes=16))
    again = (await ada.post(RESEND, json={"email": emails[1]})).json()
    assert (again["sent"], again["asking_at"]) == (True, second["asking_at"])
    assert await asked(conn, hers) == 3
    clock.move(DAY)
    await ask(database, strict)
    assert await asked(conn, hers) == 1
    assert (await destinations(ada))[emails[1]]["asking_at"] is None


async def asked(conn: Conn, owner: Owner) -> int:
    """How many the account had asked in its day."""
    ((count,),) = await (await conn.execute(ASKED, [owner.account_id])).fetchall()
    return int(count)


async def test_jobs_at_once_ask_no_more(
    hers: Owner, database: Database, strict: Settings, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmations, "BATCH", 2)
    await claim_crowd(hers, 8)
    await asyncio.gather(*(ask(database, strict) for _ in range(4)))
    await ask(database, strict)
    assert (len(await mailed(conn, hers)), await asked(conn, hers)) == (3, 3)


async def test_one_who_waits_for_another_takes_what_that_one_left(
    hers: Owner, database: Database, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirmations, "BATCH", 2)
    await claim_crowd(hers, 4)
    async with database.transaction() as first:
        await confirmations.admit_batch(first, most=3, account_id=hers.account_id, now=clock.now())
        second = asyncio.create_task(confirmations.admit_waiting(database, most=3, account_id=hers.account_id))
        while not await is_blocking(database, first):
            assert not second.done()
    await second
    assert await asked(conn, hers) == 3
    waiting = await conn.execute(
        "SELECT count(wanted_at) FROM aliases_destinations WHERE account_id = %s", [hers.account_id]
    )
    assert await waiting.fetchall() == [(1,)]


async def is_blocking(database: Database, conn: Conn) -> bool:
    """Whether somebody waits for what the connection has locked."""
    query = "SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    async with database.connection() as watching:
        return await (await watching.execute(query, [conn.info.backend_pid])).fetchone() is not None


async def test_others_are_neither_held_up_nor_told(
    ada: Person, bob: Person, hers: Owner, database: Database, strict: Settings, conn: Conn, domain: str
) -> None:
    known, unknown = somebody(), somebody()
    his = Owner.of(database, bob)
    await his.claim_one("bob", domain, known)
    await ask(database, strict)
    await hers.claim(spec("ada", domain, known), spec("grace", domain, unknown))
    await ask(database, strict)
    assert await mailed(conn, hers) == {unknown}  # the other mailbox got bob's
    assert await asked(conn, hers) == 2  # as if it had been hers alone
    clock.move(timedelta(minutes=1))
    shown = await destinations(ada)
    assert [shown[each]["asking_at"] for each in (known, unknown)] == [None, None]
    assert shown[known]["asked_at"] == shown[unknown]["asked_at"]
    clock.move(timedelta(minutes=15))
    answers = [(await ada.post(RESEND, json={"email": each})).json() for each in (known, unknown)]
    assert [(each["sent"], days_off(each)) for each in answers] == [(True, None), (True, 1)]
    await ask(database, strict)
    assert await asked(conn, hers) == 3
    assert await asked(conn, his) == 1


async def test_who_waits_for_a_mailbox_and_is_asked_for_again_counts_again(
    ada: Person, bob: Person, hers: Owner, database: Database, strict: Settings, conn: Conn, domain: str
) -> None:
    email = somebody()
    await Owner.of(database, bob).claim_one("bob", domain, email)
    await ask(database, strict)
    await hers.claim_one("ada", domain, email)
    await ask(database, strict)
    clock.move(timedelta(minutes=14))
    await Owner.of(database, bob).claim_one("bobby", domain, email.replace("@", "+b@"))
    clock.move(timedelta(minutes=2))
    assert (await ada.post(RESEND, json={"email": email})).json()["sent"] is True
    await confirmations.admit_waiting(database, most=3)
    assert await asked(conn, hers) == 2


async def test_names_that_were_given_up_take_nobodys_turn(
    ada: Person, hers: Owner, database: Database, strict: Settings, conn: Conn, domain: str
) -> None:
    first, thiefs = await claim_crowd(hers, 3), await claim_crowd(hers, 7, manifest="thief")
    await ask(database, strict)
    await hers.release(*(await hers.aliases("thief")).values())
    own = somebody()
    await hers.claim_one("ada", domain, own)
    clock.move(DAY)
    await ask(database, strict)
    assert await mailed(conn, hers) == {*first, own}
    shown = await destinations(ada)
    assert [shown[each]["asking_at"] for each in thiefs] == [None] * 7


async def test_a_higher_bound_holds_at_once(
    hers: Owner, database: Database, strict: Settings, settings: Settings, conn: Conn
) -> None:
    emails = await claim_crowd(hers, 5)
    await ask(database, strict)
    await ask(database, settings)
    assert await mailed(conn, hers) == set(emails)
    await ask(database, strict)  # and a lower one takes nothing back
    assert await asked(conn, hers) == 5
    late = await claim_crowd(hers, 1, manifest="late")
    await ask(database, strict)
    assert await mailed(conn, hers) == set(emails)
    clock.move(DAY)
    await ask(database, strict)
    assert await mailed(conn, hers) == {*emails, *late}


async def test_a_reader_who_agreed_meanwhile_is_not_asked(
    ada: Person, hers: Owner, database: Database, strict: Settings, conn: Conn
) -> None:
    email = (await claim_crowd(hers, 4))[3]
    await ask(database, strict)
    async with database.transaction() as other:
        await aliases.verify_destination(other, account_id=hers.account_id, email=email)
    shown = (await destinations(ada))[email]
    assert (shown["verified"], shown["asking_at"]) == (True, None)
    clock.move(DAY)
    await ask(database, strict)
    assert email not in await mailed(conn, hers)


async def test_unset_it_is_two_hundred(
    alice: Person, owner: Owner, database: Database, settings: Settings
) -> None:
    await owner.claim(*(spec(f"crew{at:04}", domain, somebody()) for domain in [fresh()] for at in range(203)))
    await ask(database, settings)
    shown: Sequence[Json] = []
    cursor: str | None = ""
    while cursor is not None:
        params = {"limit": "100", **({"cursor": cursor} if cursor else {})}
        page = (await alice.get(DESTINATIONS, params=params)).json()
        shown, cursor = [*shown, *page["items"]], page["next_cursor"]
    assert [len([each for each in shown if days_off(each) == days]) for days in (None, 1)] == [200, 3]


async def test_many_readers_cost_no_more_statements(
    people: MakePerson, database: Database, tmp_path: Path
) -> None:
    counts = []
    for size in (5, 95):
        owner, domain = Owner.of(database, await people("owner")), fresh()
        specs = [spec(f"crew{at:04}", domain, somebody()) for at in range(size)]
        await owner.claim(*(replace(each, manifest=f"of-{size}") for each in specs))
        async with database.transaction() as conn:
            with counted(conn, tmp_path / "wire") as sent:
                await confirmations.admit_batch(conn, most=3, account_id=owner.account_id, now=clock.now())
        counts += sent
    assert counts[0] == counts[1] <= 4
