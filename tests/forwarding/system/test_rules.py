"""The rules of a name, and what is refused to those who abuse the server: tests/forwarding/system/check."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from builders.app import Service
from builders.forwarding import mail_server, maps, policy
from builders.kit.values import clock
from tests.aliases.make import ALIASES
from tests.cast import Person
from tests.forwarding.make import set_catch_all
from tests.forwarding.system.chain import AUTHOR_IP, FLOOD_IP, HOST, LIST, STRANGER_IP, Sink, ask, send, write
from tests.forwarding.system.conftest import restart, run
from tests.plans.make import alias, apply, get_alias

READER = f"reader@{LIST}"
Change = Callable[..., Awaitable[str]]


@pytest.fixture
async def change(alice: Person, shared: str) -> Change:
    """Return a function that sets rules of a name of Alice, and returns its address."""
    claimed = await get_alias(alice, await apply(alice, alias(f"ada@{shared}", alice.account.email)))

    async def send_patch(**rules: object) -> str:
        answer = await alice.patch(f"{ALIASES}/{claimed['id']}", json=rules)
        assert answer.status_code == 200, answer.text
        return f"ada@{shared}"

    return send_patch


async def test_mail_of_blocked_senders_is_refused_and_that_of_others_is_forwarded(
    change: Change, sink: Sink
) -> None:
    name = await change(block=[f"Eve@{LIST}", "spam.example"])
    for sender in (f"eve@{LIST}", f"EVE@{LIST.upper()}", "a@spam.example", "a@mail.spam.example"):
        refused = await send(write(sender, name), sender, name)
        assert refused[name][0] == 550, (sender, refused)
        assert policy.REFUSE.removeprefix("550 5.7.1 ") in refused[name][1]
    for spelling in (f'"eve"@{LIST}', f"@a.example,@b.example:eve@{LIST}"):
        assert await ask(spelling, [name], AUTHOR_IP) == [550]
    assert await send(write(READER, name), READER, name) == {}
    assert (await sink.next()).recipients


async def test_a_blocked_sender_reaches_the_other_recipients_of_its_message(
    change: Change, alice: Person, shared: str, sink: Sink
) -> None:
    name, other = await change(block=[READER]), f"other@{shared}"
    await apply(alice, alias(other, alice.account.email), name="others")
    refused = await send(write(READER, name), READER, name, other)
    assert list(refused) == [name]
    assert (await sink.next()).recipients == [alice.account.email]


async def test_mail_waits_during_a_pause_and_is_accepted_at_once_after_it(change: Change, sink: Sink) -> None:
    name = await change(pause_until=(clock.now() + timedelta(days=2)).isoformat())
    refused = await send(write(READER, name), READER, name)
    assert (refused[name][0], maps.DELAY.removeprefix("450 4.2.1 ") in refused[name][1]) == (450, True)
    clock.move(timedelta(days=2))
    assert await send(write(READER, name), READER, name) == {}
    assert (await sink.next()).recipients


async def test_mail_waits_with_its_sender_while_nobody_says_whom_the_name_blocks(
    change: Change, sink: Sink
) -> None:
    name = await change(block=[READER])
    configured = (await run("postconf", "-h", "smtpd_recipient_restrictions")).strip()
    await run(
        "postconf", f"smtpd_recipient_restrictions={configured.replace('service unix:', 'service unix:/away')}"
    )
    await restart()
    refused = await send(write(READER, name), READER, name)
    await run("postconf", f"smtpd_recipient_restrictions={configured}")
    await restart()
    assert refused[name][0] == 451
    assert policy.TRY_LATER.removeprefix("451 4.3.0 ") in refused[name][1]
    assert await send(write(f"ada@{LIST}", name), f"ada@{LIST}", name) == {}
    assert (await sink.next()).recipients


async def test_nobody_relays_by_the_server(change: Change, sink: Sink) -> None:
    del sink
    name = await change(note="a recipient of a domain of the service")
    local, _, domain = name.partition("@")
    foreign = "victim@elsewhere.example"
    tricks = [
        foreign,
        f"@{domain}:{foreign}",
        f"victim%elsewhere.example@{domain}",
        f"victim%elsewhere.example@{HOST}",
        f"elsewhere.example!victim@{domain}",
        f'"{foreign}"@{domain}',
        f'"{foreign}"@{HOST}',
        f'"{local}@{domain}"@elsewhere.example',
        f"{foreign}@{domain}",
        "victim@[192.0.2.99]",
        f"SRS0=AAAAAAAA=AA=elsewhere.example=victim@{HOST}",
        f"SRS1=AAAAAAAA=elsewhere.example==AAAAAAAA=AA=elsewhere.example=victim@{HOST}",
        f"victim@{HOST}",
    ]
    # Few in a connection: the server delays the replies to a client that makes errors.
    parts = [tricks[at : at + 4] for at in range(0, len(tricks), 4)]
    found = await asyncio.gather(*(ask(sender, part, STRANGER_IP) for sender in ("", name) for part in parts))
    codes = [code for part in found for code in part]
    assert [(to, code) for to, code in zip(tricks * 2, codes, strict=True) if not 500 <= code < 600] == []


async def test_a_sender_to_a_thousand_names_reaches_its_limits(
    alice: Person, service: Service, domain: str, sink: Sink
) -> None:
    del sink
    await set_catch_all(alice, service, domain, alice.account.email)
    names = [f"n{at}@{domain}" for at in range(1000)]
    one = await ask(READER, names[:101], FLOOD_IP)
    assert set(one[:100]) == {250}
    assert one[100] == 452  # too many recipients of a message
    others = [await ask(READER, names[at * 99 : at * 99 + 99], FLOOD_IP) for at in range(2, 7)]
    assert {code for part in others for code in part} == {250}
    last = await ask(
        READER, names[-8:], FLOOD_IP
    )  # few: the server delays the replies to a client that makes errors
    assert sum(part.count(250) for part in (one, *others, last)) <= mail_server.RATE
    assert set(last) == {250, 450}  # too many recipients of a client in a minute
