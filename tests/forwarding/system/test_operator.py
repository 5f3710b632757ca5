"""What the operator sees of the real mail server: tests/forwarding/system/check."""

import asyncio
import json
import os
import sys

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from builders.forwarding.queue_metrics import QueueCollector
from tests.cast import Person
from tests.forwarding.conftest import OPERATOR
from tests.forwarding.system.chain import HOST, LIST, Sink, send, write
from tests.forwarding.system.conftest import FILTER_SOCKET, SOCKET, run
from tests.plans.make import alias, apply

READER = f"reader@{LIST}"
OF_THE_MAIL_SERVER = {"postfix", "return addresses", "rspamd", "DNS of the mail server", "signing"}


async def failures(conninfo: str) -> dict[str, str]:
    """Return what `builders doctor` finds wrong with the mail server, and what to do next."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "builders", "doctor", "--json"),
        stdout=asyncio.subprocess.PIPE,
        env={
            **os.environ,
            "BUILDERS_DATABASE_URL": conninfo,
            "BUILDERS_PORT": "0",
            "BUILDERS_EXCHANGE_RATES": "off",
            "BUILDERS_LOOKUP_LISTEN": f"unix:{SOCKET}",
            "BUILDERS_FILTER_LISTEN": f"unix:{FILTER_SOCKET}",
            "BUILDERS_MAIL_HOSTS": HOST,
            "BUILDERS_POSTMASTER": OPERATOR,
        },
    )
    printed, _ = await process.communicate()
    found = {each["check"]: each for each in json.loads(printed)}
    assert found.keys() >= OF_THE_MAIL_SERVER
    return {name: found[name]["next_action"] for name in OF_THE_MAIL_SERVER if not found[name]["ok"]}


async def test_the_doctor_passes_the_mail_server_and_names_what_it_cannot_reach(sink: Sink, conninfo: str) -> None:
    del sink
    assert await failures(conninfo) == {}
    await run("chmod", "600", SOCKET)
    try:
        found = await failures(conninfo)
    finally:
        await run("chmod", "666", SOCKET)
    assert found.keys() == {"postfix"}
    assert "BUILDERS_LOOKUP_LISTEN" in found["postfix"]


@pytest.fixture
def registry() -> CollectorRegistry:
    """Return the metrics of the queue."""
    found = CollectorRegistry()
    found.register(QueueCollector())
    return found


async def test_a_deferred_message_is_in_the_metrics(
    alice: Person, shared: str, sink: Sink, registry: CollectorRegistry
) -> None:
    sink.replies[alice.account.email] = "450 4.2.0 Later"
    await apply(alice, alias(f"ada@{shared}", alice.account.email))
    assert await send(write(READER, f"ada@{shared}"), READER, f"ada@{shared}") == {}
    # The next message shows that the first one was tried.
    assert await send(write(READER, f"abuse@{HOST}"), READER, f"abuse@{HOST}") == {}
    assert (await sink.next()).recipients == [OPERATOR]
    await run("sh", "-c", "until postqueue -j | grep -q '\"deferred\"'; do sleep 0.1; done")
    metrics = generate_latest(registry).decode()
    await run("postsuper", "-d", "ALL", "deferred")
    assert 'builders_mail_queue_messages{queue="deferred"} 1.0' in metrics
    assert "builders_mail_queue_oldest_seconds" in metrics
