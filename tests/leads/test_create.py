"""Leaving an address: what is kept, what is refused, and that nobody learns who was here before."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.leads.make import CONFIRM, FULL, LEADS, Desk, ask, confirm, same, stop_of

COUNT = """
    SELECT (SELECT count(*) FROM leads_requests WHERE email = %(email)s),
           (SELECT count(*) FROM leads_leads WHERE email = %(email)s)
"""


async def kept(conn: Conn, email: str) -> tuple[int, int]:
    """How many requests and leads are kept of the address."""
    row = await (await conn.execute(COUNT, {"email": email})).fetchone()
    assert row is not None
    return row[0], row[1]


async def test_an_address_is_enough(anyone: Client, desk: Desk, email: str) -> None:
    answer = await ask(anyone, email)

    assert answer.json() == {
        "id": answer.json()["id"],
        "status": "pending",
        "email_masked": "a***@example.net",
        "confirmation_required": True,
        "warnings": [],
    }
    lead = await desk.lead(email)
    assert lead is not None
    assert (lead.status, lead.source, lead.marketing, lead.send_count) == ("pending", None, False, 1)


async def test_all_that_was_sent_is_kept_in_one_form(anyone: Client, desk: Desk, email: str) -> None:
    await ask(anyone, email.upper(), **FULL)

    lead = await desk.lead(email)
    assert lead is not None
    assert (lead.source, lead.interest, lead.marketing, lead.text_version) == (
        *("harbour-lander", "mailbox", True, "2026-01"),
    )
    assert lead.details == {
        "name": "Ada Lovelace",
        "domain": "harbour.example",
        "local_part": "ada",
        "message": "I would like\nthis one.",
        "locale": "en-GB",
        "referrer": "https://search.example/find",
        "utm": {"source": "newsletter", "campaign": "spring"},
        "metadata": {"variant": "b"},
    }


async def test_the_proof_of_consent_is_kept(anyone: Client, desk: Desk, email: str) -> None:
    before = clock.now()
    await ask(anyone, email, **FULL)
    await confirm(anyone, await desk.token(email))

    lead = await desk.lead(email)
    assert lead is not None
    assert before < lead.asked_at < clock.now()
    assert (lead.marketing, lead.text_version, lead.asked_from) == (True, "2026-01", "127.0.0.0/24")
    assert lead.proved_at == lead.confirmed_at
    assert lead.proved_from == "127.0.0.0/24"


async def test_known_and_unknown_addresses_are_answered_the_same(
    anyone: Client, desk: Desk, email: str, other: str
) -> None:
    unknown = await ask(anyone, email, **FULL)
    answers = [await ask(anyone, email, **FULL)]  # pending, and too soon for a message
    await confirm(anyone, await desk.token(email))
    answers.append(await ask(anyone, email, **FULL))  # confirmed
    await anyone.post(stop_of((await desk.letters(email))[0]))
    await desk.work()
    answers.append(await ask(anyone, email, **FULL))  # unsubscribed
    await ask(anyone, other)
    await anyone.post(stop_of((await desk.letters(other))[0]))
    assert await desk.status(other) == "suppressed"
    answers.append(await ask(anyone, other, **FULL))

    assert {repr(same(each)) for each in answers} == {repr(same(unknown))}
    assert len({each.json()["id"] for each in [unknown, *answers]}) == 5


async def test_the_request_does_the_same_work_for_all(
    anyone: Client, desk: Desk, conn: Conn, email: str, other: str
) -> None:
    await ask(anyone, email)
    await confirm(anyone, await desk.token(email))
    before = await kept(conn, email)
    for address in (email, other):
        await ask(anyone, address)

    # A row and a job each, and nothing looked up: the lead is the job's affair.
    assert [await kept(conn, email), await kept(conn, other)] == [(before[0] + 1, 1), (1, 0)]
    cursor = await conn.execute(
        "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'leads.take' AND status = 'todo'"
    )
    assert await cursor.fetchone() == (2,)


@pytest.mark.parametrize("filled", ["https://spam.example", "x"])
async def test_what_fills_the_trap_is_answered_and_dropped(
    anyone: Client, desk: Desk, conn: Conn, email: str, other: str, filled: str
) -> None:
    trapped = await ask(anyone, email, website=filled, name="Bot")
    honest = await ask(anyone, other, website="", name="Ada")

    assert same(trapped) == same(honest)
    assert await desk.letters(email) == []
    assert await kept(conn, email) == (0, 0)
    assert await desk.status(other) == "pending"


async def test_what_is_left_blank_counts_as_not_sent(anyone: Client, desk: Desk, email: str) -> None:
    blank = {name: "" if isinstance(value, str) else value for name, value in FULL.items()}
    left = {"name": "  ", "consent": {"text_version": " "}, "utm": {"term": ""}, "website": " "}
    answer = await ask(anyone, email, **blank | left)

    assert answer.json()["warnings"] == []
    lead = await desk.lead(email)
    assert lead is not None
    assert (lead.source, lead.interest, lead.text_version) == (None, None, None)
    assert lead.details == {"metadata": {"variant": "b"}}


async def test_what_is_not_understood_is_named(anyone: Client, email: str) -> None:
    answer = await ask(anyone, email, sauce="x", consent={"marketting": True}, website="")

    assert [(each["field"], each["did_you_mean"]) for each in answer.json()["warnings"]] == [
        ("sauce", "source"),
        ("consent.marketting", "marketing"),
    ]


@pytest.mark.parametrize(
    ("members", "loc", "kind"),
    [
        ({"email": "nobody"}, ["body", "email"], "email"),
        ({"email": "a b@example.net"}, ["body", "email"], "email"),
        ({"email": ""}, ["body", "email"], "email"),
        ({"email": f"{'a' * 250}@example.net"}, ["body", "email"], "string_too_long"),
        ({"email": "ädä@example.net"}, ["body", "email"], "email"),
        ({"email": 5}, ["body", "email"], "string_type"),
        ({"name": "x" * 121}, ["body", "name"], "string_too_long"),
        ({"source": "Not a slug"}, ["body", "source"], "string_pattern_mismatch"),
        ({"source": "x" * 41}, ["body", "source"], "string_too_long"),
        ({"interest": "cake"}, ["body", "interest"], "enum"),
        ({"domain": "no domain"}, ["body", "domain"], "domain_name"),
        ({"local_part": "x" * 65}, ["body", "local_part"], "string_too_long"),
        ({"message": "x" * 2001}, ["body", "message"], "string_too_long"),
        ({"locale": "not a locale"}, ["body", "locale"], "locale"),
        ({"consent": {"marketing": "yes"}}, ["body", "consent", "marketing"], "bool_type"),
        ({"consent": {"text_version": "x" * 41}}, ["body", "consent", "text_version"], "string_too_long"),
        ({"utm": {"term": "x" * 101}}, ["body", "utm", "term"], "string_too_long"),
        ({"metadata": {str(n): "x" for n in range(21)}}, ["body", "metadata"], "too_long"),
        ({"metadata": {"k": "x" * 501}}, ["body", "metadata", "k"], "string_too_long"),
        ({"metadata": {"k": 1}}, ["body", "metadata", "k"], "string_type"),
    ],
)
async def test_what_breaks_a_bound_is_422(
    anyone: Client, email: str, members: dict[str, Any], loc: list[str], kind: str
) -> None:
    answer = await anyone.post(LEADS, json={"email": email, **members})

    assert answer.status_code == 422
    assert [(each["loc"], each["type"]) for each in answer.json()["detail"]] == [(loc, kind)]


async def test_an_address_must_be_there(anyone: Client) -> None:
    answer = await anyone.post(LEADS, json={"name": "Ada"})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "email"])


async def test_text_is_tidied_and_not_refused(anyone: Client, desk: Desk, email: str) -> None:
    hostile = {"name": "Ada\r\n\u202eLovelace\x1b[31m", "message": "a\x07\r\n\r\n\u2066b"}
    await ask(anyone, email, referrer="nowhere", **hostile)

    lead = await desk.lead(email)
    assert lead is not None
    assert lead.details == {"name": "Ada Lovelace[31m", "message": "a\n\nb"}


async def test_credentials_are_not_looked_at(anyone: Client, bob: Person, desk: Desk, email: str) -> None:
    await ask(bob, email)
    answer = await anyone.post(LEADS, json={"email": email}, headers={"X-API-Key": "bad"})

    assert answer.status_code == 201
    assert len(await desk.letters(email)) == 1


async def test_a_message_in_fifteen_minutes_and_five_a_day(anyone: Client, desk: Desk, email: str) -> None:
    counts = []
    for minutes in (0, 14, 2, 15, 15, 15, 15, 60):
        clock.move(timedelta(minutes=minutes))
        await ask(anyone, email)
        counts.append(len(await desk.letters(email)))
    clock.move(timedelta(hours=23))
    await ask(anyone, email)

    assert counts == [1, 1, 2, 3, 4, 5, 5, 5]
    assert len(await desk.letters(email)) == 6


async def test_many_concurrent_requests_send_one_message(
    anyone: Client, desk: Desk, conn: Conn, email: str
) -> None:
    for _ in range(4):
        await asyncio.gather(*(ask(anyone, email) for _ in range(50)))

    assert await kept(conn, email) == (200, 0)
    assert len(await desk.letters(email)) == 1
    requests, leads = await kept(conn, email)
    assert leads == 1
    assert requests <= 22  # the newest, and the one that the link would confirm
    lead = await desk.lead(email)
    assert lead is not None
    assert lead.send_count == 1


async def test_all_spellings_of_a_mailbox_share_its_messages(anyone: Client, desk: Desk, email: str) -> None:
    local, _, domain = email.partition("@")
    dotted = local.replace("-", "")
    for alike in (
        [f"{local}+{n}@{domain}" for n in range(20)],
        [f"{dotted}@gmail.com", f"{dotted}+shop@gmail.com", f"{dotted[:3]}.{dotted[3:]}@googlemail.com"],
    ):
        await asyncio.gather(*(ask(anyone, each) for each in alike))
        await desk.work()
        assert len([each for each in desk.server.received if each.recipients[0] in alike]) == 1

    await ask(anyone, f"{local}x+1@{domain}")
    assert len(await desk.letters(f"{local}x+1@{domain}")) == 1


async def test_the_link_confirms_the_request_it_was_mailed_for(anyone: Client, desk: Desk, email: str) -> None:
    await ask(anyone, email, source="honest", name="Ada", consent={"text_version": "mine"})
    await desk.work()
    for n in range(25):  # somebody else plays with the form, and pushes the first one out
        await ask(anyone, email, source=f"stranger-{n}", name="Mallory", consent={"marketing": True})
    assert await confirm(anyone, await desk.token(email)) == "confirmed"

    lead = await desk.lead(email)
    assert lead is not None
    assert (lead.source, lead.details, lead.marketing, lead.text_version) == (
        *("honest", {"name": "Ada"}, False, "mine"),
    )


async def test_the_letter_is_a_notice_that_can_be_ended(anyone: Client, desk: Desk, email: str) -> None:
    await ask(anyone, email)
    [letter] = await desk.letters(email)

    assert letter.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    page = letter.part("html")
    assert "/v1/t/o/" in page
    assert f"http://builders.test{CONFIRM}?token=" in page  # a secret: no other address is to see it
    assert "/v1/t/c/" not in page
