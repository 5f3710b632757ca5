"""Mail as an event, through the real mail server: tests/forwarding/system/check."""

import asyncio

import dkim  # type: ignore[import-untyped] # it has no types

from builders.app import Service
from builders.forwarding.answer_sender import AnswerSender
from builders.forwarding.mail_filter import MailFilter
from builders.forwarding.mail_server import RETURN
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from tests.aliases.make import ALIASES
from tests.cast import Client, Person
from tests.forwarding.heads import head_of
from tests.forwarding.lmtp import OWN
from tests.forwarding.rules import WHOLE, list_stored, mint, put_rule
from tests.forwarding.system.chain import AUTHOR, HOST, TIMEOUT_S, Names, Sink, publish_key, send, sign, write
from tests.plans.make import alias, apply, get_alias
from tests.webhooks.make import create

ADA = f"ada@{AUTHOR}"


async def test_a_program_waits_for_a_code_and_answers_and_the_correspondent_gets_it_from_the_name(
    alice: Person,
    shared: str,
    sink: Sink,
    author_key: bytes,
    service: Service,
    settings: Settings,
    names: Names,
    keyring: Keyring,
) -> None:
    await publish_key(service, settings, names, shared)
    name = await get_alias(alice, await apply(alice, alias(f"agent@{shared}", alice.account.email, reply=True)))
    key = await mint(alice)
    webhook = await create(alice, events=["invoice.created"])
    assert (await put_rule(alice, name, webhook, key, may_reply=True)).status_code == 200
    sent = sign(write(ADA, name["address"], "Your code is 482913.\n"), author_key)
    listed = f"{ALIASES}/{name['id']}/mail/messages"
    async with Client(alice.service, key=key["secret"]) as reader:
        waiting = asyncio.create_task(reader.get(listed, params={"wait": 20, "from": AUTHOR}))
        assert await send(sent, ADA, name["address"]) == {}
        (message,) = (await waiting).json()["items"]
        assert [each["code"] for each in message["extracted"]["codes"]] == ["482913"]
        assert message["authentication"] == {"spf": "pass", "dkim": "pass", "dmarc": "pass", "aligned": True}
        answered = await reader.post(f"{message['path']}/reply", json={"text": "Thank you."})
        assert answered.status_code == 200, answered.text
    assert (await sink.next()).recipients == [alice.account.email]
    state = service.api.state
    mail_filter = MailFilter(state.database, keyring, host=HOST, own=OWN, returns_to=RETURN)
    assert await AnswerSender(state.database, keyring, mail_filter).send_due() == 1
    reply = await sink.next()
    assert (reply.sender, reply.recipients) == (name["address"], [ADA])
    assert dkim.verify(reply.content, dnsfunc=names.txt)
    assert head_of(reply.content)["From"] == name["address"]
    assert head_of(reply.content)["In-Reply-To"] == head_of(sent)["Message-ID"]
    assert alice.account.email.encode() not in reply.content


async def test_mail_is_forwarded_and_received_as_an_event(
    alice: Person, shared: str, sink: Sink, author_key: bytes, conn: Conn
) -> None:
    name = await get_alias(alice, await apply(alice, alias(f"inbox@{shared}", alice.account.email)))
    key = await mint(alice)
    answer = await put_rule(alice, name, await create(alice, events=["invoice.created"]), key)
    assert answer.status_code == 200, answer.text
    sent = sign(write(ADA, name["address"]), author_key)
    assert await send(sent, ADA, name["address"]) == {}
    assert (await sink.next()).recipients == [alice.account.email]
    async with asyncio.timeout(TIMEOUT_S):
        while True:  # Postfix tells nobody
            if stored := await list_stored(conn, alice):
                break
            await asyncio.sleep(0.1)
    async with Client(alice.service, key=key["secret"]) as reader:
        message = await reader.get(f"{ALIASES}/{name['id']}/mail/{stored[0]}", headers=WHOLE)
    assert b"Good morning." in message.content
    assert b"X-Builders" not in message.content
