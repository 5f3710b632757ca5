"""What the real mail server logs is counted once for each name: tests/forwarding/system/check."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from builders.app import Service
from builders.kit.process.settings import Settings
from tests.aliases.make import ALIASES, Owner
from tests.cast import Person
from tests.forwarding.make import set_catch_all
from tests.forwarding.system.chain import (
    AUTHOR,
    HOST,
    LIST,
    STRANGER_IP,
    TIMEOUT_S,
    Sink,
    send,
    write,
)
from tests.forwarding.system.conftest import LOG, restart, run
from tests.plans.make import alias, apply, get_alias

READER = f"reader@{LIST}"
Json = dict[str, Any]


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the reader of the log as a process; kill it at the end."""
    assert settings.database_url is not None
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": settings.database_url.get_secret_value(),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_MAIL_LOG": str(LOG),
        "BUILDERS_MAIL_HOSTS": HOST,
    }
    command = (sys.executable, "-P", "-m", "builders", "mail-log")
    process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.DEVNULL)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()


def count_lines(log: Path, to: str) -> int:
    """Return how many attempts to deliver to an address are logged."""
    return log.read_text(encoding="utf-8").count(f"to=<{to}>")


async def counted(person: Person, path: str, **expected: int) -> Json:
    """Wait until the counts of a name are the expected ones; return what its owner sees."""
    found: dict[str, int] = {}
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while True:  # the reader is another process
                shown: Json = (await person.get(path)).json()
                found = {each: sum(day[each] for day in shown["days"]) for each in expected}
                if found == expected:
                    return shown
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{found}, not {expected}: {shown}") from None


@pytest.fixture
async def name(alice: Person, shared: str) -> tuple[str, str]:
    """Return a name of Alice, and the path of its mail."""
    claimed = await get_alias(
        alice, await apply(alice, alias(f"ada@{shared}", alice.account.email, block=["eve.example"]))
    )
    return claimed["address"], f"{ALIASES}/{claimed['id']}/mail"


async def test_each_result_counts_once_while_the_reader_is_killed(
    alice: Person, name: tuple[str, str], sink: Sink, settings: Settings
) -> None:
    address, path = name
    to = alice.account.email

    async def send_all(log: Path = LOG) -> None:
        for reply in ("250 OK", "450 4.2.0 Later", "550 5.1.1 No such mailbox"):
            sink.replies[to] = reply
            before = count_lines(log, to)
            assert await send(write(READER, address), READER, address, ip=STRANGER_IP) == {}
            async with asyncio.timeout(TIMEOUT_S):
                while count_lines(log, to) == before:  # noqa: ASYNC110 - the mail server is another process
                    await asyncio.sleep(0.05)
        await sink.next()
        assert address in await send(write("a@eve.example", address), "a@eve.example", address)

    async with reading(settings):
        await send_all()
        shown = await counted(alice, path, forwarded=1, deferred=1, bounced=1, refused=1)
    assert {(each["outcome"], each["code"]) for each in shown["items"]} == {
        ("forwarded", "2.0.0"),
        ("deferred", "4.2.0"),
        ("bounced", "5.1.1"),
    }
    await send_all()  # nobody reads
    async with reading(settings):
        await counted(alice, path, forwarded=2, deferred=2, bounced=2, refused=2)
    older = Path(f"{LOG}.1")
    LOG.rename(older)
    await send_all(older)  # until the mail server opens the new one
    await restart()
    async with reading(settings):
        await counted(alice, path, forwarded=3, deferred=3, bounced=3, refused=3)
    sink.replies.clear()
    await run("postsuper", "-d", "ALL", "deferred")


async def test_mail_that_the_filter_rewrites_counts_once(
    alice: Person, shared: str, sink: Sink, settings: Settings
) -> None:
    claimed = await get_alias(alice, await apply(alice, alias(f"shop@{shared}", alice.account.email, reply=True)))
    async with reading(settings):
        assert await send(write(READER, claimed["address"]), READER, claimed["address"]) == {}
        await sink.next()
        shown = await counted(alice, f"{ALIASES}/{claimed['id']}/mail", forwarded=1)
    (result,) = shown["items"]
    assert result["destination"] == alice.account.email


async def test_mail_that_a_policy_refuses_counts_as_refused(
    alice: Person, name: tuple[str, str], settings: Settings, sink: Sink
) -> None:
    del sink
    address, path = name
    async with reading(settings):
        refused = await send(write(f"ada@{AUTHOR}", address), f"ada@{AUTHOR}", address, ip=STRANGER_IP)
        assert refused[""][0] in {550, 554}
        await counted(alice, path, refused=1, forwarded=0)


async def test_an_address_that_looks_like_a_bounce_of_a_victim_is_an_address(
    alice: Person, service: Service, domain: str, settings: Settings, sink: Sink
) -> None:
    victim = f"ada@{domain}"
    alias_id = await Owner.of(service.api.state.database, alice).claim_one("ada", domain, alice.account.email)
    await set_catch_all(alice, service, domain, alice.account.email)
    rest = "relay=x[192.0.2.1]:25, delay=1, delays=0/0/0/1, dsn=5.1.1, status=bounced (x)"
    async with reading(settings):
        for to in (f'"ada>, {rest}"@{domain}', victim):
            assert await send(write(READER, victim), READER, to) == {}
            await sink.next()
        shown = await counted(alice, f"{ALIASES}/{alias_id}/mail", forwarded=1, bounced=0)
    assert len(shown["items"]) == 1
