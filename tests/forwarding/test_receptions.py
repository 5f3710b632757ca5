"""Mail to a name as an event: who sets the rule, who gets the event, who reads the content."""

import asyncio
import re
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP as WIRE
from pathlib import Path
from uuid import UUID

import pytest

from builders.forwarding import contents, messages, receptions
from builders.forwarding.contents import Arrival
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.aliases.make import ALIASES, Json
from tests.cast import Client, Person
from tests.forwarding.heads import message
from tests.forwarding.lmtp import OWN, OWN_DOMAIN, HandOver
from tests.forwarding.postfix import MailServer
from tests.forwarding.rules import ADA, WHOLE, inside, list_payloads, list_stored, mint, path_of, put_rule
from tests.loop_time import MOST_S, longest_turn
from tests.plans.make import alias, apply, get_alias
from tests.webhooks.make import create

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "receive-mail-as-an-event.md"
COMMAND = re.compile(r'^ {4}curl -s (?:-X (\w+) )?"\$API(/[^"]+)" -H "X-API-Key: \$(\w+)"', re.MULTILINE)
TEXT = "Good morning.\r\n"

ATTACHED = {
    "Content-Type": "text/plain",
    "Content-Transfer-Encoding": "base64",
    "Content-Disposition": "attachment",
}


@pytest.fixture
async def received(alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn) -> str:
    """Let a message with an attachment arrive; return its path."""
    assert rule
    sent = EmailMessage(policy=WIRE)
    sent["From"], sent["To"], sent["Subject"] = ADA, name["address"], "The bill"
    sent[messages.RESULTS] = "spf=pass dkim=fail dmarc=none domains=author.example"
    sent.set_content("Good morning.\n")
    sent.add_attachment(b"<script>1</script>", maintype="text", subtype="html", filename="bill \u00e4.html")
    assert (await hand_over(sent.as_bytes(), inside(alice, name)))[0] == 250
    (found,) = await list_stored(conn, alice)
    return f"{ALIASES}/{name['id']}/mail/{found}"


async def test_a_key_cannot_set_the_rule(alice: Person, name: Json, webhook: Json, key: Json) -> None:
    answer = await alice.put(path_of(name), json={"webhook_id": webhook["id"], "key_id": key["id"]})
    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")


async def test_an_old_session_cannot_set_the_rule(alice: Person, name: Json, webhook: Json, key: Json) -> None:
    async with alice.browser() as browser:
        with clock.moved(timedelta(minutes=11)):
            answer = await browser.put(path_of(name), json={"webhook_id": webhook["id"], "key_id": key["id"]})
    assert (answer.status_code, answer.json()["code"]) == (401, "fresh_sign_in_required")


async def test_a_stranger_cannot_set_the_rule(bob: Person, name: Json, webhook: Json, key: Json) -> None:
    assert (await put_rule(bob, name, webhook, key)).status_code == 404


@pytest.mark.parametrize("wrong", ["webhook_id", "key_id"])
async def test_the_rule_takes_only_what_is_the_accounts(
    wrong: str, alice: Person, bob: Person, name: Json, webhook: Json, key: Json
) -> None:
    foreign = {"webhook_id": await create(bob, events=["invoice.created"]), "key_id": {"id": str(UUID(int=1))}}
    chosen = {"webhook_id": webhook, "key_id": key, wrong: foreign[wrong]}
    answer = await put_rule(alice, name, chosen["webhook_id"], chosen["key_id"])
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", wrong])


async def test_the_mail_server_hands_over_mail_besides_forwarding_it(
    alice: Person, name: Json, rule: Json, lookups: MailServer
) -> None:
    assert rule
    expected = f"OK {alice.account.email}, {inside(alice, name)}"
    assert await lookups.ask("alias", name["address"]) == expected


async def test_only_the_webhook_of_the_rule_gets_the_event_and_no_content(
    alice: Person, webhook: Json, received: str, conn: Conn
) -> None:
    await create(alice, events=["*"])
    ((destination, body),) = await list_payloads(conn, alice)
    assert str(destination) == webhook["id"]
    for shown in (f'"path":"{received}"', '"spf":"pass"', '"dkim":"fail"', '"dmarc":"none"', '"attachments":1'):
        assert shown in body
    for hidden in (ADA, "The bill", "Good morning", "bill"):
        assert hidden not in body


async def test_the_feed_does_not_have_the_event(alice: Person, received: str) -> None:
    assert received
    items = (await alice.get("/v1/events")).json()["items"]
    assert "alias.mail_received" not in {each["type"] for each in items}


async def test_the_key_of_the_rule_reads_the_message(alice: Person, key: Json, received: str) -> None:
    async with Client(alice.service, key=key["secret"]) as reader:
        answer = await reader.get(received, headers=WHOLE)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert b"Good morning." in answer.content
    assert b"X-Builders" not in answer.content


