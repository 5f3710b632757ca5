"""Keys with a mandate: minted, shown, rotated, without authority, audited; deletions; who becomes the person."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from builders.identity import keys, people
from builders.identity.records import ConnectionSpec, KeyKind
from builders.kit.callers import OPERATOR
from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.errors import Problem
from builders.kit.mandates import MANDATE
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from tests.cast import Person
from tests.identity.make import PATH, WANTED, mint
from tests.mandates import FREE, machine, reason, refused

READ_ONLY: dict[str, Any] = {"toolsets": ["names"]}
SHOWN = {
    "toolsets": ["names"],
    "read_only": True,
    "projects": None,
    "max_total_per_plan": [],
    "max_total_per_30_days": [],
    "deletes_per_plan": 0,
    "deletes_per_30_days": 0,
    "outward": False,
    "portfolio_account": None,
}
AUDITED = "SELECT about ->> 'code', about ->> 'reason' FROM identity_audit WHERE account_id = %s AND action = %s"


async def test_a_mandate_is_answered_with_what_was_not_sent(alice: Person) -> None:
    assert (await mint(alice, mandate=READ_ONLY))["mandate"] == SHOWN


async def test_a_key_without_a_mandate_has_none(alice: Person) -> None:
    assert (await mint(alice))["mandate"] is None


async def test_a_mandate_is_read(alice: Person) -> None:
    made = await mint(alice, mandate=READ_ONLY)
    assert (await alice.get(f"{PATH}/{made['id']}")).json()["mandate"] == SHOWN


async def test_a_mandate_is_listed(alice: Person) -> None:
    await mint(alice, mandate=READ_ONLY)
    assert (await alice.get(PATH)).json()["items"][0]["mandate"] == SHOWN


async def test_the_session_shows_the_mandate(alice: Person) -> None:
    agent = await machine(alice)
    shown = (await agent.get("/v1/auth/session")).json()["mandate"]
    assert MANDATE.validate_python(shown) == MANDATE.validate_python(FREE)


@pytest.mark.parametrize(
    "bad",
    [
        {"toolsets": []},
        {"toolsets": ["all"]},
        {"toolsets": ["names"], "max_totl_per_plan": []},
        {"toolsets": ["names"], "read_only": "no"},
        {"toolsets": ["names"], "deletes_per_plan": -1},
        {"toolsets": ["names"], "deletes_per_plan": "3"},
        {"toolsets": ["names"], "projects": []},
        {"toolsets": ["names"], "max_total_per_plan": [{"amount": "-1.00", "currency": "USD"}]},
        {"toolsets": ["names"], "max_total_per_plan": [{"amount": "1.00", "currency": "USD"}] * 2},
        {"read_only": False},
    ],
    ids=str,
)
async def test_a_mandate_that_could_mean_no_limit_is_refused(alice: Person, bad: dict[str, Any]) -> None:
    assert (await alice.post(PATH, json={**WANTED, "mandate": bad})).status_code == 422


async def test_a_rotated_key_keeps_its_mandate(alice: Person) -> None:
    made = await mint(alice, mandate=READ_ONLY)
    rotated = (await alice.post(f"{PATH}/{made['id']}/rotate", json={})).json()
    assert (await alice.get(f"{PATH}/{rotated['id']}")).json()["mandate"] == SHOWN


async def test_a_refusal_is_audited_for_the_account(alice: Person, database: Database) -> None:
    agent = await machine(alice, read_only=True)
    answer = await agent.post("/v1/builders/projects", json={"name": "Lander"})
    assert reason(answer) == refused("read_only")
    async with database.connection() as conn:
        cursor = await conn.execute(AUDITED, (alice.account.id, "decision.refused"))
        assert await cursor.fetchall() == [("mandate_exceeded", "read_only")]


async def test_a_test_key_has_a_mandate_in_its_sandbox(alice: Person) -> None:
    agent = await machine(alice, kind="test", read_only=True)
    answer = await agent.post("/v1/builders/projects", json={"name": "Lander"})
    assert reason(answer) == refused("read_only")


@pytest.mark.parametrize(("allowed", "code"), [(1, 404), (0, 403)])
async def test_deletions_of_30_days_are_counted(alice: Person, allowed: int, code: int) -> None:
    agent = await machine(alice, deletes_per_30_days=allowed)
    assert (await agent.delete(f"/v1/aliases/{alice.account.id}")).status_code == code


async def test_one_deletion_beyond_the_number_is_refused(alice: Person) -> None:
    agent = await machine(alice, deletes_per_30_days=1)
    await agent.delete(f"/v1/aliases/{alice.account.id}")
    assert reason(await agent.delete(f"/v1/aliases/{alice.account.id}")) == refused("deletes")


async def test_a_deletion_counts_for_30_days(alice: Person) -> None:
    agent = await machine(alice, deletes_per_30_days=1)
    await agent.delete(f"/v1/aliases/{alice.account.id}")
    clock.move(timedelta(days=30))
    assert (await agent.delete(f"/v1/aliases/{alice.account.id}")).status_code == 404


async def test_a_rotated_key_counts_on(alice: Person) -> None:
    agent = await machine(alice, deletes_per_30_days=1)
    await agent.delete(f"/v1/aliases/{alice.account.id}")
    rotated = (await alice.post(f"{PATH}/{agent.key_id}/rotate", json={})).json()["secret"]
    answer = await agent.delete(f"/v1/aliases/{alice.account.id}", headers={"X-API-Key": rotated})
    assert reason(answer) == refused("deletes")


async def needs_person(database: Database, person: Person) -> bool:
    async with database.transaction() as conn:
        return await people.lock(conn, account_id=person.account.id)


async def test_no_key_becomes_the_person_while_a_live_key_has_a_mandate(alice: Person, database: Database) -> None:
    await machine(alice, read_only=True)
    assert await needs_person(database, alice)


async def test_a_test_key_with_a_mandate_changes_nothing_for_the_person(alice: Person, database: Database) -> None:
    await machine(alice, kind="test")
    assert not await needs_person(database, alice)


async def test_the_person_is_free_after_the_key_is_revoked(alice: Person, database: Database) -> None:
    agent = await machine(alice)
    await alice.delete(f"{PATH}/{agent.key_id}")
    assert not await needs_person(database, alice)


async def test_the_person_is_free_after_the_key_expires(alice: Person, database: Database) -> None:
    await mint(alice, mandate=FREE, expires_at=(clock.now() + timedelta(days=1)).isoformat())
    clock.move(timedelta(days=1))
    assert not await needs_person(database, alice)


async def connect(database: Database, person: Person) -> str:
    """Connect a client as the consent of a person does; return the id of the connection."""
    spec = ConnectionSpec(
        label="Laptop",
        kind=KeyKind.LIVE,
        client="https://client.example/metadata",
        client_name="Client",
        mandate=MANDATE.validate_python(FREE),
        expires_at=clock.now() + timedelta(days=30),
    )
    async with database.transaction() as conn:
        made = await keys.create_connection(conn, account_id=person.account.id, spec=spec, actor=OPERATOR)
    return str(made.id)


async def test_a_connection_is_listed_as_a_key_without_a_secret(alice: Person, database: Database) -> None:
    connection_id = await connect(database, alice)
    shown = (await alice.get(PATH)).json()["items"][0]
    found = {name: shown[name] for name in ("id", "preset", "prefix", "client_name")}
    assert found == {"id": connection_id, "preset": None, "prefix": "", "client_name": "Client"}


async def test_a_connection_has_the_scopes_of_its_toolsets(alice: Person, database: Database) -> None:
    connection_id = await connect(database, alice)
    found = set((await alice.get(f"{PATH}/{connection_id}")).json()["scopes"])
    assert {"portfolio:write", "aliases:write"} <= found
    assert not found & {"plans:approve", "mail:read"}


async def test_a_connection_is_not_rotated(alice: Person, database: Database) -> None:
    connection_id = await connect(database, alice)
    assert (await alice.post(f"{PATH}/{connection_id}/rotate", json={})).status_code == 409


async def test_a_connection_is_revoked_as_a_key(alice: Person, database: Database) -> None:
    connection_id = await connect(database, alice)
    assert (await alice.delete(f"{PATH}/{connection_id}")).json()["revoked_at"] is not None


async def test_a_connection_acts_as_an_agent(alice: Person, database: Database) -> None:
    connection_id = await connect(database, alice)
    async with database.connection() as conn:
        found = await keys.get_key(conn, account_id=alice.account.id, key_id=UUID(connection_id))
    assert (keys.actor_of(found).type, keys.actor_of(found).label) == ("agent", "Client")


async def test_a_revoked_key_spends_nothing(alice: Person, database: Database) -> None:
    agent = await machine(alice)
    await alice.delete(f"{PATH}/{agent.key_id}")
    async with database.connection() as conn:
        found = await keys.get_key(conn, account_id=alice.account.id, key_id=UUID(agent.key_id))
        with pytest.raises(Problem, match="revoked"):
            await keys.find_spender(conn, account_id=alice.account.id, actor=keys.actor_of(found))


def test_the_bound_of_the_operator_is_read() -> None:
    found = Settings(machines_max_total="500.00 USD, 450 EUR").machines_max_total
    assert found == (Money.of("500.00", "USD"), Money.of("450.00", "EUR"))


@pytest.mark.parametrize("wrong", ["500", "500 usd", "x USD", "500.001 USD"])
def test_a_bound_that_is_no_amount_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        Settings(machines_max_total=wrong)


async def test_a_use_older_than_30_days_is_deleted(alice: Person, database: Database) -> None:
    agent = await machine(alice)
    await agent.delete(f"/v1/aliases/{alice.account.id}")
    clock.move(timedelta(days=30, seconds=1))
    await old_rows.delete(database, "identity_mandate_uses")
    async with database.transaction() as conn:
        cursor = await conn.execute(
            "SELECT count(*) FROM identity_mandate_uses WHERE account_id = %s", (alice.account.id,)
        )
        assert await cursor.fetchone() == (0,)
