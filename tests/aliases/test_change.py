"""Names that their owner changes: where they forward to, on or off, note and labels."""

import asyncio
from uuid import UUID

import pytest

from builders.aliases import service as aliases
from builders.aliases.records import AliasPatch
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor
from builders.kit.http.etags import WriteCondition
from builders.kit.values import ids
from tests.aliases.make import ALIASES, Json, Owner, somebody, told
from tests.cast import Client, Person
from tests.kit.db.locks import waiting


@pytest.fixture
async def ada(owner: Owner, domain: str) -> UUID:
    """A name of Alice's."""
    return await owner.claim_one("ada", domain, "a@example.net", labels={"one": "1", "two": "2"})


async def change(client: Client, alias_id: UUID, headers: dict[str, str] | None = None, **members: object) -> Json:
    answer = await client.patch(f"{ALIASES}/{alias_id}", json=members, headers=headers)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


async def test_what_is_sent_changes_and_the_rest_stays(alice: Person, ada: UUID, conn: Conn) -> None:
    changed = await change(alice, ada, destinations=["B@Example.net", "b@example.net", "c@example.net"])
    assert [each["email"] for each in changed["destinations"]] == ["b@example.net", "c@example.net"]
    assert (changed["version"], changed["enabled"], changed["labels"]) == (2, True, {"one": "1", "two": "2"})
    changed = await change(alice, ada, enabled=False, note="off", labels={"one": None, "three": "3"})
    assert (changed["status"], changed["enabled"], changed["note"]) == ("disabled", False, "off")
    assert changed["labels"] == {"two": "2", "three": "3"}
    changed = await change(alice, ada, note=None, labels=None, enabled=True)
    assert (changed["status"], changed["note"], changed["labels"], changed["version"]) == ("active", None, {}, 4)
    assert [name for name, _ in await told(conn, alice.account.id)] == ["alias.created", *["alias.updated"] * 3]


async def test_a_change_that_changes_nothing_is_no_new_version(alice: Person, ada: UUID, conn: Conn) -> None:
    same = await change(alice, ada, destinations=["a@example.net"], enabled=True, note=None, labels={"one": "1"})
    assert same["version"] == 1
    assert len(await told(conn, alice.account.id)) == 1


async def test_an_unknown_member_is_named(alice: Person, ada: UUID) -> None:
    changed = await change(alice, ada, note="away", enable=False)
    assert changed["warnings"][0]["did_you_mean"] == "enabled"
    assert changed["enabled"] is True


async def test_a_misspelt_destination_moves_no_mail_and_says_so(alice: Person, ada: UUID) -> None:
    before = (await alice.get(f"{ALIASES}/{ada}")).json()
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"destination": "b@example.net"})
    (error,) = answer.json()["detail"]
    assert (answer.status_code, error["type"], error["did_you_mean"]) == (422, "unknown_field", "destinations")
    assert (await alice.get(f"{ALIASES}/{ada}")).json() == before


async def test_a_change_of_what_was_not_seen_is_refused(alice: Person, ada: UUID) -> None:
    tag = (await alice.get(f"{ALIASES}/{ada}")).headers["ETag"]
    await change(alice, ada, headers={"If-Match": tag}, note="one")
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"note": "two"}, headers={"If-Match": tag})
    assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch")
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["note"] == "one"


async def test_of_two_that_change_one_version_at_once_one_does(alice: Person, ada: UUID) -> None:
    tag = {"If-Match": f'"{ada}.1"'}
    answers = await asyncio.gather(
        *(alice.patch(f"{ALIASES}/{ada}", json={"note": str(at)}, headers=tag) for at in range(6))
    )
    assert sorted(each.status_code for each in answers) == [200, *[412] * 5]


@pytest.mark.parametrize(
    "members",
    [
        {"destinations": []},
        {"destinations": None},
        {"destinations": ["nobody"]},
        {"destinations": [f"a{at}@example.net" for at in range(11)]},
        {"enabled": None},
        {"enabled": "yes"},
        {"note": "x" * 201},
        {"labels": {"x" * 41: "1"}},
        {"labels": {f"l{at}": "1" for at in range(21)}},
        {"labels": {f"l{at}": "1" for at in range(19)}},
    ],
)
async def test_a_wrong_member_is_said_and_nothing_changes(alice: Person, ada: UUID, members: Json) -> None:
    answer = await alice.patch(f"{ALIASES}/{ada}", json=members)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"][0]["loc"][:2] == ["body", next(iter(members))]
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["version"] == 1


async def test_a_suspended_name_is_not_changed(alice: Person, ada: UUID, conn: Conn) -> None:
    await conn.execute("UPDATE aliases SET status = 'suspended', resumes_as = 'active' WHERE id = %s", [ada])
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"enabled": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "alias_suspended")
    shown = (await alice.get(f"{ALIASES}/{ada}")).json()
    assert (shown["status"], shown["enabled"]) == ("suspended", True)


async def test_a_released_name_is_not_changed(alice: Person, ada: UUID) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"enabled": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "alias_released")


