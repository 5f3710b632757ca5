"""A reader ends mail of a kind, by a button or by one click of their mail program, and gets no more of it."""

import re
from io import StringIO

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.http import access_log
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.mail import optouts, service as mail
from builders.mail.optouts import Subscription
from builders.mail.records import VENDOR, Category, Letter, Status, Topic
from tests.cast import Client, Person
from tests.mail.conftest import Look, Send
from tests.mail.make import LETTERS, RENEWALS, SIGN_IN, WEBHOOK
from tests.mail.servers import HTML, TEXT, MailServer

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def reader(alice: Person) -> str:
    """An address that no other test has."""
    return alice.account.email


@pytest.fixture
async def link(send: Send, database: Database, by_smtp: Settings, smtp: MailServer, reader: str) -> str:
    """What stands in the headers of a notice to them."""
    await send(RENEWALS, to=reader)
    await queue.run_pending(database, by_smtp)
    message = smtp.received[0].message
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    found = re.fullmatch(
        r"<http://builders\.test(/v1/mail/unsubscribe/[A-Za-z0-9_-]+)>", message["List-Unsubscribe"]
    )
    assert found is not None
    assert found[1] in smtp.received[0].part(TEXT)
    assert found[1] in smtp.received[0].part(HTML)
    return found[1]


async def test_one_click_ends_it_at_once(
    anyone: Client,
    link: str,
    send: Send,
    look: Look,
    database: Database,
    by_smtp: Settings,
    smtp: MailServer,
    reader: str,
) -> None:
    answer = await anyone.post(link, data=ONE_CLICK)
    assert (answer.status_code, answer.is_redirect) == (200, False)
    assert "set-cookie" not in answer.headers

    message_id = await send(RENEWALS, to=f" {reader.upper()} ")
    await queue.run_pending(database, by_smtp)
    stands = await look(message_id)
    assert (stands.status, stands.attempts, stands.next_try_at) == (Status.SUPPRESSED, 0, None)
    assert len(smtp.received) == 1


@pytest.mark.parametrize("body", [b"", b"anything", b"\xff\x00"])
async def test_it_can_be_repeated_whatever_the_body_says(
    anyone: Client, link: str, send: Send, look: Look, reader: str, body: bytes
) -> None:
    for _ in range(3):
        assert (await anyone.post(link, content=body)).status_code == 200
    assert (await look(await send(RENEWALS, to=reader))).status is Status.SUPPRESSED