async def test_the_commands_of_the_how_to_work_as_they_stand(alice: Person, key: Json, received: str) -> None:
    _, _, _, of_alias, _, of_message = received.split("/")
    done = []
    for method, path, secret in COMMAND.findall(HOW_TO.read_text(encoding="utf-8")):
        target = path.replace("$ALIAS", of_alias).replace("$MESSAGE", of_message).replace("&wait=20", "")
        if target.endswith("/reply"):
            continue  # tests/forwarding/test_answers.py
        async with Client(alice.service, key=key["secret"]) as reader:
            sender = {"READER": reader, "LIVE": alice}[secret]
            done.append((await sender.request(method or "GET", f"/v1{target}", headers=WHOLE)).status_code)
    assert done == [200, 200, 200, 200, 200, 204]


async def test_an_attachment_is_bytes_whatever_type_it_names(alice: Person, key: Json, received: str) -> None:
    async with Client(alice.service, key=key["secret"]) as reader:
        answer = await reader.get(f"{received}/attachments/1")
        assert (await reader.get(f"{received}/attachments/2")).status_code == 404
    assert (answer.status_code, answer.content) == (200, b"<script>1</script>")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''bill%20%C3%A4.html"


async def test_no_other_key_reads_the_message(alice: Person, bob: Person, received: str) -> None:
    assert (await alice.get(received)).json()["code"] == "insufficient_scope"
    assert (await bob.get(received)).status_code == 403


async def test_a_key_with_the_scope_reads_only_the_names_whose_rule_names_it(
    alice: Person, shared: str, webhook: Json, key: Json, received: str
) -> None:
    second = await mint(alice)
    other = await get_alias(alice, await apply(alice, alias(f"other@{shared}", alice.account.email)))
    assert (await put_rule(alice, other, webhook, second)).status_code == 200
    async with Client(alice.service, key=second["secret"]) as reader:
        assert (await reader.get(received, headers=WHOLE)).json()["code"] == "message_not_found"
    assert key


async def test_the_end_of_the_rule_deletes_the_mail_and_takes_the_scope(
    alice: Person, name: Json, key: Json, received: str, conn: Conn, lookups: MailServer
) -> None:
    assert (await alice.delete(path_of(name))).status_code == 204
    async with Client(alice.service, key=key["secret"]) as reader:
        assert (await reader.get(received, headers=WHOLE)).json()["code"] == "insufficient_scope"
    assert await list_stored(conn, alice) == []
    assert await lookups.ask("alias", name["address"]) == f"OK {alice.account.email}"
    assert (await alice.get(path_of(name))).json()["code"] == "reception_not_found"


async def test_content_is_sealed_and_gone_after_72_hours(
    alice: Person, key: Json, received: str, conn: Conn, database: Database
) -> None:
    cursor = await conn.execute(
        "SELECT count(*) FROM forwarding_parts WHERE account_id = %s AND position(%s::bytea IN content) > 0",
        (alice.account.id, b"Good morning"),
    )
    assert await cursor.fetchone() == (0,)
    with clock.moved(timedelta(hours=73)):
        async with Client(alice.service, key=key["secret"]) as reader:
            assert (await reader.get(received, headers=WHOLE)).status_code == 404
        await old_rows.delete(database, "forwarding_messages")
    assert await list_stored(conn, alice) == []


