from datetime import timedelta

from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.values import clock
from builders.profile import jobs as profile_jobs
from tests.cast import Person
from tests.profile.make import CONFIRM, RESEND, ProfileWorker, patch, verification

MESSAGES = "SELECT count(*) FROM profile_verifications WHERE account_id = %s"


async def prune(database: Database) -> None:
    await old_rows.delete(database, "profile_verifications", "profile_tokens")


async def begin(database: Database, person: Person) -> None:
    async with database.transaction() as conn:
        await queue.defer(conn, profile_jobs.begin_verification, account_id=str(person.account.id))


async def test_repeated_jobs_send_one_link(ursula: Person, database: Database, worker: ProfileWorker) -> None:
    for _ in range(3):
        await begin(database, ursula)
    await worker.work()
    clock.move(timedelta(days=2))
    await begin(database, ursula)

    assert len(await worker.list_emails(ursula.account.email)) == 1


async def test_an_account_verified_in_the_meantime_gets_no_message(
    alice: Person, database: Database, worker: ProfileWorker
) -> None:
    await begin(database, alice)

    assert await worker.list_emails(alice.account.email) == []


async def test_sends_are_deleted_after_a_month(
    alice: Person, database: Database, conn: Conn, address: str
) -> None:
    await patch(alice, email=f"typo-{address}")
    clock.move(timedelta(days=29))
    await patch(alice, email=address)
    await prune(database)
    assert await (await conn.execute(MESSAGES, [alice.account.id])).fetchone() == (2,)

    clock.move(timedelta(days=2))
    await prune(database)
    assert await (await conn.execute(MESSAGES, [alice.account.id])).fetchone() == (1,)
    assert (await verification(alice))["pending_email"] == address


async def test_a_change_can_be_confirmed_after_pruning(
    alice: Person, database: Database, worker: ProfileWorker, address: str
) -> None:
    await patch(alice, email=address)
    clock.move(timedelta(days=40))
    await prune(database)
    assert (await verification(alice))["last_sent_at"] is None

    assert (await alice.post(RESEND)).json()["sent"] is True
    assert (await alice.get(CONFIRM, params={"token": await worker.token(address)})).status_code == 200
    assert (await verification(alice))["email"] == address