async def test_to_open_the_link_ends_nothing(
    anyone: Client, link: str, send: Send, look: Look, reader: str
) -> None:
    answer = await anyone.get(link, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert f'<form method="post" action="{link}">' in answer.text
    assert f"{reader[0]}***@example.net will get no more notices about portfolios and renewals." in answer.text
    assert reader not in answer.text
    assert (await look(await send(RENEWALS, to=reader))).status is Status.QUEUED


async def test_other_mail_goes_on(anyone: Client, link: str, send: Send, look: Look, reader: str) -> None:
    await anyone.post(link, data=ONE_CLICK)
    for letter in (WEBHOOK, SIGN_IN):
        assert (await look(await send(letter, to=reader))).status is Status.QUEUED
    assert (await look(await send(RENEWALS, to="another@mail.example"))).status is Status.QUEUED


async def test_what_waits_for_another_attempt_is_not_sent_either(
    anyone: Client,
    link: str,
    send: Send,
    look: Look,
    database: Database,
    by_smtp: Settings,
    smtp: MailServer,
    reader: str,
) -> None:
    waiting = await send(RENEWALS, to=reader)
    await anyone.post(link, data=ONE_CLICK)
    await queue.run_pending(database, by_smtp)

    assert (await look(waiting)).status is Status.SUPPRESSED
    assert len(smtp.received) == 1


async def test_who_listens_is_told_once(anyone: Client, link: str, conn: Conn, alice: Person) -> None:
    for _ in range(2):
        await anyone.post(link, data=ONE_CLICK)
    found = await conn.execute(
        "SELECT data::json ->> 'topic', data::json ->> 'address' FROM kit_outbox"
        " WHERE name = 'mail.unsubscribed' AND account_id = %s",
        [alice.account.id],
    )
    assert await found.fetchall() == [("renewals", alice.account.email)]


async def test_who_asks_for_it_again_gets_it_again(
    anyone: Client, link: str, send: Send, look: Look, database: Database, keyring: Keyring, reader: str
) -> None:
    await anyone.post(link, data=ONE_CLICK)
    async with database.transaction() as conn:
        await mail.subscribe(conn, keyring=keyring, address=reader, topic=Topic.RENEWALS)
    assert (await look(await send(RENEWALS, to=reader))).status is Status.QUEUED


async def test_the_list_does_not_tell_whom_it_is_of(anyone: Client, link: str, conn: Conn, reader: str) -> None:
    await anyone.post(link, data=ONE_CLICK)
    rows = await (await conn.execute("SELECT hash, topic, address FROM mail_optouts")).fetchall()
    assert rows
    assert not any(reader.encode() in bytes(hashed) + bytes(sealed) for hashed, _, sealed in rows)


@pytest.mark.parametrize("change", ["cut", "longer", "another", "empty", "not base64"])
async def test_what_is_no_link_of_ours_is_refused(anyone: Client, link: str, change: str) -> None:
    prefix, token = link[: len(optouts.PATH)], link[len(optouts.PATH) :]
    other = "A" if token[40] != "A" else "B"
    bad = {
        "cut": token[:-4],
        "longer": f"{token}AAAA",
        "another": f"{token[:40]}{other}{token[41:]}",
        "empty": "x",
        "not base64": "%E2%98%83",
    }[change]
    for ask in (anyone.get, anyone.post):
        answer = await ask(f"{prefix}{bad}")
        assert (answer.status_code, answer.json()["code"]) == (400, "token_invalid")
        page = await ask(f"{prefix}{bad}", headers=BROWSER)
        assert (page.status_code, page.headers["content-type"]) == (400, "text/html; charset=utf-8")
        assert "<form" not in page.text


async def test_the_token_gets_into_no_log(anyone: Client, link: str) -> None:
    stream = StringIO()
    log.configure(level="info", stream=stream)
    await anyone.get(link)
    await anyone.post(link, data=ONE_CLICK)
    access_log.flush()
    log.configure(level="error")
    logged = "".join(
        each for each in stream.getvalue().splitlines() if '"logger":"httpx"' not in each
    )  # the test's
    assert optouts.PATH in logged
    assert link[len(optouts.PATH) :] not in logged


def test_a_link_works_as_long_as_its_secret_is_held() -> None:
    old, new = generate_secret(), generate_secret()
    about = Subscription(account_id=VENDOR, topic=Topic.NEWS, address="a@b.example")
    token = optouts.link(Keyring([old]), base_url="", subscription=about)[len(optouts.PATH) :]
    assert optouts.find_subscription(Keyring([new, old]), token) == about
    assert optouts.find_subscription(Keyring([new]), token) is None


async def test_an_opt_out_holds_over_a_new_secret(database: Database, reader: str) -> None:
    old, new = generate_secret(), generate_secret()
    async with database.transaction() as conn:
        assert await optouts.add(conn, Keyring([old]), address=reader, topic=Topic.NEWS)
        rotated = Keyring([new, old])
        assert await optouts.is_out(conn, rotated, address=reader, topic=Topic.NEWS)
        assert not await optouts.add(conn, rotated, address=reader, topic=Topic.NEWS)


@pytest.mark.parametrize("letter", LETTERS, ids=lambda each: each.name)
def test_what_is_no_transaction_can_be_ended(letter: Letter) -> None:
    assert (letter.topic is None) == (letter.category is Category.TRANSACTIONAL)
