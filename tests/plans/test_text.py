"""A plan as text: `Accept: text/plain`."""

import re

import pytest

from builders.kit.db.connections import Conn
from builders.plans.schemas.plans import wants_text
from tests.cast import Person
from tests.plans.make import PLAN, alias, apply, manifest, plan

TEXT = {"Accept": "text/plain"}


async def test_the_text_reads_like_a_diff(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"), alias(f"linus@{domain}", key="boss"))
    wanted = [
        alias(f"ada@{domain}", "new@example.net", note="moved"),
        alias(f"alan@{domain}", key="boss"),
        alias(f"norman@{domain}"),
    ]
    answer = await alice.post(PLAN, json=manifest(wanted, prune=True), headers=TEXT)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["vary"] == "Accept"
    lines = [line.rstrip() for line in answer.text.splitlines()]
    assert lines[0].startswith("Plan ")
    assert "  ~ update alias.ada (risk medium)" in lines
    assert '      destinations: ["ada@example.net"] -> ["new@example.net"]' in lines
    assert '      note: null -> "moved"' in lines
    assert "  -/+ replace alias.boss (risk high, 12.00 USD per year)" in lines
    assert "  + create alias.norman (risk low, 12.00 USD per year)" in lines
    assert "  - delete alias.grace (risk high)" in lines
    assert "Totals: 24.00 USD per year" in lines
    assert '"confirm_deletes": 2' in lines[-1]


async def test_the_text_contains_errors_and_remedies(alice: Person, domain: str) -> None:
    answer = await alice.post(PLAN, json=manifest([alias(f"postmaster@{domain}")]), headers=TEXT)
    assert "  ! alias.postmaster: reserved: " in answer.text
    assert answer.text.endswith("It cannot be promoted: correct the manifest and plan again.\n")


async def test_with_a_test_key_mailboxes_are_masked(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", "private@example.net"))
    answer = await alice.test.get(f"/v1/sandbox/plans/{planned['id']}", headers=TEXT)
    assert re.search(r"p\*\*\*#[0-9a-f]{8}@example\.net", answer.text)
    assert "private" not in answer.text


async def test_control_characters_are_escaped(alice: Person, domain: str, conn: Conn) -> None:
    await apply(alice, alias(f"ada@{domain}", note="plain"))
    note = "\u202e\u001b[2Jgone\u009b\r\n+ create alias.fake"
    await conn.execute("UPDATE aliases SET note = %s WHERE account_id = %s", [note, alice.account.id])
    answer = await alice.post(PLAN, json=manifest([alias(f"ada@{domain}", note="new")]), headers=TEXT)
    assert "gone" in answer.text
    assert {char for char in answer.text if not char.isprintable()} == {"\n"}
    assert "\n+ create" not in answer.text


@pytest.mark.parametrize(
    ("accept", "is_text"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("text/plain", True),
        ("text/plain, */*", True),
        ("application/json, text/plain, */*", False),
        ("application/json;q=0.5, text/plain", True),
        ("text/plain;q=0, */*", False),
        ("text/plain;q=x", False),
        ("TEXT/PLAIN; charset=utf-8", True),
    ],
)
def test_the_accept_header_selects_the_format(accept: str, *, is_text: bool) -> None:
    assert wants_text(accept) is is_text
