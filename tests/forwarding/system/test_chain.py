"""Mail to claimed names, forwarded by Debian's Postfix, postsrsd and rspamd: tests/forwarding/system/check."""

import base64
import hmac
import re
import time
from pathlib import Path

import dkim  # type: ignore[import-untyped] # it has no types
import pytest

from builders.app import Service
from builders.kit.db.connections import Conn
from builders.kit.values.domain_names import find_a_label
from tests.aliases.make import Owner, fresh_address
from tests.cast import Person
from tests.forwarding.make import set_catch_all
from tests.forwarding.system.chain import (
    AUTHOR,
    HOST,
    HOST_IP,
    LIST,
    STRANGER_IP,
    Names,
    Received,
    Sink,
    send,
    sign,
    write,
)
from tests.forwarding.system.conftest import answering, run
from tests.plans.make import alias, apply, suspend_aliases

ADA, READER = f"ada@{AUTHOR}", f"reader@{LIST}"
OPERATOR = "operator@vendor.example"
SRS_SECRET = Path("/etc/postsrsd.secret")
BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@pytest.fixture
async def name(alice: Person, shared: str) -> str:
    """Return a name that forwards to Alice."""
    await apply(alice, alias(f"ada@{shared}", alice.account.email))
    return f"ada@{shared}"


def body(content: bytes) -> bytes:
    """Return the body of a message."""
    return content.partition(b"\r\n\r\n")[2]


def is_sealed(message: Received, names: Names) -> bool:
    """Return whether the host sealed the message (ARC), and the seal is valid."""
    status, _, _ = dkim.arc_verify(message.content, dnsfunc=names.txt)
    return status == dkim.CV_Pass and f"d={HOST};".encode() in message.content


async def test_mail_to_a_name_is_delivered_once_and_proves_its_author(
    alice: Person, name: str, sink: Sink, names: Names, author_key: bytes
) -> None:
    sent = sign(write(ADA, name), author_key)
    assert await send(sent, ADA, name) == {}
    got = await sink.next()
    assert got.recipients == [alice.account.email]
    assert re.fullmatch(rf"SRS0=.{{8}}=..={re.escape(AUTHOR)}=ada@{re.escape(HOST)}", got.sender)
    assert names.texts[f"{HOST}."] == f"v=spf1 ip4:{HOST_IP} -all"  # which the new sender passes
    assert body(got.content) == body(sent)
    assert dkim.verify(got.content, dnsfunc=names.txt)
    assert is_sealed(got, names)
    assert b"spf=pass" in got.content
    assert b"dmarc=pass" in got.content


async def test_a_tag_and_capitals_reach_the_name_and_stay_out_of_the_destination(
    alice: Person, name: str, sink: Sink
) -> None:
    local, _, domain = name.partition("@")
    assert await send(write(READER, name), READER, f"{local.upper()}+shop@{domain}") == {}
    assert (await sink.next()).recipients == [alice.account.email]


async def test_unknown_names_and_foreign_domains_are_refused(shared: str, sink: Sink) -> None:
    del sink
    nobody, foreign = f"nobody@{shared}", "someone@elsewhere.example"
    refused = await send(write(READER, nobody), READER, nobody, foreign)
    assert refused[nobody][0] == 550
    assert "5.1.1" in refused[nobody][1]
    assert refused[foreign][0] == 554
    assert "Relay access denied" in refused[foreign][1]


async def test_mail_waits_with_its_sender_until_the_recipient_confirmed(
    alice: Person, shared: str, sink: Sink
) -> None:
    del sink
    address = f"new@{shared}"
    await apply(alice, alias(address, fresh_address()))
    refused = await send(write(READER, address), READER, address)
    assert refused[address][0] == 450


async def test_the_operator_receives_the_mail_to_postmaster_of_each_domain(shared: str, sink: Sink) -> None:
    for address in (f"postmaster@{shared}", f"abuse@{HOST}"):
        assert await send(write(READER, address), READER, address) == {}
        assert (await sink.next()).recipients == [OPERATOR]


async def test_a_forged_sender_of_a_reject_policy_is_refused(name: str, sink: Sink) -> None:
    del sink
    refused = await send(write(ADA, name), ADA, name, ip=STRANGER_IP)
    assert refused[""][0] in {550, 554}, refused


async def test_a_signature_that_survives_a_mailing_list_passes_a_reject_policy(
    name: str, sink: Sink, names: Names, author_key: bytes
) -> None:
    sent = sign(write(ADA, f"talk@{LIST}", **{"List-Id": f"<talk.{LIST}>"}), author_key)
    assert await send(sent, f"talk-bounces@{LIST}", name) == {}
    assert dkim.verify((await sink.next()).content, dnsfunc=names.txt)


