"""Answers of programs: who may answer, to whom, how often, and what is sent."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from builders.forwarding import answer_sender, answers, messages
from builders.forwarding.answer_sender import AnswerSender
from builders.forwarding.mail_filter import MailFilter
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from tests.aliases.make import ALIASES, Json
from tests.cast import Client, Person
from tests.domains.nameserver import Nameserver
from tests.forwarding.heads import head_of, is_signed, message
from tests.forwarding.lmtp import HOST, OWN, HandOver, Queue
from tests.forwarding.rules import (
    ADA,
    PROVED,
    arrive,
    fill,
    inside,
    list_stored,
    mint,
    path_of,
    put_rule,
    reading,
    set_age,
)
from tests.plans.approval.make import set_policy
from tests.plans.make import alias, apply, get_alias

AS_JSON = {"Content-Type": "application/json"}
HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "receive-mail-as-an-event.md"
TEXT = "Thank you. Tuesday is fine.\n"
Send = Callable[[], Awaitable[None]]


@pytest.fixture
async def name(alice: Person, shared: str) -> Json:
    """Return a name of Alice that answers."""
    return await get_alias(alice, await apply(alice, alias(f"inbox@{shared}", alice.account.email, reply=True)))


@pytest.fixture
async def rule(alice: Person, name: Json, webhook: Json, key: Json) -> Json:
    """Let the key read and answer the mail to the name."""
    answer = await put_rule(alice, name, webhook, key, may_reply=True)
    assert answer.json()["may_reply"] is True, answer.text
    found: Json = answer.json()
    return found


@pytest.fixture
async def path(alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn) -> str:
    """Let a message arrive for an account that is no new one; return its path."""
    assert rule
    await set_age(conn, alice, answers.NEW_FOR)
    return await arrive(
        hand_over, alice, name, conn, Message_ID="<1@author.example>", References="<0@author.example>"
    )


@pytest.fixture
async def send(queue: Queue, database: Database, keyring: Keyring) -> Any:
    """Return a function that sends what is due to the mail server."""
    back = await asyncio.get_running_loop().create_server(queue.protocol, "127.0.0.1", 0)
    mail_filter = MailFilter(database, keyring, host=HOST, own=OWN, returns_to=back.sockets[0].getsockname())
    sender = AnswerSender(database, keyring, mail_filter)

    async def send_all() -> None:  # also what other tests left
        while await sender.send_due() == answer_sender.BATCH:
            pass

    yield send_all
    back.close()


def sent_from(queue: Queue, name: Json) -> list[tuple[str, list[str], bytes]]:
    """Return what was sent from a name."""
    return [each for each in queue.mail if each[0] == name["address"]]


async def answer(person: Person, key: Json, path: str, **body: Any) -> httpx.Response:
    async with reading(person.service, key) as reader:
        return await reader.post(f"{path}/reply", json=body or {"text": TEXT})


async def test_an_answer_goes_to_the_author_from_the_name_signed(
    alice: Person, key: Json, name: Json, path: str, send: Send, queue: Queue, signing: Nameserver
) -> None:
    given = await answer(alice, key, path)
    assert (given.status_code, given.json()["status"]) == (200, "queued"), given.text
    await send()
    ((sender, recipients, content),) = sent_from(queue, name)
    assert (sender, recipients) == (name["address"], [ADA])
    head = head_of(content)
    assert (head["From"], head["To"], head["Subject"]) == (name["address"], ADA, "Re: A question")
    assert (head["In-Reply-To"], head["References"]) == (
        "<1@author.example>",
        "<0@author.example> <1@author.example>",
    )
    assert head["Auto-Submitted"] == "auto-generated"
    assert head["Message-ID"].strip() == f"<{UUID(given.json()['id']).hex}@{name['address'].partition('@')[2]}>"
    assert head.get_content().replace("\r\n", "\n") == TEXT
    assert is_signed(content, name["address"].partition("@")[2], signing)
    async with reading(alice.service, key) as reader:
        (found,) = (await reader.get(path)).json()["answers"]
    assert (found["status"], found["code"]) == ("sent", "250")


async def test_a_repeated_call_sends_one_mail(
    alice: Person, name: Json, key: Json, path: str, send: Send, queue: Queue, signing: Nameserver
) -> None:
    assert signing
    given = [await answer(alice, key, path) for _ in range(2)]
    assert given[0].json()["id"] == given[1].json()["id"]
    await send()
    assert (await answer(alice, key, path)).json()["status"] == "sent"
    await send()
    assert len(sent_from(queue, name)) == 1


async def test_calls_at_once_send_one_mail(alice: Person, key: Json, path: str, conn: Conn) -> None:
    given = await asyncio.gather(*(answer(alice, key, path) for _ in range(4)))
    assert len({each.json()["id"] for each in given}) == 1
    cursor = await conn.execute(
        "SELECT count(*) FROM forwarding_answers WHERE account_id = %s", (alice.account.id,)
    )
    assert await cursor.fetchone() == (1,)


@pytest.mark.parametrize(
    "body",
    [{}, {"text": ""}, {"text": "a", "html": "b"}, {"text": "x" * 50_001}, {"html": "x" * 50_001}]
    + [{"text": "a", name: "b"} for name in ("to", "cc", "bcc", "subject", "attachments", "reply_to")],
)
async def test_an_answer_is_a_text_or_html_and_nothing_else(
    body: Json, alice: Person, key: Json, path: str
) -> None:
    async with reading(alice.service, key) as reader:
        assert (await reader.post(f"{path}/reply", json=body)).status_code == 422


async def test_a_text_has_at_most_50000_characters(alice: Person, key: Json, path: str) -> None:
    assert (await answer(alice, key, path, text="x" * 50_000)).status_code == 200


async def test_the_rule_must_allow_answers(alice: Person, name: Json, webhook: Json, key: Json, path: str) -> None:
    assert (await put_rule(alice, name, webhook, key)).json()["may_reply"] is False
    refused = await answer(alice, key, path)
    assert (refused.status_code, refused.json()["code"]) == (403, "answer_not_allowed")


async def test_a_program_cannot_allow_itself_to_answer(
    alice: Person, name: Json, webhook: Json, key: Json
) -> None:
    body = {"webhook_id": webhook["id"], "key_id": key["id"], "may_reply": True}
    assert (await alice.put(path_of(name), json=body)).json()["code"] == "person_required"


async def test_other_credentials_do_not_answer(
    alice: Person, bob: Person, shared: str, webhook: Json, path: str
) -> None:
    other = await get_alias(alice, await apply(alice, alias(f"other@{shared}", alice.account.email, reply=True)))
    second = await mint(alice)
    assert (await put_rule(alice, other, webhook, second, may_reply=True)).status_code == 200
    assert (await answer(alice, second, path)).json()["code"] == "message_not_found"
    for person in (alice, bob):
        assert (await person.post(f"{path}/reply", json={"text": TEXT})).json()["code"] == "insufficient_scope"
    for each in (alice, bob):
        async with each.browser() as browser:  # a person answers with a mail program
            assert (await browser.post(f"{path}/reply", json={"text": TEXT})).json()["code"] == "message_not_found"
    async with Client(alice.service, cookie=(await alice.admit_support(may_write=True)).token) as client:
        client.headers["Sec-Fetch-Site"] = "same-origin"
        assert (await client.post(f"{path}/reply", json={"text": TEXT})).status_code == 403


async def test_reply_of_the_name_must_be_on(alice: Person, name: Json, key: Json, path: str) -> None:
    assert (await alice.patch(f"{ALIASES}/{name['id']}", json={"reply": False})).status_code == 200
    refused = await answer(alice, key, path)
    assert (refused.status_code, refused.json()["code"]) == (409, "replies_disabled")


@pytest.mark.parametrize(("hours", "status"), [(71, 200), (72, 404)])
async def test_a_message_is_answered_for_72_hours(
    hours: int, status: int, alice: Person, key: Json, path: str
) -> None:
    with clock.moved(timedelta(hours=hours)):
        assert (await answer(alice, key, path)).status_code == status


async def test_automatic_mail_is_not_answered(
    alice: Person, name: Json, rule: Json, key: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    path = await arrive(hand_over, alice, name, conn, Auto_Submitted="auto-replied")
    refused = await answer(alice, key, path)
    assert (refused.status_code, refused.json()["code"]) == (409, "message_unanswerable")
    async with reading(alice.service, key) as reader:
        assert (await reader.get(path)).json()["unanswerable"] == refused.json()["detail"]


async def test_a_message_without_a_sender_in_its_envelope_is_not_answered(
    alice: Person, name: Json, rule: Json, key: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    sent = message(**{"From": ADA, messages.RESULTS: PROVED})
    assert (await hand_over(sent, inside(alice, name), sender=""))[0] == 250
    (found,) = await list_stored(conn, alice)
    refused = await answer(alice, key, f"{ALIASES}/{name['id']}/mail/{found}")
    assert refused.json()["code"] == "message_unanswerable"


async def test_an_answer_goes_to_from_and_never_to_reply_to(
    alice: Person,
    name: Json,
    rule: Json,
    key: Json,
    hand_over: HandOver,
    conn: Conn,
    send: Send,
    queue: Queue,
    signing: Nameserver,
) -> None:
    assert rule
    assert signing
    others = {"Reply-To": "eve@evil.example", "Cc": "carl@author.example", "Sender": "eve@evil.example"}
    path = await arrive(hand_over, alice, name, conn, "Secret words.\r\n", **others)
    assert (await answer(alice, key, path)).status_code == 200
    await send()
    ((_, recipients, content),) = sent_from(queue, name)
    assert recipients == [ADA]
    assert head_of(content)["To"] == ADA
    assert head_of(content)["Cc"] is None
    assert b"Secret words" not in content
    assert "Secret words" not in head_of(content).get_content()


@pytest.mark.maximum("answers_to_message")
@pytest.mark.parametrize(("before", "status"), [(2, 200), (3, 429)])
async def test_a_message_has_at_most_three_answers(
    before: int, status: int, alice: Person, key: Json, path: str
) -> None:
    for each in range(before):
        assert (await answer(alice, key, path, text=f"Answer {each}")).status_code == 200
    last = await answer(alice, key, path)
    assert last.status_code == status
    assert (await answer(alice, key, path, text="Answer 0")).status_code == 200  # a repeated one


@pytest.mark.maximum("answers_to_correspondent")
@pytest.mark.parametrize(("before", "status"), [(9, 200), (10, 429)])
async def test_a_correspondent_gets_at_most_ten_answers_a_day(
    before: int, status: int, alice: Person, key: Json, path: str, conn: Conn, keyring: Keyring
) -> None:
    await fill(conn, alice, before, keyring=keyring)
    refused = await answer(alice, key, path)
    assert refused.status_code == status
    if status == 429:
        assert 0 < int(refused.headers["retry-after"]) <= 24 * 3600
        with clock.moved(timedelta(days=1)):
            assert (await answer(alice, key, path)).status_code == 200


@pytest.mark.maximum("answers")
@pytest.mark.parametrize(
    ("age", "before", "status"),
    [
        (answers.NEW_FOR, 99, 200),
        (answers.NEW_FOR, 100, 429),
        (answers.NEW_FOR - timedelta(minutes=1), 9, 200),
        (answers.NEW_FOR - timedelta(minutes=1), 10, 429),
    ],
)
async def test_the_programs_of_an_account_send_at_most_100_answers_a_day_and_new_ones_a_tenth(
    age: timedelta, before: int, status: int, alice: Person, key: Json, path: str, conn: Conn
) -> None:
    await set_age(conn, alice, age)
    await fill(conn, alice, before)
    assert (await answer(alice, key, path)).status_code == status


async def test_replies_of_people_count_apart(alice: Person, key: Json, path: str, conn: Conn) -> None:
    await conn.execute(
        "INSERT INTO forwarding_reply_days VALUES (%s, %s, 200)", (alice.account.id, clock.now().date())
    )
    assert (await answer(alice, key, path)).status_code == 200


async def test_a_policy_refuses_that_programs_send(alice: Person, key: Json, path: str) -> None:
    await set_policy(alice, require="never", direct_sends="refuse")
    refused = await answer(alice, key, path)
    assert (refused.status_code, refused.json()["code"]) == (403, "sending_refused")


async def test_an_answer_is_in_the_audit(alice: Person, key: Json, path: str) -> None:
    given = (await answer(alice, key, path)).json()
    (entry,) = (await alice.get("/v1/account/audit", params={"action": "mail.answered"})).json()["items"]
    assert entry["about"]["answer_id"] == given["id"]


async def test_the_text_is_sealed_and_deleted_when_it_is_sent(
    alice: Person, key: Json, path: str, conn: Conn, send: Send, signing: Nameserver
) -> None:
    assert signing
    await answer(alice, key, path)
    stored = await (
        await conn.execute("SELECT draft FROM forwarding_answers WHERE account_id = %s", (alice.account.id,))
    ).fetchone()
    assert stored is not None
    assert b"Tuesday" not in stored[0]
    await send()
    left = await (
        await conn.execute("SELECT draft FROM forwarding_answers WHERE account_id = %s", (alice.account.id,))
    ).fetchone()
    assert left == (None,)


async def status_of(alice: Person, key: Json, path: str) -> tuple[str, str | None]:
    async with reading(alice.service, key) as reader:
        (found,) = (await reader.get(path)).json()["answers"]
    return found["status"], found["code"]


async def test_an_answer_without_a_signing_key_waits(alice: Person, key: Json, path: str, send: Send) -> None:
    await answer(alice, key, path)
    await send()
    assert await status_of(alice, key, path) == ("queued", "450")


async def test_what_the_mail_server_refuses_now_is_tried_again(
    alice: Person, name: Json, key: Json, path: str, send: Send, queue: Queue, signing: Nameserver
) -> None:
    assert signing
    queue.reply = "451 4.3.0 Later"
    await answer(alice, key, path)
    await send()
    queue.reply = "250 2.0.0 Ok: queued"
    with clock.moved(answer_sender.RETRY_DELAYS[0] + timedelta(seconds=1)):
        await send()
    assert await status_of(alice, key, path) == ("sent", "250")
    assert len(sent_from(queue, name)) == 1


async def test_what_the_mail_server_refuses_for_good_has_failed(
    alice: Person, key: Json, path: str, send: Send, queue: Queue, signing: Nameserver
) -> None:
    assert signing
    queue.reply = "554 5.7.1 No"
    await answer(alice, key, path)
    await send()
    assert await status_of(alice, key, path) == ("failed", "554")


@pytest.mark.parametrize(("draft", "state"), [(b"{}", ("queued", "451")), (None, ("failed", "550"))])
async def test_an_answer_that_cannot_be_read_stops_no_other_one(
    draft: bytes | None,
    state: tuple[str, str],
    alice: Person,
    name: Json,
    key: Json,
    path: str,
    conn: Conn,
    keyring: Keyring,
    send: Send,
    queue: Queue,
    signing: Nameserver,
) -> None:
    assert signing
    first = UUID((await answer(alice, key, path)).json()["id"])
    context = alice.account.id.bytes + first.bytes
    sealed = b"?" if draft is None else keyring.seal("forwarding/answers", draft, context=context)
    await conn.execute("UPDATE forwarding_answers SET draft = %s WHERE id = %s", (sealed, first))
    await answer(alice, key, path, text="Another one.")
    await send()
    async with reading(alice.service, key) as reader:
        found = [(each["status"], each["code"]) for each in (await reader.get(path)).json()["answers"]]
    assert found == [state, ("sent", "250")]
    assert len(sent_from(queue, name)) == 1


async def test_an_answer_is_tried_for_a_day(alice: Person, key: Json, path: str, send: Send) -> None:
    await answer(alice, key, path)
    with clock.moved(answer_sender.RETRY_FOR):
        await send()
        assert await status_of(alice, key, path) == ("failed", "450")


async def test_the_answer_of_a_sender_that_ended_is_sent_by_another(
    alice: Person, name: Json, key: Json, path: str, conn: Conn, send: Send, queue: Queue, signing: Nameserver
) -> None:
    assert signing
    await answer(alice, key, path)
    await conn.execute(  # claimed, and never recorded
        "UPDATE forwarding_answers SET attempts = 1, next_try_at = %s WHERE account_id = %s",
        (clock.now() + answer_sender.LEASE, alice.account.id),
    )
    await send()
    assert sent_from(queue, name) == []
    with clock.moved(answer_sender.LEASE + timedelta(seconds=1)):
        await send()
    assert len(sent_from(queue, name)) == 1


async def test_the_process_of_the_filter_sends_until_it_stops(
    alice: Person,
    name: Json,
    key: Json,
    path: str,
    database: Database,
    keyring: Keyring,
    queue: Queue,
    signing: Nameserver,
) -> None:
    assert signing
    back = await asyncio.get_running_loop().create_server(queue.protocol, "127.0.0.1", 0)
    mail_filter = MailFilter(database, keyring, host=HOST, own=OWN, returns_to=back.sockets[0].getsockname())
    faults = [DatabaseUnavailable("away")]

    class Sender(AnswerSender):
        async def send_due(self) -> int:
            if faults:
                raise faults.pop()
            return await super().send_due()

    await answer(alice, key, path)
    stopping = asyncio.Event()
    running = asyncio.create_task(Sender(database, keyring, mail_filter).run(stopping))
    while not sent_from(queue, name):  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0)
    stopping.set()
    await running
    assert faults == []
    back.close()


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\u202e"])
async def test_an_unusual_text_is_no_fault(text: str, alice: Person, key: Json, path: str) -> None:
    async with reading(alice.service, key) as reader:
        given = await reader.post(f"{path}/reply", content=json.dumps({"text": text}), headers=AS_JSON)
    assert given.status_code in {200, 422}


@pytest.mark.parametrize("what", ["revoke", "end", "forbid"])
async def test_a_waiting_answer_is_not_sent_when_the_right_has_ended(
    what: str,
    alice: Person,
    name: Json,
    webhook: Json,
    key: Json,
    path: str,
    send: Send,
    queue: Queue,
    signing: Nameserver,
    conn: Conn,
) -> None:
    assert signing
    await answer(alice, key, path)
    if what == "revoke":
        assert (await alice.delete(f"/v1/api-keys/{key['id']}")).status_code == 200
    elif what == "end":
        assert (await alice.delete(path_of(name))).status_code == 204
    else:
        assert (await put_rule(alice, name, webhook, key)).status_code == 200
    await send()
    assert sent_from(queue, name) == []
    cursor = await conn.execute("SELECT status FROM forwarding_answers WHERE account_id = %s", (alice.account.id,))
    assert await cursor.fetchone() == ("failed",)


async def test_records_of_answers_are_deleted_after_their_message(
    alice: Person, key: Json, path: str, conn: Conn, database: Database
) -> None:
    await answer(alice, key, path)
    for days, count in ((4, 1), (5, 0)):
        with clock.moved(timedelta(days=days)):
            await old_rows.delete(database, "forwarding_answers")
        cursor = await conn.execute(
            "SELECT count(*) FROM forwarding_answers WHERE account_id = %s", (alice.account.id,)
        )
        assert await cursor.fetchone() == (count,)


async def test_the_command_of_the_how_to_works(alice: Person, key: Json, path: str) -> None:
    found = re.search(r"-d '(\{\"text\".*\})'", HOW_TO.read_text(encoding="utf-8"))
    assert found is not None
    assert (await answer(alice, key, path, **json.loads(found[1]))).status_code == 200
