from datetime import timedelta

from builders.kit import clock, jobs
from builders.kit.db import Conn, Database
from builders.profile import jobs as profile_jobs
from tests.cast import Person
from tests.profile.make import CONFIRM, RESEND, Office, patch, verification

MESSAGES = "SELECT count(*) FROM profile_verifications WHERE account_id = %s"


async def prune(database: Database, office: Office) -> None:
    async with database.transaction() as conn:
        await jobs.defer(conn, profile_jobs.prune, timestamp=0)
    await office.work()


async def begin(database: Database, person: Person) -> None:
    async with database.transaction() as conn:
        await jobs.defer(conn, profile_jobs.begin_verification, account_id=str(person.account.id))


async def test_the_first_link_is_mailed_once_whatever_runs_twice(
    ursula: Person, database: Database, office: Office
) -> None:
    for _ in range(3):
        await begin(database, ursula)
    await office.work()
    clock.move(timedelta(days=2))
    await begin(database, ursula)

    assert len(await office.letters(ursula.account.email)) == 1


async def test_an_account_that_was_verified_meanwhile_is_mailed_nothing(
    alice: Person, database: Database, office: Office
) -> None:
    await begin(database, alice)

    assert await office.letters(alice.account.email) == []


async def test_where_messages_went_is_forgotten_after_a_month(
    alice: Person, database: Database, office: Office, conn: Conn, address: str
) -> None:
    await patch(alice, email=f"typo-{address}")
    clock.move(timedelta(days=29))
    await patch(alice, email=address)
    await prune(database, office)
    assert await (await conn.execute(MESSAGES, [alice.account.id])).fetchone() == (2,)

    clock.move(timedelta(days=2))
    await prune(database, office)
    assert await (await conn.execute(MESSAGES, [alice.account.id])).fetchone() == (1,)
    assert (await verification(alice))["pending_email"] == address


async def test_a_change_can_be_confirmed_after_all_was_forgotten(
    alice: Person, database: Database, office: Office, address: str
) -> None:
    await patch(alice, email=address)
    clock.move(timedelta(days=40))
    await prune(database, office)
    assert (await verification(alice))["last_sent_at"] is None

    assert (await alice.post(RESEND)).json()["sent"] is True
    assert (await alice.get(CONFIRM, params={"token": await office.token(address)})).status_code == 200
    assert (await verification(alice))["email"] == address