async def test_a_message_that_is_handed_over_again_is_one(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    sent = message(TEXT, From=ADA, Received="by mx1 id 4XYZ")
    for _ in range(2):
        assert (await hand_over(sent, inside(alice, name)))[0] == 250
    assert len(await list_stored(conn, alice)) == 1
    assert len(await list_payloads(conn, alice)) == 1


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ("From", f"<1@{OWN_DOMAIN}>"),
        ("Message-ID", f"<1@{OWN_DOMAIN}>"),
        ("References", f"<1@{OWN_DOMAIN}>"),  # an answer, which quotes it
        ("X-Original-From", f"Builders <no-reply@{OWN_DOMAIN.upper()}>"),  # of a mailing list
        ("DKIM-Signature", f"v=1; d={OWN_DOMAIN}; s=b"),
        ("Content-Type", f"message/rfc822\r\n\r\nFrom: no-reply@{OWN_DOMAIN}"),
    ],
)
async def test_mail_of_the_service_itself_is_not_received(
    head: str, value: str, alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    assert (await hand_over(message(TEXT, **{"From": ADA, head: value}), inside(alice, name)))[0] == 250
    assert await list_stored(conn, alice) == []


@pytest.mark.maximum("received_messages")
@pytest.mark.parametrize("limit", ["messages", "bytes"])
async def test_the_event_of_a_message_without_room_has_no_path(
    limit: str, alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    count, size = (receptions.MAX_MESSAGES, 1) if limit == "messages" else (1, receptions.MAX_STORED)
    await conn.execute(
        """
        INSERT INTO forwarding_messages
        SELECT %s, gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text::bytea, 1, %s, '', '', '',
               '{}', '', true, now(), now()
        FROM generate_series(1, %s)
        """,
        (alice.account.id, size, count),
    )
    assert (await hand_over(message(TEXT, From=ADA), inside(alice, name)))[0] == 250
    ((_, body),) = await list_payloads(conn, alice)
    assert '"path":null' in body


@pytest.mark.maximum("received_bytes")
async def test_a_message_above_25_mb_has_an_event_without_content(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    sent = message("x" * 70 + "\r\n", From=ADA) + (b"x" * 998 + b"\r\n") * (contents.MAX_BYTES // 1000 + 1)
    assert (await hand_over(sent, inside(alice, name)))[0] == 250
    ((_, body),) = await list_payloads(conn, alice)
    assert '"path":null' in body


async def test_attachments_count_as_stored(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    sent = message("YmlsbA==\r\n", From=ADA, **ATTACHED)
    assert (await hand_over(sent, inside(alice, name)))[0] == 250
    cursor = await conn.execute(
        """
        SELECT sum(octet_length(content)) < stored_size + 200 AND size + 4 < stored_size
        FROM forwarding_messages AS message JOIN forwarding_parts AS part
          ON part.account_id = message.account_id AND part.message_id = message.id
        WHERE message.account_id = %s GROUP BY size, stored_size
        """,
        (alice.account.id,),
    )
    assert await cursor.fetchall() == [(True,)]


def parse(sent: bytes) -> Arrival:
    """Return a message as it arrives."""
    arrival = contents.parse(messages.read(sent), has_sender=True, own=OWN)
    assert arrival is not None
    return arrival


@pytest.mark.parametrize("name", ["=?utf-8?q?b=C3=A4=2Epdf?=", "x\"; filename*=utf-8''b%0d%0ac.pdf; a=\""])
def test_a_file_name_is_on_one_line(name: str) -> None:
    sent = message("YmlsbA==\r\n", **{**ATTACHED, "Content-Disposition": f'attachment; filename="{name}"'})
    (part,) = parse(sent).attachments
    assert part.content == b"bill"
    assert part.name in {"bä.pdf", "b c.pdf", "x"}


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" * 50,
        b"\r\n" + b"x\r\n" * 600_000,
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 20_000,
        b'Content-Disposition: attachment; filename="' + b"; " * 10_000 + b'"\r\n\r\nx',
    ],
)
def test_what_would_take_long_is_received_whole(sent: bytes) -> None:
    arrival = parse(sent)
    assert (arrival.whole.content, arrival.attachments, arrival.readable.text) == (sent, [], "")


HOSTILE = {
    "headers": b"A: b\r\n" * 160_000,
    "lines of a header": b"A: b\r\n" + b" b\r\n" * 160_000,
    "lone line ends": message("") + (b"\r." * 400 + b"\r\n") * 1_200,
    "nested parts": message("") + b"\r\n--b\r\nContent-Type: multipart/x\r\n" * 25_000,
    "headers of parts": message("") + (b"content-a:" + b"b" * 900 + b"\r\n") * 1_000,
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_hostile_message_does_not_keep_another_one_waiting(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, what: str
) -> None:
    assert rule
    own, sent = inside(alice, name), f"From: {ADA}\r\n".encode() + HOSTILE[what]
    async with longest_turn() as turn:
        answers = await asyncio.gather(hand_over(sent, own), hand_over(message(From=ADA), own))

    assert [code for code, _ in answers] == [250, 250]
    assert turn.seconds < MOST_S / 2


@pytest.mark.parametrize(
    ("head", "is_read"),
    [
        (b"A: b\r\n" * 1_000, True),
        (b"A: b\r\n" * 1_001, False),
        (b"A: b\r\n" + b" b\r\n" * 9_999, True),
        (b"A: b\r\n" + b" b\r\n" * 10_000, False),
    ],
)
def test_a_head_has_a_bounded_number_of_headers_and_lines(head: bytes, is_read: bool) -> None:
    if is_read:
        assert messages.read(head + b"\r\nx").body == b"x"
    else:
        with pytest.raises(messages.MalformedMessage, match="more than 1"):
            messages.read(head + b"\r\nx")


async def test_a_message_without_a_readable_head_is_forwarded_only(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn
) -> None:
    assert rule
    assert (await hand_over(b" From: ada\r\n\r\n.\r\n", inside(alice, name)))[0] == 250
    assert await list_stored(conn, alice) == []


async def test_a_message_that_cannot_be_parsed_is_received_whole(
    alice: Person, name: Json, rule: Json, hand_over: HandOver, conn: Conn, key: Json
) -> None:
    assert rule
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{depth}\r\n\r\n--b{depth}\r\n" for depth in range(2_000)
    )
    assert (await hand_over(f"From: {ADA}\r\n{nested}".encode(), inside(alice, name)))[0] == 250
    (found,) = await list_stored(conn, alice)
    async with Client(alice.service, key=key["secret"]) as reader:
        assert (await reader.get(f"{ALIASES}/{name['id']}/mail/{found}")).status_code == 200
