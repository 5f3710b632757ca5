"""Replies from names and rewritten authors, through the real mail server: tests/forwarding/system/check."""

import dkim  # type: ignore[import-untyped] # it has no types
import pytest

from builders.app import Service
from builders.kit.process.settings import Settings
from tests.aliases.make import ALIASES
from tests.cast import Person
from tests.forwarding.heads import head_of
from tests.forwarding.system.chain import (
    AUTHOR,
    AUTHOR_IP,
    LIST,
    STRANGER_IP,
    Names,
    Sink,
    publish_key,
    send,
    sign,
    write,
)
from tests.plans.make import alias, apply, get_alias

ADA, OWNER = f"ada@{AUTHOR}", f"owner@{LIST}"


@pytest.fixture
async def domain(service: Service, settings: Settings, shared: str, names: Names) -> str:
    """Return a domain whose key is published."""
    await publish_key(service, settings, names, shared)
    return shared


@pytest.fixture
def confirmed(alice: Person, names: Names) -> str:
    """Return Alice's mailbox, whose domain has SPF."""
    names.texts[f"{alice.account.email.partition('@')[2]}."] = f"v=spf1 ip4:{AUTHOR_IP} -all"
    return alice.account.email


@pytest.fixture
async def name(alice: Person, domain: str, confirmed: str) -> str:
    """Return a name with replies, whose destination has SPF."""
    await get_alias(alice, await apply(alice, alias(f"shopkeeper@{domain}", confirmed, reply=True)))
    return f"shopkeeper@{domain}"


async def test_a_correspondent_and_an_owner_write_to_each_other_by_the_name(
    name: str, domain: str, confirmed: str, sink: Sink, names: Names, author_key: bytes
) -> None:
    assert await send(sign(write(f"Ada <{ADA}>", name), author_key), ADA, name) == {}
    got = await sink.next()
    assert got.recipients == [confirmed]
    reverse = head_of(got.content)["From"].addresses[0].addr_spec
    assert reverse.endswith(f"@{domain}")
    assert dkim.verify(got.content, dnsfunc=names.txt)
    answer = write(confirmed, reverse, **{"X-Originating-IP": "192.0.2.10"})
    assert await send(answer, confirmed, reverse) == {}
    reply = await sink.next()
    assert (reply.sender, reply.recipients) == (name, [ADA])
    assert dkim.verify(reply.content, dnsfunc=names.txt)
    assert head_of(reply.content)["From"] == name
    assert confirmed.encode() not in reply.content
    assert b"192.0.2.10" not in reply.content


@pytest.fixture
async def reverse(alice: Person, name: str) -> str:
    """Return the reverse address of a correspondent."""
    found = (await alice.get(ALIASES)).json()["items"]
    (alias_id,) = [each["id"] for each in found if each["address"] == name]
    added = await alice.post(f"{ALIASES}/{alias_id}/correspondents", json={"email": ADA})
    address: str = added.json()["reverse_address"]
    return address


async def test_a_forged_owner_is_refused_while_its_sender_is_connected(
    reverse: str, confirmed: str, sink: Sink
) -> None:
    del sink
    for to in (reverse, reverse.replace("@", "+tag@")):
        refused = await send(write(confirmed, to), confirmed, to, ip=STRANGER_IP)
        assert refused[""][0] in {550, 554}
        assert "5.7.1" in refused[""][1]


async def test_an_author_who_is_not_the_owner_gets_a_report(reverse: str, sink: Sink) -> None:
    assert await send(write(OWNER, reverse), OWNER, reverse) == {}
    report = await sink.next()
    assert report.recipients == [OWNER]
    assert b"Only the owner" in report.content


async def test_the_author_of_mail_that_passed_by_spf_alone_is_rewritten(
    alice: Person, domain: str, confirmed: str, sink: Sink, names: Names
) -> None:
    await apply(alice, alias(f"plain@{domain}", confirmed))
    assert await send(write(f"Ada <{ADA}>", f"plain@{domain}"), ADA, f"plain@{domain}") == {}
    got = await sink.next()
    head = head_of(got.content)
    assert head["From"] == f'"Ada via {domain}" <no-reply@{domain}>'
    assert head["Reply-To"] == f"Ada <{ADA}>"
    assert dkim.verify(got.content, dnsfunc=names.txt)
    assert b"X-Builders" not in got.content


async def test_headers_of_the_filter_are_removed_from_mail_of_strangers(
    alice: Person, domain: str, confirmed: str, sink: Sink
) -> None:
    await apply(alice, alias(f"plain@{domain}", confirmed))
    sent = write(OWNER, f"plain@{domain}", **{"X-Builders-Via": "evil.example", "X-Builders-Results": "spf=pass"})
    assert await send(sent, OWNER, f"plain@{domain}") == {}
    got = await sink.next()
    assert head_of(got.content)["From"] == OWNER
    assert b"X-Builders" not in got.content


async def test_nobody_outside_reaches_the_addresses_of_the_filter(sink: Sink) -> None:
    del sink
    inside = f"f-{'a' * 26}-{'a' * 26}@filter.invalid"
    refused = await send(write(OWNER, inside), OWNER, inside)
    assert refused[inside][0] == 554
