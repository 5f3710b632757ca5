"""An owner lists and reads names."""

import pytest

from builders.aliases import claims
from builders.aliases.records import AliasFilters
from builders.kit.db.connections import Database
from builders.kit.http.pagination import PageRequest
from builders.kit.values import ids
from tests.aliases.make import ALIASES, Json, Owner, fresh, fresh_address, spec
from tests.cast import Client, Person


async def listed(client: Client, **params: object) -> list[Json]:
    answer = await client.get(ALIASES, params={name: str(value) for name, value in params.items()})
    assert answer.status_code == 200, answer.text
    items: list[Json] = answer.json()["items"]
    return items


def names(items: list[Json]) -> list[str]:
    return [each["local_part"] for each in items]


async def test_a_name_is_shown_with_all_members(alice: Person, owner: Owner, domain: str) -> None:
    own, other = alice.account.email, fresh_address()
    project = ids.new()
    alias_id = await owner.claim_one(
        "Ada".lower(), domain, own, other, note="n", labels={"a": "b"}, project_id=project
    )
    answer = await alice.get(f"{ALIASES}/{alias_id}")
    assert answer.status_code == 200
    assert answer.headers["ETag"] == f'"{alias_id}.1"'
    shown = answer.json()
    times = {name: shown.pop(name) for name in ("claimed_at", "renews_at", "updated_at")}
    assert shown == {
        "id": str(alias_id),
        "address": f"ada@{domain}",
        "local_part": "ada",
        "domain": domain,
        "type": "alias",
        "project_id": str(project),
        "managed_by": {"manifest": "acme-mail", "key": "ada"},
        "destinations": [{"email": own, "verified": True}, {"email": other, "verified": False}],
        "enabled": True,
        "status": "active",
        "note": "n",
        "labels": {"a": "b"},
        "block": [],
        "pause_until": None,
        "reply": False,
        "price": {"amount": "12.00", "currency": "USD", "interval": "year"},
        "livemode": True,
        "quarantined_until": None,
        "version": 1,
    }
    assert times["claimed_at"] == times["updated_at"] < times["renews_at"]
    assert (await listed(alice))[0] == answer.json()


async def test_pages_list_each_name_once_newest_first(alice: Person, owner: Owner, domain: str) -> None:
    for at in range(5):
        await owner.claim_one(f"crew{at:04}", domain)
    seen, cursor = [], None
    while True:
        params = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await alice.get(ALIASES, params=params)).json()
        seen += names(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [f"crew{at:04}" for at in (4, 3, 2, 1, 0)]


async def test_filters_narrow_the_list(alice: Person, owner: Owner, domain: str) -> None:
    other, project = fresh(), ids.new()
    await owner.claim_one("ada", domain, project_id=project)
    await owner.claim_one("adam", other, enabled=False, manifest="second")
    await owner.claim_one("a_b", other, manifest=None, manifest_key=None)
    assert names(await listed(alice)) == ["a_b", "adam", "ada"]
    assert names(await listed(alice, domain=domain.upper())) == ["ada"]
    assert names(await listed(alice, status="disabled")) == ["adam"]
    assert names(await listed(alice, project_id=project)) == ["ada"]
    assert names(await listed(alice, manifest="second")) == ["adam"]
    assert names(await listed(alice, q="ada")) == ["adam", "ada"]
    assert names(await listed(alice, q="A_")) == ["a_b"]
    assert names(await listed(alice, q="%")) == []
    assert names(await listed(alice, q=f"ada@{domain[:12]}")) == ["ada"]
    assert names(await listed(alice, q=f"ad@{domain}")) == []


@pytest.mark.parametrize("query", [{"status": "odd"}, {"project_id": "odd"}, {"limit": "0"}, {"cursor": "odd"}])
async def test_an_invalid_filter_is_refused(alice: Person, query: dict[str, str]) -> None:
    assert (await alice.get(ALIASES, params=query)).status_code == 422


async def test_released_names_are_listed_by_their_status(alice: Person, owner: Owner, domain: str) -> None:
    alias_id = await owner.claim_one("ada", domain)
    await owner.release((await owner.aliases())["ada"])
    assert await listed(alice) == []
    (gone,) = await listed(alice, status="deleted")
    assert (gone["id"], gone["managed_by"], gone["renews_at"]) == (str(alias_id), None, None)
    assert gone["quarantined_until"] is not None


async def test_bob_does_not_see_names_of_alice(alice: Person, bob: Person, owner: Owner, domain: str) -> None:
    alias_id = await owner.claim_one("ada", domain)
    assert await listed(bob) == []
    assert (await bob.get(f"{ALIASES}/{alias_id}")).status_code == 404
    assert (await alice.get(f"{ALIASES}/{ids.new()}")).json()["code"] == "alias_not_found"
    assert (await alice.get(f"{ALIASES}/odd")).status_code == 404


async def test_a_test_key_lists_only_the_sandbox(
    alice: Person, owner: Owner, database: Database, domain: str
) -> None:
    live = await owner.claim_one("ada", domain)
    sandbox = await Owner.of_sandbox(database, alice).claim_one("ada", domain, fresh_address())
    (shown,) = await listed(alice.test)
    assert (shown["id"], shown["livemode"]) == (str(sandbox), False)
    assert shown["destinations"][0]["verified"] is True
    assert (await alice.test.get(f"{ALIASES}/{live}")).status_code == 404
    assert [each["id"] for each in await listed(alice)] == [str(live)]


async def test_missing_scope_or_credentials_are_refused(dana: Person, anyone: Client) -> None:
    refused = await dana.get(ALIASES)
    assert (refused.status_code, refused.json()["scope"]) == (403, "aliases:read")
    assert (await anyone.get(ALIASES)).status_code == 401


async def test_names_are_counted_by_project(owner: Owner, database: Database, domain: str) -> None:
    one, none = ids.new(), ids.new()
    await owner.claim(*(spec(f"crew{at:04}", domain, project_id=one) for at in range(3)))
    await owner.release((await owner.aliases())["crew0000"])
    async with database.connection() as conn:
        ada_owner = await claims.count_by_project(conn, account_id=owner.account_id, project_ids=[one, none])
        others = await claims.count_by_project(conn, account_id=ids.new(), project_ids=[one])
    assert (ada_owner, others) == ({one: 2, none: 0}, {one: 0})


async def test_lists_are_planned_for_their_filters(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim_one("ada", domain)
    filters = AliasFilters(q="ada", domain=domain)
    async with database.transaction() as conn:
        for _ in range(20):  # psycopg prepares the sixth; PostgreSQL can use a generic plan from the eleventh
            found = await claims.list_owned(conn, account_id=owner.account_id, filters=filters, page=PageRequest())
            assert len(found.items) == 1
        plans = "SELECT FROM pg_prepared_statements WHERE statement LIKE %s AND generic_plans > 0"
        assert (await conn.execute(plans, ["%quarantined_until%"])).rowcount == 0
