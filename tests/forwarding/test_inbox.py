"""The messages that a name received: who reads them, as JSON and as a list; waiting for one."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from builders.app import Service
from builders.forwarding import messages
from builders.identity.records import SessionKind
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.webhooks.feed import FeedWaiters
from tests.aliases.make import ALIASES, Json
from tests.cast import Client, Person
from tests.forwarding.heads import message
from tests.forwarding.lmtp import OWN_DOMAIN, HandOver
from tests.forwarding.rules import (
    ADA,
    PROVED,
    WHOLE,
    arrive,
    inside,
    list_stored,
    mint,
    put_rule,
    reading,
    receive,
)
from tests.plans.make import alias, apply, get_alias

SOON_S = 15  # on a busy machine, and less than the waits
CODE = "Your code is 482913. Open https://author.example/confirm\r\n"


@pytest.fixture
async def path(alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn) -> str:
    """Let a message with a code arrive; return its path."""
    assert rule
    return await arrive(hand_over, alice, name, conn, CODE)


@pytest.fixture
def listed(name: Json) -> str:
    """Return the path of the list."""
    return f"{ALIASES}/{name['id']}/mail/messages"


async def test_a_message_is_listed_with_what_a_program_needs(
    alice: Person, key: Json, name: Json, path: str, listed: str
) -> None:
    async with reading(alice.service, key) as reader:
        answer = await reader.get(listed)
    assert answer.status_code == 200, answer.text
    (item,) = answer.json()["items"]
    assert (item["path"], item["alias_id"], item["subject"]) == (path, name["id"], "A question")
    assert item["from"] == {"name": "Ada", "email": ADA}
    assert item["authentication"] == {"spf": "pass", "dkim": "pass", "dmarc": "pass", "aligned": True}
    assert [each["code"] for each in item["extracted"]["codes"]] == ["482913"]
    assert [(each["host"], each["is_of_sender"]) for each in item["extracted"]["links"]] == [
        ("author.example", True)
    ]
    assert item["unanswerable"] is None
    assert item["arrived_at"] < item["expires_at"]


async def test_a_message_is_read_as_json(alice: Person, key: Json, path: str) -> None:
    async with reading(alice.service, key) as reader:
        answer = await reader.get(path)
    assert answer.status_code == 200, answer.text
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-store", "Accept")
    found = answer.json()
    assert found["text"] == CODE.replace("\r\n", "\n")
    assert {"name": "Subject", "value": "A question"} in found["headers"]
    assert "X-Builders-Results" not in {each["name"] for each in found["headers"]}
    assert (found["files"], found["is_cut"]) == ([], False)


async def test_attachments_are_listed_with_their_paths(
    alice: Person, name: Json, rule: Json, key: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    attached = "--b\r\nContent-Type: text/plain\r\n\r\nSee.\r\n--b\r\nContent-Type: text/x\r\n"
    attached += 'Content-Disposition: attachment; filename="bill.txt"\r\n\r\nbill\r\n--b--\r\n'
    path = await arrive(hand_over, alice, name, conn, attached, Content_Type="multipart/mixed; boundary=b")
    async with reading(alice.service, key) as reader:
        found = (await reader.get(path)).json()
        (file,) = found["files"]
        assert (file["name"], file["media_type"], file["size"]) == ("bill.txt", "text/x", 4)
        assert (await reader.get(file["path"])).content == b"bill"
    assert (found["text"], found["attachments"]) == ("See.", 1)


async def test_what_the_sender_wrote_is_marked_as_data(alice: Person) -> None:
    document = (await alice.get("/openapi.json")).json()
    members = document["components"]["schemas"]["MailMessageDetail"]["properties"]
    assert document["components"]["schemas"]["UntrustedText"]["x-untrusted"] is True
    for name in ("subject", "text"):
        assert members[name]["$ref"].endswith("/UntrustedText")


async def test_control_characters_of_a_text_are_removed(
    alice: Person, name: Json, rule: Json, key: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    path = await arrive(
        hand_over, alice, name, conn, "a\x1b[31m\u202eb\r\n", Content_Type="text/plain; charset=utf-8"
    )
    async with reading(alice.service, key) as reader:
        assert (await reader.get(path)).json()["text"] == "a[31mb\n"


async def test_other_credentials_get_404_or_403(
    alice: Person, bob: Person, path: str, listed: str, shared: str, webhook: Json
) -> None:
    other = await get_alias(alice, await apply(alice, alias(f"other@{shared}", alice.account.email)))
    second = await mint(alice)
    assert (await put_rule(alice, other, webhook, second)).status_code == 200
    async with reading(alice.service, second) as reader:  # it reads the mail to another name
        assert (await reader.get(listed)).json()["code"] == "reception_not_found"
        assert (await reader.get(path)).json()["code"] == "message_not_found"
    for place in (path, listed):
        assert (await alice.get(place)).json()["code"] == "insufficient_scope"
        assert (await bob.get(place)).status_code == 403


async def test_a_stranger_with_the_scope_sees_no_name(alice: Person, bob: Person, path: str, listed: str) -> None:
    async with bob.browser() as browser:
        assert (await browser.get(listed)).json()["code"] == "alias_not_found"
        assert (await browser.get(path)).json()["code"] == "message_not_found"
    assert alice


async def list_opened(person: Person) -> list[Any]:
    items = (await person.get("/v1/account/audit", params={"action": "mail.opened"})).json()["items"]
    return [each["about"] for each in items]


async def test_the_person_reads_in_a_fresh_session_and_each_opened_message_is_in_the_audit(
    alice: Person, path: str, listed: str
) -> None:
    async with alice.browser() as browser:
        assert (await browser.get(listed)).status_code == 200
        assert await list_opened(alice) == []
        assert (await browser.get(path)).status_code == 200
        assert (await browser.get(path, headers=WHOLE)).status_code == 200
    _, _, _, alias_id, _, message_id = path.split("/")
    assert await list_opened(alice) == [{"alias_id": alias_id, "message_id": message_id}] * 2


async def test_reading_by_the_key_is_not_in_the_audit(alice: Person, key: Json, path: str) -> None:
    async with reading(alice.service, key) as reader:
        assert (await reader.get(path)).status_code == 200
    assert await list_opened(alice) == []


@pytest.mark.parametrize(("minutes", "status"), [(10, 200), (11, 401)])
async def test_an_old_session_does_not_read(
    minutes: int, status: int, alice: Person, path: str, listed: str
) -> None:
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=minutes) - timedelta(seconds=30)):
            for place in (path, listed):
                assert (await browser.get(place)).status_code == status


async def test_support_bearer_tokens_and_sessions_of_the_command_line_do_not_read(
    alice: Person, path: str, listed: str
) -> None:
    support, own = await alice.admit_support(may_write=True), await alice.sign_in()
    program = await alice.sign_in(kind=SessionKind.TOKEN)
    for credential in ({"cookie": support.token}, {"token": own.token}, {"cookie": program.token}):
        async with Client(alice.service, **credential) as client:
            for place in (path, f"{path}/attachments/1", listed):
                assert (await client.get(place)).status_code == 403


async def test_pages_follow_each_other(
    alice: Person, name: Json, rule: Json, key: Json, hand_over: HandOver, conn: Conn, listed: str
) -> None:
    assert rule
    arrived = [
        await arrive(hand_over, alice, name, conn, Message_ID=f"<{each}@author.example>") for each in range(3)
    ]
    seen, cursor = [], None
    async with reading(alice.service, key) as reader:
        while True:
            page = (await reader.get(listed, params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
            seen += [each["path"] for each in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
    assert seen == arrived[::-1]


async def test_a_page_has_at_most_50_messages(
    alice: Person, name: Json, rule: Json, key: Json, listed: str
) -> None:
    assert rule
    for each in range(51):
        await receive(alice, name["id"], **{"Message-ID": f"<{each}@author.example>"})
    async with reading(alice.service, key) as reader:
        first = (await reader.get(listed, params={"limit": 500})).json()
        last = (await reader.get(listed, params={"limit": 500, "cursor": first["next_cursor"]})).json()
    assert (len(first["items"]), len(last["items"]), last["next_cursor"]) == (50, 1, None)


@pytest.mark.parametrize(
    ("sender", "count"), [("author.example", 1), ("AUTHOR.example", 1), ("example", 0), ("evil.example", 0)]
)
async def test_from_selects_the_domain_of_the_author(
    sender: str, count: int, alice: Person, key: Json, path: str, listed: str
) -> None:
    assert path
    async with reading(alice.service, key) as reader:
        answer = await reader.get(listed, params={"from": sender})
    assert (answer.status_code, len(answer.json().get("items", []))) == (
        (200, count) if "." in sender else (422, 0)
    )


async def test_from_selects_domains_below_it_and_no_others(
    alice: Person, name: Json, rule: Json, key: Json, hand_over: HandOver, conn: Conn, listed: str
) -> None:
    assert rule
    await arrive(hand_over, alice, name, conn, From="no-reply@mail.author.example")
    async with reading(alice.service, key) as reader:
        for sender, count in (("author.example", 1), ("mail.author.example", 1), ("x.mail.author.example", 0)):
            assert len((await reader.get(listed, params={"from": sender})).json()["items"]) == count


async def test_nobody_who_copies_the_table_learns_who_wrote(alice: Person, path: str, conn: Conn) -> None:
    assert path
    cursor = await conn.execute(
        "SELECT message::text FROM forwarding_messages AS message WHERE account_id = %s", (alice.account.id,)
    )
    ((row,),) = await cursor.fetchall()
    for hidden in (b"author.example", b"A question", b"482913"):
        assert hidden.hex() not in row
        assert hidden.decode() not in row


@pytest.fixture
def waiters(service: Service) -> FeedWaiters:
    found: FeedWaiters = service.api.state.feed_waiters
    return found


async def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition holds; other tasks run meanwhile."""
    while not holds():  # noqa: ASYNC110 - nothing announces it
        await asyncio.sleep(0)


