"""A restored database: the service only reads until it is accepted, and nothing that could be revoked works."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from builders.app import Service
from builders.backup import restores
from builders.forwarding.server import LookupServer
from builders.identity import keys
from builders.identity.records import KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.db.restores import AwaitsAcceptance, Known
from builders.kit.mandates import Mandate, Toolset
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.probes.service import Prober
from tests.cast import Client, Person

EPOCH = 1_790_000_000
RESTORED = "INSERT INTO kit_restores (epoch) VALUES (%s)"
ACCEPTED = "UPDATE kit_restores SET accepted_at = now()"


@pytest.fixture
async def restored(service: Service, database: Database) -> AsyncIterator[None]:
    """Let the database be a restored one that nobody has accepted, until the end of the test."""
    async with database.connection() as conn:
        await conn.execute(RESTORED, [EPOCH])
    service.api.state.restores = Known(database)
    yield
    async with database.connection() as conn:
        await conn.execute("DELETE FROM kit_restores")
    service.api.state.restores = Known(database)


async def accept(database: Database) -> None:
    async with database.transaction() as conn:
        assert await restores.accept(conn)


@pytest.mark.usefixtures("restored")
async def test_a_read_is_answered(alice: Person) -> None:
    assert (await alice.get("/v1/me")).status_code == 200


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/builders/projects", {"name": "Shop"}),
        ("PATCH", "/v1/me", {"display_name": "Alice"}),
        ("POST", "/v1/sandbox/plan", {"manifest": {}}),
        ("DELETE", "/v1/api-keys/01a1f7f5-0000-7000-8000-000000000000", None),
    ],
)
async def test_a_change_is_refused(alice: Person, method: str, path: str, body: Any) -> None:
    answer = await alice.request(method, path, json=body)

    assert (answer.status_code, answer.json()["code"]) == (503, "awaiting_acceptance")
    assert answer.headers["Retry-After"] == "60"


@pytest.mark.usefixtures("restored")
async def test_it_is_ready_to_be_read(settings: Settings, database: Database) -> None:
    async with Prober(settings, serving=database) as prober:
        found = await prober.examine()
    assert (found.status, found.writes) == ("ready", False)
    assert "restore: not accepted" in found.detail


@pytest.mark.usefixtures("restored")
async def test_nobody_signs_in(anyone: Client) -> None:
    answer = await anyone.post("/v1/auth/login", json={"email": "alice@example.com"})
    assert (answer.status_code, answer.json()["code"]) == (503, "awaiting_acceptance")


@pytest.mark.usefixtures("restored")
async def test_an_accepted_service_changes_again_without_a_restart(alice: Person, database: Database) -> None:
    assert (await alice.post("/v1/builders/projects", json={"name": "Shop"})).status_code == 503
    await accept(database)
    assert (await alice.post("/v1/builders/projects", json={"name": "Shop"})).status_code == 201


async def test_an_old_cursor_of_a_list_has_expired(alice: Person, service: Service, database: Database) -> None:
    await keys_of(alice, database, count=2)
    cursor = (await alice.get("/v1/api-keys", params={"limit": 1})).json()["next_cursor"]
    async with database.connection() as conn:
        await conn.execute(RESTORED, [EPOCH])
        await conn.execute(ACCEPTED)
    service.api.state.restores = Known(database)
    try:
        answer = await alice.get("/v1/api-keys", params={"limit": 1, "cursor": cursor})
        new = (await alice.get("/v1/api-keys", params={"limit": 1})).json()["next_cursor"]
        follows = await alice.get("/v1/api-keys", params={"limit": 1, "cursor": new})
    finally:
        async with database.connection() as conn:
            await conn.execute("DELETE FROM kit_restores")
        service.api.state.restores = Known(database)

    assert (answer.status_code, answer.json()["code"]) == (410, "cursor_expired")
    assert follows.status_code == 200


@pytest.mark.usefixtures("restored")
async def test_an_old_position_of_the_event_feed_has_expired(alice: Person, service: Service) -> None:
    restored, service.api.state.restores = service.api.state.restores, None
    cursor = (await alice.get("/v1/events")).json()["resume_cursor"]
    service.api.state.restores = restored

    answer = await alice.get("/v1/events", params={"cursor": cursor})

    assert (answer.status_code, answer.json()["code"]) == (410, "cursor_expired")


async def keys_of(person: Person, database: Database, *, count: int) -> list[Any]:
    async with database.transaction() as conn:
        return [
            await keys.create_key(
                conn,
                account_id=person.account.id,
                label=f"key {n}",
                key_kind=KeyKind.LIVE,
                preset=Preset.DEVELOPER_FULL,
                minted_by=KeyKind.LIVE,
                actor=OPERATOR,
                mandate=Mandate(
                    toolsets=(Toolset.NAMES,),
                    max_total_per_30_days=(Money.of("10.00", "EUR"),),
                    deletes_per_30_days=3,
                ),
                is_mailed=False,
            )
            for n in range(count)
        ]


@pytest.mark.usefixtures("restored")
async def test_the_worker_waits_and_stops(database: Database) -> None:
    stopping, known = asyncio.Event(), Known(database)
    waiting = asyncio.create_task(known.wait(stopping))
    with pytest.raises(AwaitsAcceptance):
        await known.require_accepted()
    assert not waiting.done()
    stopping.set()
    assert await waiting is False


@pytest.mark.usefixtures("restored")
async def test_the_worker_begins_when_it_is_accepted(database: Database) -> None:
    waiting = asyncio.create_task(Known(database).wait(asyncio.Event()))
    await accept(database)
    assert await waiting


async def test_the_mail_server_defers_mail_to_a_restored_service() -> None:
    server = LookupServer(recipients=None)  # type: ignore[arg-type] # it must not be asked
    server.may_answer = False
    assert (await server.answer(b"recipients ann@example.com")).startswith("TEMP ")
    asked = b"request=smtpd_access_policy\nsender=a@b.example\nrecipient=c@d.example\n\n"
    assert (await server.decide(asked)).startswith("451 ")


async def begun(conn: Conn, **options: Any) -> Any:
    usual: dict[str, Any] = {"target": None, "keeps_keys": False, "last_invoice": None}
    return await restores.begin(conn, **{**usual, **options})


async def value(conn: Conn, text: Any, *parameters: object) -> Any:
    row = await (await conn.execute(text, parameters)).fetchone()
    return None if row is None else row[0]


async def test_a_key_is_disabled_until_a_person_enables_it(alice: Person, database: Database) -> None:
    [key] = await keys_of(alice, database, count=1)
    async with database.connection() as conn:
        await conn.execute("UPDATE identity_keys SET disabled_at = now() WHERE id = %s", [key.id])
    async with Client(alice.service, key=key.secret) as machine, alice.browser() as person:
        refused = await machine.get("/v1/aliases")
        by_key = await alice.post(f"/v1/api-keys/{key.id}/enable")
        by_person = await person.post(f"/v1/api-keys/{key.id}/enable")
        with clock.moved(timedelta(seconds=2)):
            again = await machine.get("/v1/aliases")

    assert (refused.status_code, refused.json()["code"]) == (401, "api_key_disabled")
    assert (by_key.status_code, by_key.json()["code"]) == (403, "person_required")
    assert (by_person.status_code, by_person.json().get("disabled_at")) == (200, None), by_person.text
    assert again.status_code == 200


async def test_keys_sessions_and_budgets_end(alice: Person, database: Database) -> None:
    [key] = await keys_of(alice, database, count=1)
    await alice.sign_in()
    async with database.transaction(force_rollback=True) as conn:
        ended = await begun(conn)
        assert ended["sessions"] >= 1
        sessions = "SELECT count(*) FROM identity_sessions WHERE account_id = %s AND ended_at IS NULL"
        assert await value(conn, sessions, alice.account.id) == 0
        assert await value(conn, "SELECT disabled_at FROM identity_keys WHERE id = %s", key.id) is not None
        uses = "SELECT jsonb_object_agg(unit, amount) FROM identity_mandate_uses WHERE client = %s"
        assert await value(conn, uses, str(key.id)) == {"EUR": 10, "deletes": 3}
        spender = await keys.get_key(conn, account_id=alice.account.id, key_id=key.id)
        assert not spender.is_active(datetime.now(UTC))


async def test_links_and_invitations_end(alice: Person, database: Database) -> None:
    now = datetime.now(UTC)
    row = {"account": alice.account.id, "now": now, "end": now + timedelta(days=1)}
    async with database.transaction(force_rollback=True) as conn:
        await conn.execute(
            "INSERT INTO profile_profiles (account_id) VALUES (%(account)s) ON CONFLICT DO NOTHING", row
        )
        await conn.execute(
            """
            INSERT INTO profile_tokens (account_id, digest, purpose, email, expires_at)
            VALUES (%(account)s, 'x', 'change', 'thief@example.com', %(end)s)
            ON CONFLICT (account_id) DO UPDATE SET used_at = NULL
            """,
            row,
        )
        await conn.execute(
            """
            INSERT INTO portfolio_team_invites (account_id, id, email, role, invited_by, created_at, expires_at)
            VALUES (%(account)s, %(account)s, 'thief@example.com', 'owner', %(account)s, %(now)s, %(end)s)
            """,
            row,
        )
        await conn.execute(
            "INSERT INTO portfolio_renewals_calendars (account_id, member_id, created_at) "
            "VALUES (%(account)s, %(account)s, %(now)s)",
            row,
        )
        await begun(conn)
        for text in (
            "SELECT count(*) FROM profile_tokens WHERE used_at IS NULL",
            "SELECT count(*) FROM portfolio_team_invites WHERE ended_at IS NULL",
            "SELECT count(*) FROM portfolio_renewals_calendars",
        ):
            assert await value(conn, text) == 0


async def test_kept_keys_work(alice: Person, database: Database) -> None:
    [key] = await keys_of(alice, database, count=1)
    async with database.transaction(force_rollback=True) as conn:
        await begun(conn, keeps_keys=True)
        assert await value(conn, "SELECT disabled_at FROM identity_keys WHERE id = %s", key.id) is None


@pytest.mark.parametrize(("given", "last"), [("INV-2031-000041", 41), ("INV-2031-000003", 7)])
async def test_the_next_invoice_follows_the_last_one_that_was_given(
    database: Database, given: str, last: int
) -> None:
    async with database.transaction(force_rollback=True) as conn:
        await conn.execute("INSERT INTO invoices_series (series, last) VALUES ('INV-2031', 7)")
        await begun(conn, last_invoice=given)
        assert await value(conn, "SELECT last FROM invoices_series WHERE series = 'INV-2031'") == last


@pytest.mark.parametrize("given", ["41", "INV-2031-", "TEST-2031-000001", "INV-2031-00001"])
async def test_what_is_no_number_changes_nothing(database: Database, given: str) -> None:
    async with database.transaction(force_rollback=True) as conn:
        with pytest.raises(ValueError, match="INV-2026-000123"):
            await begun(conn, last_invoice=given)
        assert await value(conn, "SELECT count(*) FROM kit_restores") == 0


async def test_approvals_and_requests_end(alice: Person, database: Database) -> None:
    now = datetime.now(UTC)
    row = {"account": alice.account.id, "now": now, "end": now + timedelta(minutes=9)}
    async with database.transaction(force_rollback=True) as conn:
        await conn.execute(
            """
            INSERT INTO plans_approval_decisions
                (account_id, id, plan_id, digest, verdict, decided_by, decided_at, expires_at)
            VALUES (%(account)s, gen_random_uuid(), gen_random_uuid(), 'd', 'approve', %(account)s, %(now)s,
                    %(end)s)
            """,
            row,
        )
        await conn.execute(
            """
            INSERT INTO identity_devices_requests
                (id, device_code_hash, user_code_hash, host, address, presets, asks_live, asks_agent, expires_at,
                 interval_s)
            VALUES (gen_random_uuid(), uuid_send(gen_random_uuid()), uuid_send(gen_random_uuid()), 'h', '', '{}',
                    false, false, %(end)s, 5)
            """,
            row,
        )
        ended = await begun(conn)
        assert ended["approvals"] >= 1
        assert ended["requests of devices"] >= 1
        standing = "SELECT count(*) FROM plans_approval_decisions WHERE ended_at IS NULL"
        assert await value(conn, standing) == 0
        assert (await restores.count_open(conn)).jobs >= 0


def test_the_epoch_is_of_the_newest_restore(conninfo: str) -> None:
    with psycopg.connect(conninfo) as conn:
        assert conn.execute("SELECT count(*) FROM kit_restores").fetchone() == (0,)