async def test_a_refusal_of_the_destination_reaches_a_sender_that_spf_shows(
    alice: Person, name: str, sink: Sink
) -> None:
    sink.replies[alice.account.email] = "550 5.1.1 No such mailbox"
    assert await send(write(READER, name), READER, name) == {}
    notice = await sink.next()
    assert (notice.sender, notice.recipients) == ("<>", [READER])
    assert b"No such mailbox" in notice.content


@pytest.mark.parametrize(("victim", "options"), [("ada", ()), ("häfen", ("SMTPUTF8",))])
async def test_a_refusal_of_the_destination_reaches_no_sender_that_may_be_forged(
    alice: Person, name: str, sink: Sink, victim: str, options: tuple[str, ...]
) -> None:
    sink.replies[alice.account.email] = "550 5.1.1 No such mailbox"
    sender = f"{victim}@innocent.example"
    sent = write(READER, name).replace(READER.encode(), sender.encode())
    assert await send(sent, sender, name, ip=STRANGER_IP, options=options) == {}
    # The next message shows that the notice of the first one is through.
    other = f"postmaster@{HOST}"
    assert await send(write(READER, other), READER, other) == {}
    assert (await sink.next()).recipients == [OPERATOR]


async def test_bounces_return_to_the_author_and_forged_return_addresses_are_refused(name: str, sink: Sink) -> None:
    assert await send(write(READER, name), READER, name) == {}
    back = (await sink.next()).sender
    assert await send(write(READER, back), "", back, ip=STRANGER_IP) == {}
    returned = await sink.next()
    assert (returned.sender, returned.recipients) == ("<>", [READER])
    forged = back.replace(back[5:13], "AAAAAAAA")
    refused = await send(write(READER, forged), "", forged, f"unproven@{HOST}", ip=STRANGER_IP)
    assert {each[0] for each in refused.values()} == {550}
    assert len(refused) == 2


def return_address(author: str, day: int) -> str:
    """Return the address to which a message of an author returns that is forwarded on a day since 1970."""
    (secret,) = SRS_SECRET.read_text().splitlines()
    local_part, _, domain = author.partition("@")
    stamp = BASE32[day // 32 % 32] + BASE32[day % 32]
    found = hmac.digest(secret.encode(), (stamp + domain + local_part).lower().encode(), "sha1")
    return f"SRS0={base64.b64encode(found).decode()[:8]}={stamp}={domain}={local_part}@{HOST}"


async def test_a_return_address_expires_after_three_weeks(name: str, sink: Sink) -> None:
    today = int(time.time()) // 86_400
    assert await send(write(READER, name), READER, name) == {}
    assert (await sink.next()).sender == return_address(READER, today)
    old, older = (return_address(READER, today - days) for days in (20, 23))
    refused = await send(write(READER, old), "", old, older, ip=STRANGER_IP)
    assert {at: code for at, (code, _) in refused.items()} == {older: 550}
    assert (await sink.next()).recipients == [READER]


async def test_a_large_message_in_8_bits_arrives_unchanged(name: str, sink: Sink) -> None:
    text = b"\xc3\xa9" * 400 + b"\r\n"
    sent = write(READER, name) + text * (25 * 1024 * 1024 // len(text))
    assert await send(sent, READER, name, options=("BODY=8BITMIME",)) == {}
    assert body((await sink.next()).content) == body(sent)


async def test_a_sender_outside_ascii_writes_to_a_name(alice: Person, name: str, sink: Sink) -> None:
    sender = f"häfen@{LIST}"
    sent = write(READER, name).replace(READER.encode(), sender.encode())
    assert await send(sent, sender, name, options=("SMTPUTF8",)) == {}
    assert (await sink.next()).recipients == [alice.account.email]


async def test_a_catch_all_receives_mail_in_unicode_and_a_suspended_name_none(
    alice: Person, service: Service, sink: Sink, conn: Conn, domain: str
) -> None:
    written = domain.replace("harbour", "häfen")
    domain = str(find_a_label(written))
    owner = Owner.of(service.api.state.database, alice)
    await owner.claim_one("stopped", domain, alice.account.email)
    await set_catch_all(alice, service, domain, alice.account.email)
    await suspend_aliases(conn, alice, f"stopped@{domain}")
    sent = write(READER, f"any.thing@{domain}")
    assert await send(sent, READER, f"any.thing@{written}", options=("SMTPUTF8",)) == {}
    assert (await sink.next()).recipients == [alice.account.email]
    refused = await send(sent, READER, f"stopped@{domain}")
    assert refused[f"stopped@{domain}"][0] == 550


async def test_mail_waits_with_its_sender_while_the_filter_is_away(name: str, sink: Sink) -> None:
    del sink
    await run(
        "sh", "-c", "kill $(cat /run/rspamd/rspamd.pid) && while ss -ltn | grep -q :11332; do sleep 0.1; done"
    )
    try:
        refused = await send(write(READER, name), READER, name)
    finally:
        await run("rspamd", "-u", "_rspamd", "-g", "_rspamd")
        await answering(11332)
    assert [code for code, _ in refused.values()] == [451]
