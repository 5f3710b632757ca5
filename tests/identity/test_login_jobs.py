from datetime import timedelta

import pytest

from builders.identity import jobs as identity_jobs, sessions
from builders.identity.records import MailedCode, MailedLink
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.jobs import queue
from builders.kit.process import secret_keys
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox

LOGIN = "/v1/auth/login"
SECRET = secret_keys.generate_secret()

REQUESTS = "SELECT id FROM identity_sign_ins WHERE address = %s ORDER BY id"


async def requests(conn: Conn, person: Person) -> list[str]:
    found = await (await conn.execute(REQUESTS, [person.account.email])).fetchall()
    return [str(sign_in_id) for (sign_in_id,) in found]


async def again(conn: Conn, sign_in_id: str) -> None:
    """Run the job again, as after the end of a worker process."""
    await queue.defer(conn, identity_jobs.mail_code, sign_in_id=sign_in_id)


async def test_a_repeated_job_sends_no_second_message(
    anyone: Client, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    [sign_in_id] = await requests(conn, alice)
    await again(conn, sign_in_id)

    assert await postbox.all_for(message.to) == [message]
    answer = await anyone.post(f"{LOGIN}/redeem", json={"email": message.to, "code": message.code})
    assert answer.status_code == 200


async def test_an_expired_request_sends_no_message(anyone: Client, alice: Person, postbox: Postbox) -> None:
    await anyone.post(LOGIN, json={"email": alice.account.email})
    clock.move(timedelta(minutes=15))

    assert await postbox.all_for(alice.account.email) == []


async def test_the_older_of_two_requests_sends_nothing_after_the_newer(
    anyone: Client, alice: Person, postbox: Postbox, conn: Conn, database: Database, settings: Settings
) -> None:
    for _ in range(2):
        await anyone.post(LOGIN, json={"email": alice.account.email})
    older, newer = await requests(conn, alice)
    await conn.execute("DELETE FROM procrastinate_jobs WHERE args->>'sign_in_id' = %s", [older])
    await queue.run_pending(database, settings)
    await again(conn, older)

    [message] = await postbox.all_for(alice.account.email)

    answer = await anyone.post(f"{LOGIN}/redeem", json={"email": message.to, "code": message.code})
    assert answer.status_code == 200
    assert newer != older


@pytest.mark.parametrize(("age", "left"), [(timedelta(hours=23), 1), (timedelta(hours=25), 0)])
async def test_requests_are_forgotten_after_a_day(
    anyone: Client, alice: Person, conn: Conn, database: Database, age: timedelta, left: int
) -> None:
    await anyone.post(LOGIN, json={"email": alice.account.email})
    clock.move(age)

    await old_rows.delete(database, "identity_sign_ins")

    assert len(await requests(conn, alice)) == left


async def test_a_request_that_is_gone_is_no_trouble(
    anyone: Client, alice: Person, postbox: Postbox, conn: Conn
) -> None:
    await anyone.post(LOGIN, json={"email": alice.account.email})
    await conn.execute("DELETE FROM identity_sign_ins WHERE address = %s", [alice.account.email])

    assert await postbox.all_for(alice.account.email) == []


@pytest.mark.parametrize("form", ["code", "token"])
async def test_a_message_is_valid_after_a_rotation_of_the_secret_keys(
    anyone: Client, alice: Person, postbox: Postbox, database: Database, settings: Settings, form: str
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    kept = secret_keys.load_or_create(settings.data_dir / "secret_keys")
    proof = MailedCode(email=message.to, code=message.code) if form == "code" else MailedLink(token=message.token)
    foreign, rotated = Keyring([SECRET]), Keyring([SECRET, *kept])

    with pytest.raises(TokenInvalid):
        await sessions.sign_in(database, keyring=foreign, settings=settings, proof=proof)
    new = await sessions.sign_in(database, keyring=rotated, settings=settings, proof=proof)

    assert new.session.account_id == alice.account.id
    assert message.code not in repr(proof)
    assert message.token not in repr(proof)
    assert new.token not in repr(new)