async def waiting(reader: Client, path: str, waiters: FeedWaiters, **params: Any) -> asyncio.Task[httpx.Response]:
    """Return a request that is waiting for mail."""
    count = waiters.count
    task = asyncio.create_task(reader.get(path, params={"wait": 20, **params}))
    await until(lambda: waiters.count > count or task.done())
    return task


async def test_a_wait_ends_when_mail_of_the_domain_arrives(
    alice: Person,
    name: Json,
    key: Json,
    path: str,
    listed: str,
    hand_over: HandOver,
    conn: Conn,
    waiters: FeedWaiters,
) -> None:
    assert path  # arrived before the wait
    async with reading(alice.service, key) as reader:
        task = await waiting(reader, listed, waiters, **{"from": "author.example"})
        await arrive(hand_over, alice, name, conn, From="eve@evil.example")
        newer = await arrive(
            hand_over, alice, name, conn, "Your code is 1234.\r\n", Message_ID="<2@author.example>"
        )
        answer = await asyncio.wait_for(task, SOON_S)
    assert [each["path"] for each in answer.json()["items"]] == [newer]
    assert waiters.count == 0


async def test_mail_that_is_there_is_not_waited_for_with_since(
    alice: Person, key: Json, path: str, listed: str
) -> None:
    async with reading(alice.service, key) as reader:
        first = (await reader.get(listed, params={"since": "2020-01-01T00:00:00Z", "wait": 20})).json()
    assert [each["path"] for each in first["items"]] == [path]


