"""Mail as an event, through the real mail server: tests/forwarding/system/check."""

import asyncio

from builders.kit.db.connections import Conn
from tests.aliases.make import ALIASES
from tests.cast import Client, Person
from tests.forwarding.system.chain import AUTHOR, TIMEOUT_S, Sink, send, sign, write
from tests.forwarding.test_receptions import list_stored, mint, put_rule
from tests.plans.make import alias, apply, get_alias
from tests.webhooks.make import create

ADA = f"ada@{AUTHOR}"


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
        message = await reader.get(f"{ALIASES}/{name['id']}/mail/{stored[0]}")
    assert b"Good morning." in message.content
    assert b"X-Builders" not in message.content