@pytest.mark.parametrize("spelling", ["ada", "a.d.a", "ADA", "ada+tag"])
async def test_a_name_is_not_its_own_destination(alice: Person, ada: UUID, domain: str, spelling: str) -> None:
    destinations = ["a@example.net", f"{spelling}@{domain}"]
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"destinations": destinations})
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"][0]["type"] == "destination_loop"


async def test_a_circle_is_refused_however_long(alice: Person, owner: Owner, ada: UUID, domain: str) -> None:
    await owner.claim_one("bob", domain, f"carol@{domain}")
    await owner.claim_one("carol", domain, f"d.ave@{domain}", "x@example.net")
    await owner.claim_one("dave", domain, f"ada@{domain}")
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"destinations": [f"bob@{domain}"]})
    assert answer.status_code == 422
    erin = await owner.claim_one("erin", domain)
    assert (await change(alice, erin, destinations=[f"bob@{domain}"]))["version"] == 2


async def test_two_changes_at_once_close_no_circle(alice: Person, owner: Owner, ada: UUID, domain: str) -> None:
    bob = await owner.claim_one("bob", domain)
    answers = await asyncio.gather(
        alice.patch(f"{ALIASES}/{ada}", json={"destinations": [f"bob@{domain}"]}),
        alice.patch(f"{ALIASES}/{bob}", json={"destinations": [f"ada@{domain}"]}),
    )
    assert sorted(each.status_code for each in answers) == [200, 422]


async def test_a_name_of_another_account_is_a_destination_unless_it_leads_back(
    alice: Person, bob: Person, ada: UUID, database: Database, domain: str
) -> None:
    """Else Bob could stop the mail of a name that forwards to him beside others."""
    his = await Owner.of(database, bob).claim_one("bob", domain, "bob@example.net")
    changed = await change(alice, ada, destinations=["a@example.net", f"bob@{domain}"])
    assert changed["version"] == 2
    answer = await bob.patch(f"{ALIASES}/{his}", json={"destinations": ["bob@example.net", f"ada+x@{domain}"]})
    assert answer.status_code == 422
    assert [each["type"] for each in answer.json()["detail"]] == ["destination_loop"]


async def test_a_sandbox_has_no_circle_over_what_is_not_in_it(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    await Owner.of(database, bob).claim_one("bob", domain, f"ada@{domain}")
    twin = await Owner.twin_of(database, alice).claim_one("ada", domain)
    assert (await change(alice.test, twin, destinations=[f"bob@{domain}"]))["version"] == 2


async def test_two_accounts_that_change_at_once_close_no_circle(
    alice: Person, bob: Person, ada: UUID, database: Database, conn: Conn, domain: str
) -> None:
    his = await Owner.of(database, bob).claim_one("bob", domain)
    async with database.transaction() as own:
        await aliases.update_alias(
            own,
            account_id=alice.account.id,
            alias_id=ada,
            actor=Actor(type="user", id=alice.account.id),
            expected=WriteCondition(),
            patch=AliasPatch(destinations=[f"bob@{domain}"]),
        )
        changing = asyncio.ensure_future(bob.patch(f"{ALIASES}/{his}", json={"destinations": [f"ada@{domain}"]}))
        while await waiting(conn) < 1 and not changing.done():
            pass
    assert (await changing).status_code == 422


async def test_bob_changes_nothing_of_alices(bob: Person, alice: Person, ada: UUID) -> None:
    for each in (ada, ids.new(), "odd"):
        answer = await bob.patch(f"{ALIASES}/{each}", json={"note": "mine"})
        assert (answer.status_code, answer.json()["code"]) == (404, "alias_not_found")
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["version"] == 1


async def test_who_lacks_the_scope_or_credentials_is_refused(dana: Person, anyone: Client, ada: UUID) -> None:
    refused = await dana.patch(f"{ALIASES}/{ada}", json={})
    assert (refused.status_code, refused.json()["scope"]) == (403, "aliases:write")
    assert (await anyone.patch(f"{ALIASES}/{ada}", json={})).status_code == 401


async def test_a_test_key_changes_the_sandbox_alone(
    alice: Person, ada: UUID, database: Database, domain: str
) -> None:
    assert (await alice.test.patch(f"{ALIASES}/{ada}", json={"note": "x"})).status_code == 404
    twin = await Owner.twin_of(database, alice).claim_one("ada", domain)
    changed = await change(alice.test, twin, destinations=[somebody()])
    assert (changed["livemode"], changed["destinations"][0]["verified"]) == (False, True)


async def test_support_redirects_and_releases_nothing(alice: Person, ada: UUID) -> None:
    reading = await alice.admit_support()
    writing = await alice.admit_support(may_write=True)
    async with (
        Client(alice.service, token=reading.token) as reader,
        Client(alice.service, token=writing.token) as writer,
    ):
        assert (await reader.patch(f"{ALIASES}/{ada}", json={"note": "x"})).status_code == 403
        assert (await change(writer, ada, note="x"))["note"] == "x"
        moved = await writer.patch(f"{ALIASES}/{ada}", json={"destinations": ["sam@vendor.example"]})
        gone = await writer.delete(f"{ALIASES}/{ada}")
    for refused in (moved, gone):
        assert (refused.status_code, refused.json()["code"]) == (403, "impersonation_forbidden")
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["status"] == "active"
