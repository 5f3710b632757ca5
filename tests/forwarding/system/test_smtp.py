"""The envelope, encryption, spam and faults of the real mail server: tests/forwarding/system/check."""

import asyncio
import json
import re
import ssl
from datetime import timedelta
from urllib.request import Request, urlopen

import pytest

from builders.invoices.records import GRACE, UNCOLLECTIBLE_AFTER
from builders.kit.db.connections import Database
from tests.aliases.make import AliasWorker
from tests.cast import Person
from tests.forwarding.system.chain import HOST, HOST_IP, LIST, STRANGER_IP, Sink, send, write
from tests.forwarding.system.conftest import LOG, TLS_CERTIFICATE, answering, run
from tests.invoices.make import pass_by
from tests.plans.make import alias, apply

READER = f"reader@{LIST}"
SCAN = "http://127.0.0.1:11334/checkv2"
# Spam by definition (GTUBE).
SPAM = "XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\n"


@pytest.fixture
async def name(alice: Person, shared: str) -> str:
    """Return a name that forwards to Alice."""
    await apply(alice, alias(f"ada@{shared}", alice.account.email))
    return f"ada@{shared}"


async def scan(content: bytes, sender: str, ip: str) -> set[str]:
    """Return what the filter of a destination finds of a message from a server."""
    head = {"From": sender, "IP": ip, "Helo": HOST, "Rcpt": READER}

    def ask() -> set[str]:
        with urlopen(Request(SCAN, data=content, headers=head), timeout=20) as answer:
            return set(json.load(answer)["symbols"])

    return await asyncio.to_thread(ask)  # which asks the name server of this loop


async def test_spf_of_the_return_address_permits_the_host_and_nobody_else(name: str, sink: Sink) -> None:
    assert await send(write(READER, name), READER, name) == {}
    got = await sink.next()
    assert "R_SPF_ALLOW" in await scan(got.content, got.sender, HOST_IP)
    assert "R_SPF_FAIL" in await scan(got.content, got.sender, STRANGER_IP)


async def test_mail_waits_with_its_sender_while_postsrsd_is_away(name: str, sink: Sink) -> None:
    sent = write(READER, name)
    # It leaves a process for each open connection of Postfix; systemd ends them, too.
    await run("sh", "-c", "kill $(pidof postsrsd)")
    try:
        refused = await send(sent, READER, name)
    finally:
        await run("/etc/init.d/postsrsd", "start")
        for port in (10001, 10002):
            await answering(port)
    assert [code for code, _ in refused.values()] == [451]
    assert await send(sent, READER, name) == {}
    assert (await sink.next()).sender.startswith("SRS0=")


async def test_an_expired_name_is_unknown(name: str, database: Database, worker: AliasWorker, sink: Sink) -> None:
    del sink
    for passed in (timedelta(days=14) + GRACE + timedelta(minutes=1), UNCOLLECTIBLE_AFTER - GRACE):
        await pass_by(database, passed)
        await worker.work()
    refused = await send(write(READER, name), READER, name)
    assert refused[name][0] == 550
    assert "5.1.1" in refused[name][1]


async def test_mail_that_a_destination_sends_back_ends_its_loop(name: str, sink: Sink) -> None:
    del sink
    passed = b"".join(
        b"Received: from a.example by b.example; Mon, 23 Nov 2026 00:00:00 +0000\r\n" for _ in range(31)
    )
    refused = await send(passed + write(READER, name), READER, name)
    assert refused[""][0] == 554
    assert "too many hops" in refused[""][1]


async def test_encryption_is_offered_and_used_on_both_sides(name: str, sink: Sink) -> None:
    context = ssl.create_default_context(cafile=str(TLS_CERTIFICATE))
    context.check_hostname = False  # the sender of the test connects to an address
    assert await send(write(READER, name), READER, name, tls=context) == {}
    got = await sink.next()
    assert b"with ESMTPS" in got.content
    assert got.is_encrypted


async def test_spam_is_refused_while_its_sender_is_connected(name: str, sink: Sink) -> None:
    del sink
    refused = await send(write(READER, name, SPAM), READER, name)
    assert refused[""][0] in {550, 554}


async def test_refused_mail_of_a_sender_that_may_be_forged_is_in_the_log(
    alice: Person, name: str, sink: Sink
) -> None:
    sink.replies[alice.account.email] = "550 5.1.1 No such mailbox"
    sender = "victim@innocent.example"
    assert await send(write(sender, name), sender, name, ip=STRANGER_IP) == {}
    # The next message shows that the first one is through.
    other = f"postmaster@{HOST}"
    assert await send(write(READER, other), READER, other) == {}
    await sink.next()
    log = LOG.read_text()
    refused = re.search(
        rf"(\w+): to=<{re.escape(alice.account.email)}>, orig_to=<{re.escape(name)}>.*bounced", log
    )
    assert refused is not None
    assert f"{refused[1]}: from=<unproven@{HOST}>" in log