async def test_a_wait_that_a_drain_ends_is_continued_by_its_since(
    alice: Person,
    name: Json,
    key: Json,
    rule: Json,
    listed: str,
    hand_over: HandOver,
    conn: Conn,
    waiters: FeedWaiters,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert rule
    monkeypatch.setattr(waiters, "_is_closed", True)
    async with reading(alice.service, key) as reader:
        ended = (await reader.get(listed, params={"wait": 20})).json()
        assert ended["items"] == []
        arrived = await arrive(hand_over, alice, name, conn)
        continued = (await reader.get(listed, params={"since": ended["since"]})).json()
    assert [each["path"] for each in continued["items"]] == [arrived]


async def test_requests_that_wait_for_mail_and_events_have_one_maximum(
    alice: Person, key: Json, rule: Json, listed: str, waiters: FeedWaiters, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rule
    monkeypatch.setattr(waiters, "max_account_waiters", 1)
    async with reading(alice.service, key) as reader:
        task = await waiting(reader, listed, waiters)
        refused = await alice.get("/v1/events", params={"wait": 20})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiters")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_wait_has_at_most_20_seconds(alice: Person, key: Json, rule: Json, listed: str) -> None:
    assert rule
    async with reading(alice.service, key) as reader:
        assert (await reader.get(listed, params={"wait": 21})).status_code == 422


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


OWN_MAIL = f"From: Builders <no-reply@{OWN_DOMAIN}>\r\n\r\nYour code is 482913.\r\n"
IN_BASE64 = "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n"
OF_SERVICE = {
    "base64": (encoded(OWN_MAIL), {"Content-Transfer-Encoding": "base64"}),
    "quoted-printable": (OWN_MAIL.replace("@", "=40"), {"Content-Transfer-Encoding": "quoted-printable"}),
    "a message in base64": (
        f"--b\r\n{IN_BASE64}\r\n{encoded(OWN_MAIL)}\r\n--b--\r\n",
        {"Content-Type": "multipart/mixed; boundary=b"},
    ),
    "UTF-16": (
        b64encode(OWN_MAIL.encode("utf-16")).decode(),
        {"Content-Transfer-Encoding": "base64", "Content-Type": "text/plain; charset=utf-16"},
    ),
    "HTML": (OWN_MAIL.replace("@", "&#64;"), {"Content-Type": "text/html"}),
    "a link": ("https://console.builders.example/v1/auth/login?token=1\r\n", {}),
    "an encoded link": (encoded("https://CONSOLE.builders.example/x"), {"Content-Transfer-Encoding": "base64"}),
    "an encoded header": ("", {"X-From": f"=?utf-8?b?{encoded(f'no-reply@{OWN_DOMAIN}')}?="}),
}


@pytest.mark.parametrize("how", OF_SERVICE)
async def test_mail_of_the_service_is_not_received_in_any_encoding(
    how: str, alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    body, head = OF_SERVICE[how]
    written = message(body, **{"From": ADA, messages.RESULTS: PROVED, **head})
    assert (await hand_over(written, inside(alice, name)))[0] == 250
    assert await list_stored(conn, alice) == []


async def test_the_address_that_signs_in_takes_no_rule(
    alice: Person, name: Json, webhook: Json, key: Json, conn: Conn
) -> None:
    await sign_in_by(conn, alice, name["address"].upper().replace("INBOX", "in.box+tag"))
    refused = await put_rule(alice, name, webhook, key)
    assert (refused.status_code, refused.json()["code"]) == (409, "sign_in_address")


async def test_mail_to_the_address_that_signs_in_is_not_received(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    await sign_in_by(conn, alice, name["address"])  # the address was changed after the rule was set
    assert (await hand_over(message(From=ADA), inside(alice, name)))[0] == 250
    assert await list_stored(conn, alice) == []


async def sign_in_by(conn: Conn, person: Person, email: str) -> None:
    """Give the account another address."""
    await conn.execute("UPDATE identity_accounts SET email = %s WHERE id = %s", (email.lower(), person.account.id))
