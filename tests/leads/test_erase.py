"""Erasure of an address: only a hash is left."""

import asyncio
import re
from datetime import timedelta

from psycopg import sql

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import clock
from builders.leads import lifecycle, store
from builders.leads.records import Erased
from builders.mail.records import VENDOR
from tests.cast import Client
from tests.leads.make import FULL, Runner, comparable, confirm, submit, token_of, unsubscribe_path
from tests.tracking.conftest import BROWSER

TRACES = """
    SELECT (SELECT count(*) FROM leads_leads WHERE email = %(email)s)
         + (SELECT count(*) FROM leads_requests WHERE email = %(email)s)
         + (SELECT count(*) FROM leads_suppressions AS kept WHERE strpos(row_to_json(kept)::text, %(email)s) > 0)
"""


TABLES = """
    SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
HOLDING = "SELECT count(*) FROM {} AS line WHERE strpos(row_to_json(line)::text, %s) > 0"
PIXEL = re.compile(r"/v1/t/o/[\w-]+")


async def erase(database: Database, keyring: Keyring, email: str) -> Erased:
    async with database.transaction() as conn:
        return await lifecycle.erase(conn, keyring=keyring, email=email)


async def traces(conn: Conn, email: str) -> int:
    """Return the number of rows with the address."""
    row = await (await conn.execute(TRACES, {"email": email})).fetchone()
    assert row is not None
    count: int = row[0]
    return count


async def test_erasure_deletes_all_rows_and_suppresses_the_address(
    anyone: Client, runner: Runner, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    first = await submit(anyone, email, **FULL)
    token = await runner.token(email)
    await confirm(anyone, token)
    assert await traces(conn, email) == 2

    assert await erase(database, keyring, email) == Erased(leads=1, requests=1)
    assert await traces(conn, email) == 0
    assert await confirm(anyone, token) == "token_invalid"
    clock.move(timedelta(days=1))
    assert comparable(await submit(anyone, email, **FULL)) == comparable(first)
    assert len(await runner.messages(email)) == 1
    assert await traces(conn, email) == 0


async def holding(conn: Conn, text: str) -> dict[str, int]:
    """Return the tables that contain a text, with the number of rows."""
    found = {}
    for (name,) in await (await conn.execute(TABLES)).fetchall():
        cursor = await conn.execute(sql.SQL(HOLDING).format(sql.Identifier(name)), [text])
        found[name] = (await cursor.fetchall())[0][0]
    return {name: count for name, count in found.items() if count}


async def test_erasure_deletes_the_address_from_all_tables(
    anyone: Client, runner: Runner, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    await submit(anyone, email, **FULL)
    [message] = await runner.messages(email)
    await anyone.get(PIXEL.findall(message.part("html"))[0], headers=BROWSER)
    await confirm(anyone, token_of(message))
    await anyone.post(unsubscribe_path(message), data={"List-Unsubscribe": "One-Click"})
    await runner.run()
    clock.move(timedelta(days=2))
    runner.server.script.rcpt = [f"550 5.1.1 <{email}> is unknown"]
    await submit(anyone, email)
    assert await runner.status(email) == "bounced"
    cursor = await conn.execute("SELECT unnest(message_ids)::text FROM leads_leads WHERE email = %s", [email])
    message_ids = [message_id for (message_id,) in await cursor.fetchall()]
    assert len(message_ids) == 2
    assert any("tracking_hits" in name for name in await holding(conn, message_ids[0]))

    await erase(database, keyring, email)
    await runner.run()
    assert await holding(conn, email) == {}
    left = [name for message_id in message_ids for name in await holding(conn, message_id)]
    assert [name for name in left if name.startswith(("mail_", "tracking_", "leads_"))] == []


async def test_erasure_is_idempotent(database: Database, keyring: Keyring, email: str) -> None:
    for _ in range(2):
        assert await erase(database, keyring, email) == Erased(leads=0, requests=0)


async def test_a_queued_message_is_not_sent(
    anyone: Client, runner: Runner, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    runner.server.script.rcpt = ["450 4.2.0 greylisted"] * 50
    await submit(anyone, email)
    lead = await runner.lead(email)
    assert lead is not None
    runner.server.script.rcpt = []
    await erase(database, keyring, email)

    cursor = await conn.execute(
        "SELECT count(content) FROM mail_messages WHERE account_id = %s AND created_at > %s",
        [VENDOR, lead.asked_at],
    )
    assert await cursor.fetchone() == (0,)
    clock.move(timedelta(minutes=20))
    assert await runner.messages(email) == []


async def test_an_unprocessed_request_is_deleted(
    anyone: Client, runner: Runner, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    await submit(anyone, email)
    assert await erase(database, keyring, email) == Erased(leads=0, requests=1)

    assert await runner.messages(email) == []
    assert await traces(conn, email) == 0


async def test_erasure_during_concurrent_requests_leaves_no_data(
    anyone: Client, runner: Runner, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    await asyncio.gather(
        *(submit(anyone, email) for _ in range(10)), runner.run(), erase(database, keyring, email)
    )
    await runner.run()

    assert await traces(conn, email) == 0


async def test_a_suppression_survives_a_rotation_of_the_secret_keys(
    database: Database, conn: Conn, email: str
) -> None:
    old, new = generate_secret(), generate_secret()
    await erase(database, Keyring([old]), email)

    for ring, known in ((Keyring([new, old]), True), (Keyring([new]), False)):
        hashes = ring.hashes(lifecycle.SUPPRESSION_PURPOSE, email)
        assert await store.is_suppressed(conn, hashes=hashes) is known
