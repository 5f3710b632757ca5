"""Replies from names, and mail whose author is rewritten, handed over by LMTP as the mail server does."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.aliases import claims
from builders.forwarding import correspondents, messages
from builders.forwarding.filter_addresses import DOMAIN, address_of_name
from builders.forwarding.mail_filter import MailFilter
from builders.forwarding.mail_server import MESSAGE_BYTES
from builders.kit.db import suspensions
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.aliases.make import ALIASES, Json
from tests.cast import Person
from tests.domains.nameserver import Nameserver
from tests.forwarding.heads import head_of, is_signed, message
from tests.forwarding.lmtp import HOST, NOWHERE, OWN, SRS, HandOver, Queue, filtering
from tests.forwarding.postfix import MailServer
from tests.plans.make import alias, apply, get_alias

ADA = "ada@author.example"


@pytest.fixture
async def name(alice: Person, shared: str, signing: Nameserver) -> Json:
    """Return a name of Alice from which she replies."""
    del signing
    return await get_alias(
        alice, await apply(alice, alias(f"shopkeeper@{shared}", alice.account.email, reply=True))
    )


def inside(person: Person, name: Json) -> str:
    """Return the address by which the mail to a name is handed over."""
    return address_of_name(person.account.id, UUID(name["id"]))


async def reverse_of(person: Person, name: Json, email: str = ADA) -> str:
    """Return the reverse address of a correspondent, added if it is new."""
    answer = await person.post(f"{ALIASES}/{name['id']}/correspondents", json={"email": email})
    assert answer.status_code == 201, answer.text
    reverse: str = answer.json()["reverse_address"]
    return reverse


def proved(address: str, to: str, **headers: str) -> bytes:
    """Return a message whose author the mail server has proved."""
    results = f"spf=pass dkim=none dmarc=none domains={address.partition('@')[2]}"
    return message(From=address, To=to, Subject="Re: offer", **{messages.RESULTS: results}, **headers)


async def test_the_mail_server_hands_over_mail_to_a_name_that_replies(
    alice: Person, name: Json, lookups: MailServer
) -> None:
    assert await lookups.ask("recipient", name["address"]) == "OK DUNNO"
    assert await lookups.ask("alias", name["address"]) == f"OK {inside(alice, name)}"


async def test_mail_reaches_the_owner_as_from_a_reverse_address(
    alice: Person, name: Json, shared: str, hand_over: HandOver, queue: Queue, signing: Nameserver
) -> None:
    sent = message(From=f"Ada <{ADA}>", To=name["address"], Subject="Offer")
    assert await hand_over(sent, inside(alice, name)) == (250, "2.0.0 Ok: queued as 4XYZ")
    ((sender, recipients, content),) = queue.mail
    assert (sender, recipients) == (SRS, [alice.account.email])
    assert f"<{await reverse_of(alice, name)}>" in head_of(content)["From"]
    assert is_signed(content, shared, signing)


async def test_a_reply_leaves_as_from_the_name(
    alice: Person, name: Json, shared: str, hand_over: HandOver, queue: Queue, signing: Nameserver
) -> None:
    reverse = await reverse_of(alice, name)
    own = alice.account.email
    sent = proved(own, reverse, Cc=own, Received=f"by mail.example for <{own}>")
    assert (await hand_over(sent, f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own))[0] == 250
    ((sender, recipients, content),) = queue.mail
    assert (sender, recipients) == (name["address"], [ADA])
    head = head_of(content)
    assert (head["From"], head["To"], head["Cc"]) == (name["address"], ADA, name["address"])
    assert own.encode() not in content
    assert is_signed(content, shared, signing)


async def test_the_mail_server_accepts_a_reverse_address_and_no_guess(
    alice: Person, name: Json, shared: str, lookups: MailServer
) -> None:
    reverse = await reverse_of(alice, name)
    local_part = reverse.partition("@")[0]
    assert await lookups.ask("recipient", reverse) == "OK DUNNO"
    assert await lookups.ask("alias", reverse) == f"OK {local_part}@{DOMAIN}"
    guess = f"r-{'a' * 26}@{shared}"
    assert "550 5.1.1" in await lookups.ask("recipient", guess)
    assert await lookups.ask("alias", f"{local_part}@elsewhere.example") == "NOTFOUND "


@pytest.mark.parametrize("case", ["a stranger", "without proof", "of another domain", "two authors"])
async def test_nobody_but_the_owner_replies(
    case: str, alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    reverse = await reverse_of(alice, name)
    own = alice.account.email
    sent = {
        "a stranger": proved("mallory@author.example", reverse),
        "without proof": message(From=own, To=reverse),
        "of another domain": message(From=own, **{messages.RESULTS: "domains=author.example"}),
        "two authors": proved(own, reverse, **{"from": "mallory@author.example"}),
    }[case]
    code, _ = await hand_over(sent, f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own)
    assert (code, queue.mail) == (550, [])


async def test_no_reply_leaves_from_a_name_whose_owner_stopped_it(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue, lookups: MailServer
) -> None:
    reverse = await reverse_of(alice, name)
    answer = await alice.patch(f"{ALIASES}/{name['id']}", json={"reply": False})
    assert answer.status_code == 200, answer.text
    own = alice.account.email
    code, _ = await hand_over(proved(own, reverse), f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own)
    assert (code, queue.mail) == (550, [])
    assert "550 5.1.1" in await lookups.ask("recipient", reverse)


async def test_no_reply_leaves_from_a_name_of_a_suspended_account(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue, conn: Conn
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    await suspensions.insert(conn, account_ids=[alice.account.id], reason="spam", now=clock.now())
    code, _ = await hand_over(proved(own, reverse), f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own)
    assert (code, queue.mail) == (550, [])


async def use_replies(conn: Conn, person: Person, count: int) -> None:
    """Let a person have sent replies today."""
    await conn.execute(
        "INSERT INTO forwarding_reply_days VALUES (%s, %s, %s)", (person.account.id, clock.now().date(), count)
    )


@pytest.mark.maximum("replies")
async def test_the_replies_of_a_day_are_limited(
    alice: Person, name: Json, hand_over: HandOver, conn: Conn
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    await use_replies(conn, alice, correspondents.MAX_REPLIES - 1)
    to = f"{reverse.partition('@')[0]}@{DOMAIN}"
    assert [(await hand_over(proved(own, reverse), to, sender=own))[0] for _ in range(2)] == [250, 450]


async def test_a_reply_that_the_mail_server_did_not_take_does_not_count(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue, conn: Conn
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    await use_replies(conn, alice, correspondents.MAX_REPLIES - 1)
    to = f"{reverse.partition('@')[0]}@{DOMAIN}"
    queue.reply = "452 4.3.1 No space"
    assert await hand_over(proved(own, reverse), to, sender=own) == (452, "4.3.1 No space")
    queue.reply = "250 2.0.0 Ok: queued as 4XYZ"
    assert (await hand_over(proved(own, reverse), to, sender=own))[0] == 250


async def test_an_answer_of_a_program_has_no_return_address(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    sent = proved(own, reverse, **{"Auto-Submitted": "auto-replied"})
    assert (await hand_over(sent, f"{reverse.partition('@')[0]}@{DOMAIN}", sender=""))[0] == 250
    assert queue.mail[0][0] == "<>"


async def test_a_receipt_which_names_the_owner_does_not_leave(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    sent = proved(own, reverse, **{"Content-Type": "multipart/report; report-type=disposition-notification"})
    code, text = await hand_over(sent, f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own)
    assert (code, queue.mail) == (550, [])
    assert "report" in text


async def test_a_message_of_the_largest_size_passes_with_the_headers_of_the_mail_server(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    sent = message("x" * 70 + "\r\n", From=ADA) + (b"x" * 998 + b"\r\n") * (MESSAGE_BYTES // 1000 + 1)
    assert (await hand_over(sent, inside(alice, name)))[0] == 250
    assert len(queue.mail[0][2]) > MESSAGE_BYTES


async def test_a_message_has_a_bounded_number_of_lines(
    alice: Person, name: Json, database: Database, keyring: Keyring
) -> None:
    most, commands = 500, 4  # LHLO, MAIL, RCPT and DATA
    head = message("", From=ADA)
    longest = head + b"\r\n" * (most - commands - head.count(b"\n") - 1)  # the last line is the end of the message
    mail_filter = MailFilter(database, keyring, host=HOST, own=OWN, returns_to=NOWHERE)
    async with filtering(mail_filter, max_lines=most) as hand_over:
        codes = [(await hand_over(longest + more, inside(alice, name)))[0] for more in (b"", b"\r\n")]
        large = [message("x\r\n" * 200_000, From=ADA), message(From=ADA)]
        on_one_connection = await hand_over.all(large, inside(alice, name))

    assert codes == [451, 552]  # 451: the mail server takes none back
    assert [code for code, _ in on_one_connection] == [552, 451]


async def test_a_repeated_reply_has_the_same_message_id(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    sent = proved(own, reverse, **{"Message-ID": "<1@home.example>"})
    for _ in range(2):
        await hand_over(sent, f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own)
    first, second = (head_of(content)["Message-ID"] for _, _, content in queue.mail)
    assert first == second != "<1@home.example>"


NOTED = "from home.example by mx1.builders.example (Postfix) id {}"


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        ({}, {}, False),
        ({"Message-ID": ""}, {"Message-ID": ""}, False),
        ({"Received": NOTED.format("4XYZ")}, {"Received": NOTED.format("4XYA")}, False),
        ({"Received": NOTED.format("4XYZ")}, {"Received": NOTED.format("4XYZ")}, True),
        ({"Message-ID": "<1@home.example>", "Date": "1"}, {"Message-ID": "<1@home.example>", "Date": "2"}, False),
        ({"Message-ID": "<1@home.example>"}, {"Message-ID": "<2@home.example>"}, False),
        (
            {"Message-ID": "<1@home.example>", "Received": NOTED.format("4XYZ")},
            {"Message-ID": "<1@home.example>", "Received": NOTED.format("4XYA")},
            True,
        ),
    ],
)
async def test_no_two_replies_have_one_message_id(
    alice: Person,
    name: Json,
    hand_over: HandOver,
    queue: Queue,
    first: dict[str, str],
    second: dict[str, str],
    is_one: bool,
) -> None:
    reverse, own = await reverse_of(alice, name), alice.account.email
    for head in (first, second):
        sent = proved(own, reverse, **head)
        assert (await hand_over(sent, f"{reverse.partition('@')[0]}@{DOMAIN}", sender=own))[0] == 250
    one, other = (head_of(content)["Message-ID"] for _, _, content in queue.mail)

    assert (one == other) is is_one


async def test_a_report_reaches_the_owner_unchanged(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    sent = message(From="MAILER-DAEMON@author.example", To=name["address"])
    assert (await hand_over(sent, inside(alice, name), sender=""))[0] == 250
    assert queue.mail == [("<>", [alice.account.email], sent)]


async def test_mail_without_a_readable_author_reaches_the_owner_unchanged(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    sent = b"From: a@one.example, b@two.example\r\nSubject: both\r\n\r\nGood morning.\r\n"
    assert (await hand_over(sent, inside(alice, name)))[0] == 250
    assert queue.mail[0][2] == sent


async def test_mail_of_a_domain_without_a_key_is_forwarded_as_it_is(
    alice: Person, shared: str, hand_over: HandOver, queue: Queue
) -> None:
    name = await get_alias(
        alice, await apply(alice, alias(f"shopkeeper@{shared}", alice.account.email, reply=True))
    )
    sent = message(From=ADA, To=name["address"])
    assert (await hand_over(sent, inside(alice, name)))[0] == 250
    assert queue.mail[0][2] == sent


async def test_marked_mail_is_as_from_the_domain(
    shared: str, hand_over: HandOver, queue: Queue, signing: Nameserver
) -> None:
    sent = message(From=f"Ada <{ADA}>", To="x@y.example", **{messages.VIA: shared})
    assert (await hand_over(sent, "owner@home.example"))[0] == 250
    ((_, recipients, content),) = queue.mail
    head = head_of(content)
    assert (recipients, head["Reply-To"]) == (["owner@home.example"], f"Ada <{ADA}>")
    assert head["From"] == f'"Ada via {shared}" <no-reply@{shared}>'
    assert head[messages.VIA] is None
    assert is_signed(content, shared, signing)


@pytest.mark.parametrize("reply", ["550 5.7.1 No", "451 4.3.0 Later"])
async def test_the_result_is_that_of_the_mail_server(
    reply: str, alice: Person, name: Json, hand_over: HandOver, queue: Queue
) -> None:
    queue.reply = reply
    code, text = await hand_over(message(From=ADA), inside(alice, name))
    assert f"{code} {text}" == reply


async def test_mail_stays_with_the_mail_server_while_the_database_is_away(
    alice: Person, name: Json, queue: Queue, settings: Settings, keyring: Keyring
) -> None:
    away = Database("host=127.0.0.1 port=1", settings.model_copy(update={"pool_timeout_s": 0.05}))
    await away.open()
    async with filtering(MailFilter(away, keyring, host=HOST, own=OWN, returns_to=NOWHERE)) as hand_over:
        code, _ = await hand_over(message(From=ADA), inside(alice, name))
    await away.close()
    assert (code, queue.mail) == (451, [])


async def test_mail_stays_with_the_mail_server_that_takes_none_back(
    alice: Person, name: Json, database: Database, keyring: Keyring
) -> None:
    async with filtering(MailFilter(database, keyring, host=HOST, own=OWN, returns_to=NOWHERE)) as hand_over:
        assert (await hand_over(message(From=ADA), inside(alice, name)))[0] == 451


async def test_correspondents_are_listed_and_erased(alice: Person, name: Json, lookups: MailServer) -> None:
    reverse = await reverse_of(alice, name)
    path = f"{ALIASES}/{name['id']}/correspondents"
    (found,) = (await alice.get(path)).json()["items"]
    assert (found["email"], found["reverse_address"]) == (ADA, reverse)
    assert (await alice.delete(f"{path}/{found['id']}")).status_code == 204
    assert (await alice.get(path)).json()["items"] == []
    assert "550 5.1.1" in await lookups.ask("recipient", reverse)


async def test_a_correspondent_has_one_reverse_address(alice: Person, name: Json) -> None:
    assert await reverse_of(alice, name) == await reverse_of(alice, name, ADA.upper())


async def test_strangers_see_and_erase_no_correspondents(alice: Person, bob: Person, name: Json) -> None:
    await reverse_of(alice, name)
    path = f"{ALIASES}/{name['id']}/correspondents"
    (found,) = (await alice.get(path)).json()["items"]
    assert (await bob.get(path)).status_code == 404
    assert (await bob.post(path, json={"email": ADA})).status_code == 404
    assert (await bob.delete(f"{path}/{found['id']}")).status_code == 404


async def test_a_name_without_replies_gets_no_correspondent(alice: Person, shared: str) -> None:
    name = await get_alias(alice, await apply(alice, alias(f"quiet@{shared}", alice.account.email)))
    answer = await alice.post(f"{ALIASES}/{name['id']}/correspondents", json={"email": ADA})
    assert (answer.status_code, answer.json()["code"]) == (409, "replies_disabled")


@pytest.mark.maximum("correspondents")
async def test_correspondents_have_a_maximum_above_which_mail_is_forwarded_as_it_is(
    alice: Person, name: Json, hand_over: HandOver, queue: Queue, conn: Conn
) -> None:
    await conn.execute(
        """
        INSERT INTO forwarding_correspondents
        SELECT %s, gen_random_uuid(), gen_random_uuid(), gen_random_uuid()::text, '', '', now(), now()
        FROM generate_series(1, %s)
        """,
        (alice.account.id, correspondents.MAX_CORRESPONDENTS),
    )
    path = f"{ALIASES}/{name['id']}/correspondents"
    answer = await alice.post(path, json={"email": "bob@author.example"})
    assert (answer.status_code, answer.json()["code"]) == (409, "correspondent_limit")
    sent = message(From="bob@author.example")
    assert (await hand_over(sent, inside(alice, name)))[0] == 250
    assert queue.mail[0][2] == sent


async def test_addresses_are_sealed_and_deleted_90_days_after_their_last_use(
    alice: Person, name: Json, conn: Conn, database: Database
) -> None:
    await reverse_of(alice, name)
    cursor = await conn.execute(
        "SELECT correspondent::text FROM forwarding_correspondents AS correspondent WHERE account_id = %s",
        (alice.account.id,),
    )
    ((row,),) = await cursor.fetchall()
    assert ADA.encode().hex() not in row
    assert "author" not in row
    with clock.moved(timedelta(days=91)):
        await correspondents.prune(database)
    assert (await alice.get(f"{ALIASES}/{name['id']}/correspondents")).json()["items"] == []


async def test_addresses_are_sealed_again_with_a_new_secret_key(
    alice: Person, name: Json, database: Database, conn: Conn
) -> None:
    old, new = generate_secret(), generate_secret()
    owner = alice.account.id
    alias = await claims.get_alias(conn, account_id=owner, alias_id=UUID(name["id"]))
    added = await correspondents.find_or_add(
        conn, keyring=Keyring([old]), account_id=owner, alias=alias, address=ADA
    )
    assert added is not None
    await correspondents.reseal(database, keyring=Keyring([new, old]))
    again = await correspondents.find_or_add(
        conn, keyring=Keyring([new]), account_id=owner, alias=alias, address=ADA
    )
    assert again is not None
    assert (again.id, correspondents.read_address(Keyring([new]), again)) == (added.id, ADA)
