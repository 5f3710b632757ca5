"""Submitting an address: stored and refused members, and equal replies for all addresses."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.leads.make import CONFIRM, FULL, LEADS, Runner, comparable, confirm, submit, unsubscribe_path

COUNT = """
    SELECT (SELECT count(*) FROM leads_requests WHERE email = %(email)s),
           (SELECT count(*) FROM leads_leads WHERE email = %(email)s)
"""


async def stored(conn: Conn, email: str) -> tuple[int, int]:
    """Return the number of requests and leads of the address."""
    row = await (await conn.execute(COUNT, {"email": email})).fetchone()
    assert row is not None
    return row[0], row[1]


async def test_an_address_is_sufficient(anyone: Client, runner: Runner, email: str) -> None:
    answer = await submit(anyone, email)

    assert answer.json() == {
        "id": answer.json()["id"],
        "status": "pending",
        "email_masked": "a***@example.net",
        "confirmation_required": True,
        "warnings": [],
    }
    lead = await runner.lead(email)
    assert lead is not None
    assert (lead.status, lead.source, lead.marketing, lead.send_count) == ("pending", None, False, 1)


async def test_all_members_are_stored_normalized(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email.upper(), **FULL)

    lead = await runner.lead(email)
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


async def test_the_proof_of_consent_is_stored(anyone: Client, runner: Runner, email: str) -> None:
    before = clock.now()
    await submit(anyone, email, **FULL)
    await confirm(anyone, await runner.token(email))

    lead = await runner.lead(email)
    assert lead is not None
    assert before < lead.asked_at < clock.now()
    assert (lead.marketing, lead.text_version, lead.asked_from) == (True, "2026-01", "127.0.0.0/24")
    assert lead.proved_at == lead.confirmed_at
    assert lead.proved_from == "127.0.0.0/24"


async def test_known_and_unknown_addresses_get_the_same_reply(
    anyone: Client, runner: Runner, email: str, other: str
) -> None:
    unknown = await submit(anyone, email, **FULL)
    answers = [await submit(anyone, email, **FULL)]  # pending, and too soon for a message
    await confirm(anyone, await runner.token(email))
    answers.append(await submit(anyone, email, **FULL))  # confirmed
    await anyone.post(unsubscribe_path((await runner.messages(email))[0]))
    await runner.run()
    answers.append(await submit(anyone, email, **FULL))  # unsubscribed
    await submit(anyone, other)
    await anyone.post(unsubscribe_path((await runner.messages(other))[0]))
    assert await runner.status(other) == "suppressed"
    answers.append(await submit(anyone, other, **FULL))

    assert {repr(comparable(each)) for each in answers} == {repr(comparable(unknown))}
    assert len({each.json()["id"] for each in [unknown, *answers]}) == 5


async def test_the_request_runs_the_same_statements_for_all_addresses(
    anyone: Client, runner: Runner, conn: Conn, email: str, other: str
) -> None:
    await submit(anyone, email)
    await confirm(anyone, await runner.token(email))
    before = await stored(conn, email)
    for address in (email, other):
        await submit(anyone, address)

    # A row and a job each, without a look-up: the job reads the lead.
    assert [await stored(conn, email), await stored(conn, other)] == [(before[0] + 1, 1), (1, 0)]
    cursor = await conn.execute(
        "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'leads.process_request' AND status = 'todo'"
    )
    assert await cursor.fetchone() == (2,)


@pytest.mark.parametrize("filled", ["https://spam.example", "x"])
async def test_a_filled_honeypot_drops_the_request(
    anyone: Client, runner: Runner, conn: Conn, email: str, other: str, filled: str
) -> None:
    trapped = await submit(anyone, email, website=filled, name="Bot")
    honest = await submit(anyone, other, website="", name="Ada")

    assert comparable(trapped) == comparable(honest)
    assert await runner.messages(email) == []
    assert await stored(conn, email) == (0, 0)
    assert await runner.status(other) == "pending"


async def test_a_blank_member_counts_as_absent(anyone: Client, runner: Runner, email: str) -> None:
    blank = {name: "" if isinstance(value, str) else value for name, value in FULL.items()}
    left = {"name": "  ", "consent": {"text_version": " "}, "utm": {"term": ""}, "website": " "}
    answer = await submit(anyone, email, **blank | left)

    assert answer.json()["warnings"] == []
    lead = await runner.lead(email)
    assert lead is not None
    assert (lead.source, lead.interest, lead.text_version) == (None, None, None)
    assert lead.details == {"metadata": {"variant": "b"}}


async def test_unknown_members_give_warnings(anyone: Client, email: str) -> None:
    answer = await submit(anyone, email, sauce="x", consent={"marketting": True}, website="")

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
async def test_an_invalid_member_is_422(
    anyone: Client, email: str, members: dict[str, Any], loc: list[str], kind: str
) -> None:
    answer = await anyone.post(LEADS, json={"email": email, **members})

    assert answer.status_code == 422
    assert [(each["loc"], each["type"]) for each in answer.json()["detail"]] == [(loc, kind)]


async def test_the_address_is_required(anyone: Client) -> None:
    answer = await anyone.post(LEADS, json={"name": "Ada"})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "email"])


async def test_text_is_normalized(anyone: Client, runner: Runner, email: str) -> None:
    hostile = {"name": "Ada\r\n\u202eLovelace\x1b[31m", "message": "a\x07\r\n\r\n\u2066b"}
    await submit(anyone, email, referrer="nowhere", **hostile)

    lead = await runner.lead(email)
    assert lead is not None
    assert lead.details == {"name": "Ada Lovelace[31m", "message": "a\n\nb"}


async def test_credentials_are_ignored(anyone: Client, bob: Person, runner: Runner, email: str) -> None:
    await submit(bob, email)
    answer = await anyone.post(LEADS, json={"email": email}, headers={"X-API-Key": "bad"})

    assert answer.status_code == 201
    assert len(await runner.messages(email)) == 1


async def test_an_address_gets_one_message_per_fifteen_minutes_and_five_per_day(
    anyone: Client, runner: Runner, email: str
) -> None:
    counts = []
    for minutes in (0, 14, 2, 15, 15, 15, 15, 60):
        clock.move(timedelta(minutes=minutes))
        await submit(anyone, email)
        counts.append(len(await runner.messages(email)))
    clock.move(timedelta(hours=23))
    await submit(anyone, email)

    assert counts == [1, 1, 2, 3, 4, 5, 5, 5]
    assert len(await runner.messages(email)) == 6


async def test_many_concurrent_requests_send_one_message(
    anyone: Client, runner: Runner, conn: Conn, email: str
) -> None:
    for _ in range(4):
        await asyncio.gather(*(submit(anyone, email) for _ in range(50)))

    assert await stored(conn, email) == (200, 0)
    assert len(await runner.messages(email)) == 1
    requests, leads = await stored(conn, email)
    assert leads == 1
    assert requests <= 22  # the newest, and the one of the link
    lead = await runner.lead(email)
    assert lead is not None
    assert lead.send_count == 1


async def test_all_spellings_of_a_mailbox_share_its_messages(anyone: Client, runner: Runner, email: str) -> None:
    local, _, domain = email.partition("@")
    dotted = local.replace("-", "")
    for alike in (
        [f"{local}+{n}@{domain}" for n in range(20)],
        [f"{dotted}@gmail.com", f"{dotted}+shop@gmail.com", f"{dotted[:3]}.{dotted[3:]}@googlemail.com"],
    ):
        await asyncio.gather(*(submit(anyone, each) for each in alike))
        await runner.run()
        assert len([each for each in runner.server.received if each.recipients[0] in alike]) == 1

    await submit(anyone, f"{local}x+1@{domain}")
    assert len(await runner.messages(f"{local}x+1@{domain}")) == 1


async def test_the_link_confirms_its_own_request(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email, source="honest", name="Ada", consent={"text_version": "mine"})
    await runner.run()
    for n in range(25):  # other requests displace the first one
        await submit(anyone, email, source=f"stranger-{n}", name="Mallory", consent={"marketing": True})
    assert await confirm(anyone, await runner.token(email)) == "confirmed"

    lead = await runner.lead(email)
    assert lead is not None
    assert (lead.source, lead.details, lead.marketing, lead.text_version) == (
        *("honest", {"name": "Ada"}, False, "mine"),
    )


async def test_the_message_can_be_unsubscribed(anyone: Client, runner: Runner, email: str) -> None:
    await submit(anyone, email)
    [message] = await runner.messages(email)

    assert message.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    page = message.part("html")
    assert "/v1/t/o/" in page
    assert f"http://builders.test{CONFIRM}?token=" in page  # the link is a secret, so it is not tracked
    assert "/v1/t/c/" not in page
