"""Erasing an address: nothing of it is left but a hash, by which it stays away."""

import asyncio
import re
from datetime import timedelta

from psycopg import sql

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.values import clock
from builders.leads import opting, service as leads
from builders.leads.records import Erased
from builders.leads.store import requests
from builders.mail.records import VENDOR
from tests.cast import Client
from tests.leads.make import FULL, Desk, ask, confirm, same, stop_of, token_of
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
        return await leads.erase(conn, keyring=keyring, email=email)


async def traces(conn: Conn, email: str) -> int:
    """Rows in which the address still stands."""
    row = await (await conn.execute(TRACES, {"email": email})).fetchone()
    assert row is not None
    count: int = row[0]
    return count


async def test_nothing_is_left_and_nothing_comes_again(
    anyone: Client, desk: Desk, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    first = await ask(anyone, email, **FULL)
    token = await desk.token(email)
    await confirm(anyone, token)
    assert await traces(conn, email) == 2

    assert await erase(database, keyring, email) == Erased(leads=1, requests=1)
    assert await traces(conn, email) == 0
    assert await confirm(anyone, token) == "token_invalid"
    clock.move(timedelta(days=1))
    assert same(await ask(anyone, email, **FULL)) == same(first)
    assert len(await desk.letters(email)) == 1
    assert await traces(conn, email) == 0


async def holding(conn: Conn, text: str) -> dict[str, int]:
    """The tables in which a text stands somewhere, and in how many rows."""
    found = {}
    for (name,) in await (await conn.execute(TABLES)).fetchall():
        cursor = await conn.execute(sql.SQL(HOLDING).format(sql.Identifier(name)), [text])
        found[name] = (await cursor.fetchall())[0][0]
    return {name: count for name, count in found.items() if count}


async def test_after_a_long_history_no_table_knows_the_address_nor_its_mail(
    anyone: Client, desk: Desk, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    await ask(anyone, email, **FULL)
    [letter] = await desk.letters(email)
    await anyone.get(PIXEL.findall(letter.part("html"))[0], headers=BROWSER)
    await confirm(anyone, token_of(letter))
    await anyone.post(stop_of(letter), data={"List-Unsubscribe": "One-Click"})
    await desk.work()
    clock.move(timedelta(days=2))
    desk.server.script.rcpt = [f"550 5.1.1 <{email}> is unknown"]
    await ask(anyone, email)
    assert await desk.status(email) == "bounced"
    cursor = await conn.execute("SELECT unnest(message_ids)::text FROM leads_leads WHERE email = %s", [email])
    message_ids = [message_id for (message_id,) in await cursor.fetchall()]
    assert len(message_ids) == 2
    assert any("tracking_hits" in name for name in await holding(conn, message_ids[0]))

    await erase(database, keyring, email)
    await desk.work()
    assert await holding(conn, email) == {}
    left = [name for message_id in message_ids for name in await holding(conn, message_id)]
    assert [name for name in left if name.startswith(("mail_", "tracking_", "leads_"))] == []


async def test_it_can_be_done_twice_and_for_nobody(database: Database, keyring: Keyring, email: str) -> None:
    for _ in range(2):
        assert await erase(database, keyring, email) == Erased(leads=0, requests=0)


async def test_a_message_that_waits_is_not_sent_any_more(
    anyone: Client, desk: Desk, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    desk.server.script.rcpt = ["450 4.2.0 greylisted"] * 50
    await ask(anyone, email)
    lead = await desk.lead(email)
    assert lead is not None
    desk.server.script.rcpt = []
    await erase(database, keyring, email)

    cursor = await conn.execute(
        "SELECT count(content) FROM mail_messages WHERE account_id = %s AND created_at > %s",
        [VENDOR, lead.asked_at],
    )
    assert await cursor.fetchone() == (0,)
    clock.move(timedelta(minutes=20))
    assert await desk.letters(email) == []


async def test_a_request_that_waits_for_its_job_goes_too(
    anyone: Client, desk: Desk, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    await ask(anyone, email)
    assert await erase(database, keyring, email) == Erased(leads=0, requests=1)

    assert await desk.letters(email) == []
    assert await traces(conn, email) == 0


async def test_who_erases_while_requests_come_in_leaves_nothing(
    anyone: Client, desk: Desk, database: Database, conn: Conn, keyring: Keyring, email: str
) -> None:
    await asyncio.gather(*(ask(anyone, email) for _ in range(10)), desk.work(), erase(database, keyring, email))
    await desk.work()

    assert await traces(conn, email) == 0


async def test_it_is_known_again_after_the_secret_keys_were_rotated(
    database: Database, conn: Conn, email: str
) -> None:
    old, new = generate_secret(), generate_secret()
    await erase(database, Keyring([old]), email)

    for ring, known in ((Keyring([new, old]), True), (Keyring([new]), False)):
        hashes = ring.hashes(opting.SUPPRESSED, email)
        assert await requests.is_suppressed(conn, account_id=VENDOR, hashes=hashes) is known
