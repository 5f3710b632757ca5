"""The protocol and the limits of the look-up server."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

from builders.forwarding import role, server
from builders.forwarding.recipients import Recipients
from builders.forwarding.server import LookupServer, netstring
from builders.kit.db.connections import Database
from builders.kit.process import metrics
from builders.kit.process.settings import Settings
from tests.forwarding.conftest import serving
from tests.forwarding.postfix import MailServer

UNKNOWN = "NOTFOUND "


async def test_requests_in_fragments_and_in_one_packet_get_their_replies_in_sequence(lookups: MailServer) -> None:
    for byte in netstring("alias ada@elsewhere.example"):
        lookups.writer.write(bytes([byte]))
        await lookups.writer.drain()
        await asyncio.sleep(0)
    assert await lookups.reply() == UNKNOWN
    lookups.writer.write(netstring("none ada") + netstring("domain elsewhere.example"))
    assert [await lookups.reply(), await lookups.reply()] == ["TEMP The look-up server has no such map.", UNKNOWN]


async def test_the_largest_request_gets_a_reply(lookups: MailServer) -> None:
    assert await lookups.ask("alias", "a" * (server.MAX_REQUEST - len("alias "))) == UNKNOWN


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n:",
        netstring("alias " + "a" * server.MAX_REQUEST),
        b"1" * (server.MAX_REQUEST + 2),
        b"5:alias;",
        b":,",
        "٣:abc,".encode(),
    ],
)
async def test_what_is_no_request_ends_the_connection(lookups: MailServer, sent: bytes) -> None:
    assert await lookups.ends(sent)


@pytest.mark.parametrize(
    "key", [b"\xff\xfe@harbour.example", b"ada\0@harbour.example", b"", b"@", b"ada@", b"a@b@c"]
)
async def test_any_bytes_are_a_key(lookups: MailServer, key: bytes) -> None:
    content = b"recipient " + key
    lookups.writer.write(b"%d:%s," % (len(content), content))
    assert await lookups.reply() == UNKNOWN


@pytest.mark.parametrize("sent", [b"", b"30:alias "])
async def test_an_idle_connection_ends(recipients: Recipients, tmp_path: Path, sent: bytes) -> None:
    async with serving(recipients, tmp_path / "lookup", idle_s=0.05) as slow:
        assert await slow.ends(sent)


async def test_connections_above_the_limit_wait_for_a_place(lookups: MailServer) -> None:
    others: Sequence[MailServer] = [MailServer(lookups.path) for _ in range(server.MAX_CONNECTIONS)]
    await asyncio.gather(*(each.__aenter__() for each in others))
    last = others[-1]
    assert {await each.ask("alias", "ada") for each in others[:-1]} == {UNKNOWN}
    waiting = asyncio.create_task(last.ask("alias", "ada"))
    assert not (await asyncio.wait([waiting], timeout=0.1))[0]
    others[0].writer.transport.abort()
    assert await waiting == UNKNOWN
    for each in others:
        each.writer.transport.abort()


async def test_without_the_database_the_mail_server_tries_again_later(settings: Settings) -> None:
    away = Database("host=127.0.0.1 port=1", settings.model_copy(update={"pool_timeout_s": 0.05}))
    await away.open()
    asked = LookupServer(Recipients(away, operator="operator@vendor.example"))
    keys = [b"recipient ada@harbour.example", b"alias postmaster@harbour.example", b"domain harbour.example"]
    replies = [await asked.answer(each) for each in (*keys, b"sender ada@harbour.example")]
    await away.close()
    assert {each.partition(" ")[0] for each in replies} == {"TEMP"}


async def test_a_role_without_rights_tells_the_mail_server_to_try_again(
    settings: Settings, conninfo: str, lookups: MailServer
) -> None:
    assert lookups
    database = Database(conninfo, settings, role="pg_signal_backend")
    await database.open()
    reply = await LookupServer(Recipients(database, operator=None)).answer(b"domain harbour.example")
    await database.close()
    assert reply.startswith("TEMP ")


async def test_look_ups_are_counted_by_map_and_reply(lookups: MailServer) -> None:
    counted = {"map": "domain", "reply": "NOTFOUND"}
    before = metrics.REGISTRY.get_sample_value("builders_lookups_total", counted) or 0
    await lookups.ask("domain", "elsewhere.example")
    assert metrics.REGISTRY.get_sample_value("builders_lookups_total", counted) == before + 1
    assert metrics.REGISTRY.get_sample_value("builders_lookup_seconds_count", {"map": "domain"})


async def test_the_role_reads_its_table_and_nothing_else(recipients: Recipients, conninfo: str) -> None:
    assert recipients  # which created the role
    with psycopg.connect(conninfo, options=f"-c role={role.NAME}", autocommit=True) as conn:
        conn.execute("SELECT FROM aliases_lookups LIMIT 1")
        for refused in (
            "SELECT FROM aliases",
            "SELECT FROM forwarding_names",
            "DELETE FROM aliases_lookups",
            "CREATE TABLE a ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(refused)


async def test_a_role_with_further_rights_is_reported(recipients: Recipients, conninfo: str) -> None:
    assert recipients
    async with await psycopg.AsyncConnection.connect(conninfo) as conn:
        await conn.execute(f"GRANT SELECT ON mail_messages TO {role.NAME}")
        with pytest.raises(role.RoleUnusable, match="may use mail_messages"):
            await role.check(conn)
        await conn.rollback()
        await role.check(conn)
