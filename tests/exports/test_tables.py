"""The tables of the complete export: all rows of the account with the content of its mail, and no hash."""

import json
from base64 import b64decode
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any
from uuid import UUID

import pytest

from builders.exports import lists, service as exports, tables
from builders.kit.db import account_tables
from builders.kit.db.connections import Conn, Database
from builders.kit.limits.maximums import list_maximums
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.exports.test_complete import ask, export
from tests.exports.test_exports import collect, make_projects, show, write_page
from tests.forwarding.conftest import domains, hand_over, key, keyring, name, queue, rule, shared, webhook
from tests.forwarding.lmtp import HandOver
from tests.forwarding.rules import inside, receive
from tests.plans.approval.make import appoint
from tests.webhooks.make import create, happen, send_due

__all__ = ["domains", "hand_over", "key", "keyring", "name", "queue", "rule", "shared", "webhook"]
Json = dict[str, Any]
TYPES = """
    SELECT relname || '.' || attname, format_type(atttypid, NULL) FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace
      AND attnum > 0 AND NOT attisdropped AND relname::text = ANY(%s)
"""
# The columns of bytes that a complete export leaves out. A new one is added here, or declared as sealed.
HASHES = {
    "aliases_links.digest",
    "forwarding_answers.correspondent",
    "forwarding_answers.digest",
    "forwarding_correspondents.digest",
    "forwarding_messages.digest",
    "forwarding_messages.senders",
    "identity_devices_requests.device_code_hash",
    "identity_devices_requests.user_code_hash",
    "identity_grants.digest",
    "identity_keys.digest",
    "identity_oauth_tokens.access_digest",
    "identity_oauth_tokens.refresh_digest",
    "identity_sign_ins.code_hash",
    "identity_sign_ins.token_hash",
    "leads_suppressions.hash",
    "leads_tokens.digest",
    "mail_messages.content",
    "portfolio_billing_charges.key",
    "portfolio_ledger_entries.charge_key",
    "portfolio_renewals_tokens.token_hash",
    "portfolio_team_tokens.token_hash",
    "profile_tokens.digest",
}
SEALED = {
    "forwarding_answers.draft",
    "forwarding_correspondents.address",
    "forwarding_messages.summary",
    "forwarding_parts.content",
    "forwarding_parts.name",
    "identity_drafts.content",
    "portfolio_imports_sources.content",
    "portfolio_registrars_connections.credentials",
    "webhooks_destinations.old_secret",
    "webhooks_destinations.secret",
}


async def receive_picture(person: Person, name: Json, hand_over: HandOver) -> None:
    """Let a message with an attachment of bytes arrive."""
    sent = EmailMessage(policy=SMTP)
    sent["From"], sent["To"], sent["Subject"] = "ada@author.example", name["address"], "The bill"
    sent.set_content("Good morning.")
    sent.add_attachment(b"\xff\xfe", maintype="image", subtype="png", filename="bill.png")
    assert (await hand_over(sent.as_bytes(), inside(person, name)))[0] == 250


@pytest.fixture
async def items(
    alice: Person, bob: Person, name: Json, rule: Json, hand_over: HandOver, settings: Settings, database: Database
) -> dict[str, list[Any]]:
    """Fill the accounts of Alice and Bob, and return the items of Alice's export by part."""
    assert rule
    await receive_picture(alice, name, hand_over)
    replying = await alice.patch(f"/v1/aliases/{name['id']}", json={"reply": True})
    assert replying.status_code == 200, replying.text
    answer = await alice.post(f"/v1/aliases/{name['id']}/correspondents", json={"email": "carol@author.example"})
    assert answer.status_code in {200, 201}, answer.text
    for person in (alice, bob):
        await create(person, label=f"of {person.account.email}")
        await happen(database, person.account.id)
        await send_due(person.service, account_id=person.account.id)
        await make_projects(person, 1)
        answer = await person.test.post("/v1/builders/projects", json={"name": "Rehearsal"})
        assert answer.status_code == 201, answer.text
    async with alice.browser() as browser:
        _, found = await collect(browser, await export(browser, alice, settings))
    return found


async def test_it_has_the_stored_mail_as_it_arrived(items: dict[str, list[Any]]) -> None:
    [message] = items["tables/forwarding_messages"]
    parts = {each["number"]: each for each in items["tables/forwarding_parts"]}

    assert json.loads(message["summary"])["subject"] == "The bill"
    assert "Good morning." in parts[0]["content"]
    assert "Subject: The bill" in parts[0]["content"]
    assert parts[1]["name"] == "bill.png"
    assert b64decode(parts[1]["content"]["base64"]) == b"\xff\xfe"


async def test_it_has_what_is_read_one_by_one(items: dict[str, list[Any]], name: Json) -> None:
    [plan] = items["tables/plans"]
    actions = [each["address"] for each in plan["actions"]]

    assert actions == ["alias.inbox"]
    assert [each["address"] for each in items["tables/plans_steps"]] == actions
    assert [each["alias_id"] for each in items["tables/invoices_lines"]] == [name["id"]]
    assert all(each["error"] for each in items["tables/webhooks_attempts"])


async def test_it_has_correspondents_sessions_and_audit(items: dict[str, list[Any]]) -> None:
    assert [each["address"] for each in items["tables/forwarding_correspondents"]] == ["carol@author.example"]
    assert {each["kind"] for each in items["tables/identity_sessions"]} == {"login"}
    assert "export.requested" in {each["action"] for each in items["tables/identity_audit"]}


