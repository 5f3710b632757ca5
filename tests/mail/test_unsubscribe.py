"""Unsubscribe by a button or by one click of a mail program."""

import re
from io import StringIO

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.http import access_log
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.mail import optouts
from builders.mail.optouts import Subscription
from builders.mail.records import VENDOR, Category, Status, Topic
from builders.mail.templates import EmailTemplate
from tests import log_lines
from tests.cast import Client, Person
from tests.mail.conftest import FindMessage, Send
from tests.mail.make import EMAILS, RENEWALS, SIGN_IN, WEBHOOK
from tests.mail.smtp_server import HTML, TEXT, MailServer

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def recipient(alice: Person) -> str:
    """Return an address that no other test uses."""
    return alice.account.email


@pytest.fixture
async def link(send: Send, database: Database, smtp_settings: Settings, smtp: MailServer, recipient: str) -> str:
    """Return the unsubscribe link in the headers of a notice."""
    await send(RENEWALS, to=recipient)
    await queue.run_pending(database, smtp_settings)
    message = smtp.received[0].message
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    found = re.fullmatch(
        r"<http://builders\.test(/v1/mail/unsubscribe/[A-Za-z0-9_-]+)>", message["List-Unsubscribe"]
    )
    assert found is not None
    assert found[1] in smtp.received[0].part(TEXT)
    assert found[1] in smtp.received[0].part(HTML)
    return found[1]


async def test_one_click_unsubscribes(
    anyone: Client,
    link: str,
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    recipient: str,
) -> None:
    answer = await anyone.post(link, data=ONE_CLICK)
    assert (answer.status_code, answer.is_redirect) == (200, False)
    assert "set-cookie" not in answer.headers

    message_id = await send(RENEWALS, to=f" {recipient.upper()} ")
    await queue.run_pending(database, smtp_settings)
    found = await find_message(message_id)
    assert (found.status, found.attempts, found.next_try_at) == (Status.SUPPRESSED, 0, None)
    assert len(smtp.received) == 1


@pytest.mark.parametrize("body", [b"", b"anything", b"\xff\x00"])
async def test_unsubscribing_is_idempotent_with_any_body(
    anyone: Client, link: str, send: Send, find_message: FindMessage, recipient: str, body: bytes
) -> None:
    for _ in range(3):
        assert (await anyone.post(link, content=body)).status_code == 200
    assert (await find_message(await send(RENEWALS, to=recipient))).status is Status.SUPPRESSED


async def test_opening_the_link_changes_nothing(
    anyone: Client, link: str, send: Send, find_message: FindMessage, recipient: str
) -> None:
    answer = await anyone.get(link, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert f'<form method="post" action="{link}">' in answer.text
    assert (
        f"{recipient[0]}***@example.net will no longer receive notices about portfolios and renewals."
        in answer.text
    )
    assert recipient not in answer.text
    assert (await find_message(await send(RENEWALS, to=recipient))).status is Status.QUEUED


async def test_other_topics_are_not_affected(
    anyone: Client, link: str, send: Send, find_message: FindMessage, recipient: str
) -> None:
    await anyone.post(link, data=ONE_CLICK)
    for template in (WEBHOOK, SIGN_IN):
        assert (await find_message(await send(template, to=recipient))).status is Status.QUEUED
    assert (await find_message(await send(RENEWALS, to="another@mail.example"))).status is Status.QUEUED


async def test_a_queued_message_is_suppressed(
    anyone: Client,
    link: str,
    send: Send,
    find_message: FindMessage,
    database: Database,
    smtp_settings: Settings,
    smtp: MailServer,
    recipient: str,
) -> None:
    waiting = await send(RENEWALS, to=recipient)
    await anyone.post(link, data=ONE_CLICK)
    await queue.run_pending(database, smtp_settings)

    assert (await find_message(waiting)).status is Status.SUPPRESSED
    assert len(smtp.received) == 1


async def test_unsubscribing_is_published_once(anyone: Client, link: str, conn: Conn, alice: Person) -> None:
    for _ in range(2):
        await anyone.post(link, data=ONE_CLICK)
    found = await conn.execute(
        "SELECT data::json ->> 'topic', data::json ->> 'address' FROM kit_outbox"
        " WHERE name = 'mail.unsubscribed' AND account_id = %s",
        [alice.account.id],
    )
    assert await found.fetchall() == [("renewals", alice.account.email)]


async def test_subscribing_again_deletes_the_opt_out(
    anyone: Client,
    link: str,
    send: Send,
    find_message: FindMessage,
    database: Database,
    keyring: Keyring,
    recipient: str,
) -> None:
    await anyone.post(link, data=ONE_CLICK)
    async with database.transaction() as conn:
        await optouts.subscribe(conn, keyring=keyring, address=recipient, topic=Topic.RENEWALS)
    assert (await find_message(await send(RENEWALS, to=recipient))).status is Status.QUEUED


async def test_the_opt_out_list_holds_no_plain_address(
    anyone: Client, link: str, conn: Conn, recipient: str
) -> None:
    await anyone.post(link, data=ONE_CLICK)
    rows = await (await conn.execute("SELECT hash, topic, address FROM mail_optouts")).fetchall()
    assert rows
    assert not any(recipient.encode() in bytes(hashed) + bytes(sealed) for hashed, _, sealed in rows)


@pytest.mark.parametrize("change", ["cut", "longer", "another", "empty", "not base64"])
async def test_an_invalid_link_is_refused(anyone: Client, link: str, change: str) -> None:
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


async def test_the_token_is_not_logged(anyone: Client, link: str) -> None:
    stream = StringIO()
    log.configure(level="info", stream=stream)
    await anyone.get(link)
    await anyone.post(link, data=ONE_CLICK)
    access_log.flush()
    log_lines.write_errors_only()
    logged = "".join(
        each for each in stream.getvalue().splitlines() if '"logger":"httpx"' not in each
    )  # the test's
    assert optouts.PATH in logged
    assert link[len(optouts.PATH) :] not in logged


def test_a_link_works_while_its_secret_exists() -> None:
    old, new = generate_secret(), generate_secret()
    about = Subscription(account_id=VENDOR, topic=Topic.NEWSLETTER, address="a@b.example")
    token = optouts.link(Keyring([old]), base_url="", subscription=about)[len(optouts.PATH) :]
    assert optouts.get_subscription(Keyring([new, old]), token=token) == about
    with pytest.raises(TokenInvalid):
        optouts.get_subscription(Keyring([new]), token=token)


async def test_an_opt_out_holds_after_a_rotation(database: Database, recipient: str) -> None:
    old, new = generate_secret(), generate_secret()
    async with database.transaction() as conn:
        assert await optouts.add(conn, keyring=Keyring([old]), address=recipient, topic=Topic.NEWSLETTER)
        rotated = Keyring([new, old])
        assert await optouts.is_opted_out(conn, keyring=rotated, address=recipient, topic=Topic.NEWSLETTER)
        assert not await optouts.add(conn, keyring=rotated, address=recipient, topic=Topic.NEWSLETTER)


@pytest.mark.parametrize("template", EMAILS, ids=lambda each: each.name)
def test_all_but_transactional_mail_can_be_unsubscribed(template: EmailTemplate) -> None:
    assert (template.topic is None) == (template.category is Category.TRANSACTIONAL)
