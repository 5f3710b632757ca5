"""The builders waitlist, whose entries are leads of one source."""

from typing import Any

import pytest

from tests.cast import Client
from tests.leads.make import WAITLIST, Runner, comparable, confirm, submit

FORM: dict[str, Any] = {
    "name": "Ada Lovelace",
    "company": "Analytical Engines",
    "role": "engineer",
    "use_case": "Addresses\nfor our agents.",
    "url": "https://engines.example",
    "expected_volume": "100_1k",
    "referral_code": "HARBOUR",
    "consent": {"marketing": False, "text_version": "w1"},
    "utm": {"source": "conference"},
}


async def test_an_entry_is_stored_as_a_lead(anyone: Client, runner: Runner, email: str) -> None:
    answer = await anyone.post(WAITLIST, json={"email": email, **FORM})
    assert answer.status_code == 201
    assert await confirm(anyone, await runner.token(email)) == "confirmed"

    lead = await runner.lead(email)
    assert lead is not None
    assert (lead.source, lead.interest, lead.marketing, lead.text_version) == (
        *("builders_waitlist", "builder", False, "w1"),
    )
    assert lead.details == {
        "name": "Ada Lovelace",
        "company": "Analytical Engines",
        "role": "engineer",
        "use_case": "Addresses\nfor our agents.",
        "url": "https://engines.example",
        "expected_volume": "100_1k",
        "referral_code": "HARBOUR",
        "utm": {"source": "conference"},
    }


async def test_the_reply_is_that_of_a_lead(anyone: Client, runner: Runner, email: str, other: str) -> None:
    await submit(anyone, email)
    await runner.run()
    answers = [
        await anyone.post(WAITLIST, json={"email": each, **extra})
        for each, extra in ((email, {}), (other, {}), (other, {"website": "spam"}))
    ]

    assert {repr(comparable(each)) for each in answers} == {repr(comparable(await submit(anyone, email)))}


async def test_the_client_cannot_set_the_source(anyone: Client, runner: Runner, email: str) -> None:
    answer = await anyone.post(WAITLIST, json={"email": email, "source": "mine", "interest": "mailbox"})

    assert [each["field"] for each in answer.json()["warnings"]] == ["source", "interest"]
    lead = await runner.lead(email)
    assert lead is not None
    assert (lead.source, lead.interest, lead.details) == ("builders_waitlist", "builder", {})


@pytest.mark.parametrize(
    ("members", "member", "kind"),
    [
        ({"company": "x" * 121}, "company", "string_too_long"),
        ({"role": "x" * 81}, "role", "string_too_long"),
        ({"use_case": "x" * 2001}, "use_case", "string_too_long"),
        ({"url": "ftp://x.example"}, "url", "web_address"),
        ({"expected_volume": "many"}, "expected_volume", "enum"),
        ({"referral_code": "x" * 41}, "referral_code", "string_too_long"),
        ({"email": "@"}, "email", "email"),
    ],
)
async def test_an_invalid_member_is_422(
    anyone: Client, email: str, members: dict[str, Any], member: str, kind: str
) -> None:
    answer = await anyone.post(WAITLIST, json={"email": email, **members})

    assert answer.status_code == 422
    assert [(each["loc"], each["type"]) for each in answer.json()["detail"]] == [(["body", member], kind)]