async def test_it_has_the_secrets_of_its_webhooks(items: dict[str, list[Any]]) -> None:
    assert all(each["secret"].startswith("whsec_") for each in items["tables/webhooks_destinations"])


async def test_it_has_the_rows_of_the_test_mode(items: dict[str, list[Any]], alice: Person) -> None:
    owners = {each["account_id"] for each in items["tables/projects"]}

    assert owners == set(map(str, own_ids(alice)))


async def test_nothing_of_bob_is_in_it(items: dict[str, list[Any]], bob: Person) -> None:
    written = json.dumps(items)

    assert [each for each in (bob.account.email, *map(str, own_ids(bob))) if each in written] == []


def own_ids(person: Person) -> list[UUID]:
    return [person.account.id, person.account.sandbox_id]


async def test_no_hash_and_no_key_of_the_service_is_in_it(
    items: dict[str, list[Any]], alice: Person, conn: Conn
) -> None:
    written = json.dumps(items)
    hidden = [*(value.get_secret_value() for value in alice.service.api.state.settings.secret_keys), alice.key]
    for column in HASHES - {"forwarding_messages.senders"}:
        table, _, name = column.partition(".")
        found = await conn.execute(
            f"SELECT encode({name}, 'hex'), encode({name}, 'base64') FROM {table} WHERE account_id = ANY(%s)",  # noqa: S608 - of names in the code
            [own_ids(alice)],
        )
        hidden += [text for row in await found.fetchall() for text in row if text]

    assert len(hidden) > 5
    assert [each for each in hidden if each in written] == []


async def test_each_table_is_a_part_or_left_out(alice: Person, settings: Settings, conn: Conn) -> None:
    async with alice.browser() as browser:
        first, _ = await collect(browser, await export(browser, alice, settings))
    names = {f"{tables.PREFIX}{each.name}" for each in await account_tables.load(conn)}
    left_out = {each for each in first["left_out"] if each.startswith(tables.PREFIX) and "." not in each}

    assert names == {each for each in first["parts"] if each.startswith(tables.PREFIX)} | left_out
    assert left_out == {f"{tables.PREFIX}{each}" for each in tables.LEFT_OUT}


async def test_each_column_of_bytes_is_unsealed_or_left_out(conn: Conn) -> None:
    """A new one fails here until somebody decides about it."""
    lists.routes()
    found = [each for each in await account_tables.load(conn) if each.name not in tables.LEFT_OUT]
    listed = await conn.execute(TYPES, [[each.name for each in found]])
    of_bytes = {column for column, kind in await listed.fetchall() if kind.startswith("bytea")}

    assert {f"{table.name}.{each}" for table in found for each in table.hidden} == HASHES
    assert of_bytes - HASHES == SEALED


async def test_what_members_have_in_the_portfolio_is_theirs(
    alice: Person, dana: Person, settings: Settings
) -> None:
    await appoint(alice, dana)
    async with alice.browser() as browser:
        _, items = await collect(browser, await export(browser, alice, settings))

    assert "tables/portfolio_team_members" not in items
    assert str(dana.account.id) in json.dumps(items["portfolio_get_team"])


async def test_a_key_that_is_lost_leaves_null(alice: Person, settings: Settings, conn: Conn) -> None:
    made = await create(alice)
    await conn.execute("UPDATE webhooks_destinations SET secret = 'sealed' WHERE id = %s", [UUID(made["id"])])
    async with alice.browser() as browser:
        _, items = await collect(browser, await export(browser, alice, settings))

    assert [each["secret"] for each in items["tables/webhooks_destinations"]] == [None]


async def test_a_killed_worker_is_continued_within_a_table(alice: Person) -> None:
    projects = await make_projects(alice, 5)
    async with alice.browser() as browser:
        asked = await ask(browser)
        while await write_page(alice, asked, page_size=2):
            pass
        _, items = await collect(browser, asked)

    assert [each["id"] for each in items["tables/projects"]] == sorted(each["id"] for each in projects)


@pytest.mark.parametrize("size", [exports.PIECE, tables.PAGE_SIZE])
async def test_a_large_message_is_stored_in_pieces(
    size: int, alice: Person, name: Json, rule: Json, settings: Settings, conn: Conn
) -> None:
    assert rule
    for at in range(2):
        await receive(alice, name["id"], Subject=f"Question {at}", body=f"{'Good' * 16}\r\n" * (size // 64))
    async with alice.browser() as browser:
        asked = await export(browser, alice, settings)
        _, items = await collect(browser, asked)
    read = "SELECT max(length(content)) FROM exports_pages WHERE export_id = %s"
    [(longest,)] = await (await conn.execute(read, [UUID(asked["id"])])).fetchall()

    assert [len(each["content"]) > size for each in items["tables/forwarding_parts"]].count(True) == 2
    assert longest == len(alice.service.api.state.keyring.seal("", b"", context=b"")) + exports.PIECE


@pytest.mark.maximum("complete_export_bytes")
async def test_its_size_is_bounded(alice: Person) -> None:
    async with alice.browser() as browser:
        asked = await ask(browser)
        while await write_page(alice, asked, max_bytes=1_000):
            pass
        assert await show(browser, asked) == ("failed", "export_too_large")
    assert [each.code for each in list_maximums() if each.name == "complete_export_bytes"] == ["export_too_large"]
