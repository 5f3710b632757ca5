"""Rights that a key or a connection does not use: they are shown after 90 days, and a person removes them."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.app import Service
from builders.identity import keys
from builders.identity.records import ConnectionSpec, KeyKind
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.mandates import MANDATE
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.make import PATH, Json, mint
from tests.mandates import FREE
from tests.wire import sent_texts

UNUSED, PROJECTS = timedelta(days=90), "/v1/builders/projects"


async def remove(person: Person, key_id: str, *scopes: str) -> Json:
    """Remove scopes as a person does."""
    async with person.browser() as browser:
        answer = await browser.post(f"{PATH}/{key_id}/remove-scopes", json={"scopes": scopes})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def use(service: Service, secret: str, path: str = PROJECTS) -> int:
    """Send a request with a key, and write what was used."""
    async with Client(service, secret) as client:
        status = (await client.get(path)).status_code
    await service.api.state.authenticate.flush()
    return status


async def uses(conn: Conn, key_id: str) -> Json:
    cursor = await conn.execute("SELECT scope_uses FROM identity_keys WHERE id = %s", (key_id,))
    (found,) = await cursor.fetchone() or ({},)
    return dict(found)


async def unused(person: Person, key_id: str) -> list[str]:
    """Return the unused scopes of a key, which its list shows too."""
    async with person.browser() as browser:
        found = (await browser.get(f"{PATH}/{key_id}")).json()["unused_scopes"]
        listed = {each["id"]: each for each in (await browser.get(PATH)).json()["items"]}
    assert listed[key_id]["unused_scopes"] == found
    return list(found)


@pytest.fixture
async def key(alice: Person) -> Json:
    """Return a live key of Alice."""
    return await mint(alice, key_kind="live")


async def test_the_day_of_a_use_is_noted_for_its_scope(service: Service, key: Json, conn: Conn) -> None:
    assert await use(service, key["secret"]) == 200
    assert await uses(conn, key["id"]) == {"projects:read": clock.now().date().isoformat()}


async def test_a_refused_request_is_no_use(service: Service, key: Json, conn: Conn) -> None:
    assert await use(service, key["secret"], "/v1/portfolio/summary") == 403
    assert await uses(conn, key["id"]) == {}


async def test_a_use_is_written_once_a_day(service: Service, key: Json, conn: Conn) -> None:
    await use(service, key["secret"])
    with sent_texts() as sent:
        await use(service, key["secret"])
    assert [each for each in sent if "scope_uses" in each] == []
    clock.move(timedelta(days=1))
    await service.api.state.authenticate.flush()
    await use(service, key["secret"])
    assert await uses(conn, key["id"]) == {"projects:read": clock.now().date().isoformat()}


@pytest.mark.parametrize(("age", "is_shown"), [(UNUSED - timedelta(seconds=2), False), (UNUSED, True)])
async def test_what_a_key_never_used_is_shown_after_90_days(
    alice: Person, key: Json, age: timedelta, *, is_shown: bool
) -> None:
    clock.move(age)
    assert ("aliases:write" in await unused(alice, key["id"])) is is_shown


async def test_what_was_used_is_shown_90_days_after_its_use(service: Service, alice: Person, key: Json) -> None:
    clock.move(UNUSED)
    await service.api.state.authenticate.flush()
    await use(service, key["secret"])
    found = await unused(alice, key["id"])
    assert ("projects:read" in found, "projects:write" in found) == (False, True)
    clock.move(UNUSED + timedelta(days=1))
    assert "projects:read" in await unused(alice, key["id"])


async def test_a_revoked_key_shows_none(alice: Person, key: Json) -> None:
    await alice.delete(f"{PATH}/{key['id']}")
    clock.move(UNUSED)
    assert await unused(alice, key["id"]) == []


async def test_a_removed_scope_is_refused_at_once(service: Service, alice: Person, key: Json) -> None:
    assert await use(service, key["secret"]) == 200
    narrowed = await remove(alice, key["id"], "projects:read", "projects:write")
    assert not {"projects:read", "projects:write"} & set(narrowed["scopes"])
    assert await use(service, key["secret"]) == 403
    assert await use(service, key["secret"], "/v1/aliases") == 200


async def test_removed_scopes_are_added_up_and_not_shown(alice: Person, key: Json) -> None:
    await remove(alice, key["id"], "projects:write")
    found = await remove(alice, key["id"], "invoices:read")
    assert not {"projects:write", "invoices:read"} & set(found["scopes"])
    clock.move(UNUSED)
    assert not {"projects:write", "invoices:read"} & set(await unused(alice, key["id"]))


async def test_a_rotated_key_stays_narrow(alice: Person, key: Json) -> None:
    await remove(alice, key["id"], "projects:write")
    new = (await alice.post(f"{PATH}/{key['id']}/rotate")).json()
    assert "projects:write" not in new["scopes"]


@pytest.mark.parametrize("way", ["mint", "rotate"])
async def test_a_narrow_key_makes_no_wider_one(service: Service, alice: Person, key: Json, way: str) -> None:
    await remove(alice, key["id"], "projects:write")
    other = await mint(alice, key_kind="live")
    async with Client(service, key["secret"]) as narrow:
        if way == "mint":
            new = await mint(narrow, key_kind="live")
        else:
            new = (await narrow.post(f"{PATH}/{other['id']}/rotate")).json()
    assert "projects:write" not in new["scopes"]


async def test_a_key_removes_nothing(alice: Person, key: Json) -> None:
    answer = await alice.post(f"{PATH}/{key['id']}/remove-scopes", json={"scopes": ["projects:write"]})
    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")


async def test_support_removes_nothing(alice: Person, key: Json) -> None:
    async with Client(alice.service, token=(await alice.admit_support(may_write=True)).token) as support:
        answer = await support.post(f"{PATH}/{key['id']}/remove-scopes", json={"scopes": ["projects:write"]})
    assert answer.status_code == 403


@pytest.mark.parametrize("scope", ["portfolio:read", "mail:read", "nothing"])
async def test_a_scope_that_the_key_does_not_have_is_422(alice: Person, key: Json, scope: str) -> None:
    async with alice.browser() as browser:
        answer = await browser.post(f"{PATH}/{key['id']}/remove-scopes", json={"scopes": [scope]})
    assert (answer.status_code, answer.json()["code"]) == (422, "scope_not_held")


async def test_the_key_of_a_stranger_is_not_found(bob: Person, key: Json) -> None:
    async with bob.browser() as browser:
        answer = await browser.post(f"{PATH}/{key['id']}/remove-scopes", json={"scopes": ["aliases:read"]})
    assert answer.status_code == 404


async def test_a_removal_is_audited(alice: Person, key: Json) -> None:
    await remove(alice, key["id"], "projects:write", "aliases:read")
    entry = (await alice.get("/v1/account/audit")).json()["items"][0]
    assert (entry["action"], entry["about"]["removed"]) == ("api_key.narrowed", "aliases:read, projects:write")


async def connect(database: Database, person: Person) -> str:
    """Connect a client for a year; return the id of the connection."""
    spec = ConnectionSpec(
        label="Laptop",
        kind=KeyKind.LIVE,
        client="https://client.example/metadata",
        client_name="Client",
        mandate=MANDATE.validate_python(FREE | {"toolsets": ["plans"]}),
        expires_at=clock.now() + timedelta(days=365),
    )
    async with database.transaction() as conn:
        made = await keys.create_connection(conn, account_id=person.account.id, spec=spec, actor=OPERATOR)
    return str(made.id)


async def test_a_connection_shows_and_loses_what_it_does_not_use(alice: Person, database: Database) -> None:
    connection_id = await connect(database, alice)
    clock.move(UNUSED)
    found = await unused(alice, connection_id)
    assert {"sandbox:read", "projects:write"} <= set(found)
    assert not [each for each in found if each.startswith("aliases")]
    async with alice.browser() as browser:
        (listed,) = (await browser.get("/v1/auth/connections")).json()["items"]
    assert listed["unused_scopes"] == found
    await remove(alice, connection_id, "projects:write")
    assert "projects:write" not in await unused(alice, connection_id)
    async with database.connection() as conn:
        key = await keys.get_key(conn, account_id=alice.account.id, key_id=UUID(connection_id))
    assert "projects:write" not in key.scopes
