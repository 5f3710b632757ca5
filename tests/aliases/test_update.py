"""An owner changes destinations, forwarding, note and labels of a name."""

import asyncio
from uuid import UUID

import pytest

from builders.aliases import claims
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.http.etags import WriteCondition
from builders.kit.values import ids
from tests.aliases.make import ALIASES, Json, Owner, fresh_address, published
from tests.cast import Client, Person
from tests.kit.db.locks import waiting


@pytest.fixture
async def ada(owner: Owner, domain: str) -> UUID:
    """Return the id of a name of Alice."""
    return await owner.claim_one("ada", domain, "a@example.net", labels={"one": "1", "two": "2"})


async def change(client: Client, alias_id: UUID, headers: dict[str, str] | None = None, **members: object) -> Json:
    answer = await client.patch(f"{ALIASES}/{alias_id}", json=members, headers=headers)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


async def test_a_patch_changes_only_its_members(alice: Person, ada: UUID, conn: Conn) -> None:
    changed = await change(alice, ada, destinations=["B@Example.net", "b@example.net", "c@example.net"])
    assert [each["email"] for each in changed["destinations"]] == ["b@example.net", "c@example.net"]
    assert (changed["version"], changed["enabled"], changed["labels"]) == (2, True, {"one": "1", "two": "2"})
    changed = await change(alice, ada, enabled=False, note="off", labels={"one": None, "three": "3"})
    assert (changed["status"], changed["enabled"], changed["note"]) == ("disabled", False, "off")
    assert changed["labels"] == {"two": "2", "three": "3"}
    changed = await change(alice, ada, note=None, labels=None, enabled=True)
    assert (changed["status"], changed["note"], changed["labels"], changed["version"]) == ("active", None, {}, 4)
    assert [name for name, _ in await published(conn, alice.account.id)] == [
        "alias.created",
        *["alias.updated"] * 3,
    ]


async def test_the_rules_of_a_name_are_set_and_cleared(alice: Person, ada: UUID) -> None:
    senders = ["Eve@EXAMPLE.net", "@bücher.example", "eve@example.net", "spam.example."]
    changed = await change(alice, ada, block=senders, pause_until="2036-01-01T09:00:00+02:00", reply=True)
    assert changed["block"] == ["eve@example.net", "spam.example", "xn--bcher-kva.example"]
    assert (changed["pause_until"], changed["reply"]) == ("2036-01-01T07:00:00Z", True)
    assert await change(alice, ada, block=senders[::-1]) == changed
    changed = await change(alice, ada, block=None, pause_until=None, reply=False)
    assert (changed["block"], changed["pause_until"], changed["reply"]) == ([], None, False)


async def test_a_patch_without_effect_keeps_the_version(alice: Person, ada: UUID, conn: Conn) -> None:
    same = await change(alice, ada, destinations=["a@example.net"], enabled=True, note=None, labels={"one": "1"})
    assert same["version"] == 1
    assert len(await published(conn, alice.account.id)) == 1


async def test_a_warning_names_an_unknown_member(alice: Person, ada: UUID) -> None:
    changed = await change(alice, ada, note="away", colour="red")
    assert [each["field"] for each in changed["warnings"]] == ["colour"]


@pytest.mark.parametrize(
    ("member", "meant"),
    [("enable", "enabled"), ("blocked", "block"), ("paused_until", "pause_until"), ("replay", "reply")],
)
async def test_a_misspelt_member_beside_another_one_changes_nothing(
    alice: Person, ada: UUID, member: str, meant: str
) -> None:
    before = (await alice.get(f"{ALIASES}/{ada}")).json()
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"note": "away", member: False})
    (error,) = answer.json()["detail"]
    assert (answer.status_code, error["type"], error["did_you_mean"]) == (422, "unknown_field", meant)
    assert (await alice.get(f"{ALIASES}/{ada}")).json() == before


async def test_a_misspelt_member_changes_no_destination_and_is_reported(alice: Person, ada: UUID) -> None:
    before = (await alice.get(f"{ALIASES}/{ada}")).json()
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"destination": "b@example.net"})
    (error,) = answer.json()["detail"]
    assert (answer.status_code, error["type"], error["did_you_mean"]) == (422, "unknown_field", "destinations")
    assert (await alice.get(f"{ALIASES}/{ada}")).json() == before


async def test_a_change_of_another_version_is_refused(alice: Person, ada: UUID) -> None:
    tag = (await alice.get(f"{ALIASES}/{ada}")).headers["ETag"]
    await change(alice, ada, headers={"If-Match": tag}, note="one")
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"note": "two"}, headers={"If-Match": tag})
    assert (answer.status_code, answer.json()["code"]) == (412, "version_mismatch")
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["note"] == "one"


async def test_one_of_two_concurrent_changes_of_a_version_succeeds(alice: Person, ada: UUID) -> None:
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
        {"block": [f"a{at}@example.net" for at in range(101)]},
        {"block": ["ada"]},
        {"block": ["example"]},
        {"block": ["a b@example.net"]},
        {"pause_until": "2036-01-01T09:00:00"},
        {"pause_until": "9999-12-31T23:59:59-01:00"},
        {"reply": None},
    ],
)
async def test_an_invalid_member_is_reported_and_changes_nothing(alice: Person, ada: UUID, members: Json) -> None:
    answer = await alice.patch(f"{ALIASES}/{ada}", json=members)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"][0]["loc"][:2] == ["body", next(iter(members))]
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["version"] == 1


async def test_a_suspended_name_cannot_be_changed(alice: Person, ada: UUID, conn: Conn) -> None:
    await conn.execute("UPDATE aliases SET status = 'suspended', resumes_as = 'active' WHERE id = %s", [ada])
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"enabled": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "alias_suspended")
    shown = (await alice.get(f"{ALIASES}/{ada}")).json()
    assert (shown["status"], shown["enabled"]) == ("suspended", True)


async def test_a_released_name_cannot_be_changed(alice: Person, ada: UUID) -> None:
    await alice.delete(f"{ALIASES}/{ada}")
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"enabled": False})
    assert (answer.status_code, answer.json()["code"]) == (409, "alias_released")


@pytest.mark.parametrize("spelling", ["ada", "a.d.a", "ADA", "ada+tag"])
async def test_a_name_cannot_forward_to_itself(alice: Person, ada: UUID, domain: str, spelling: str) -> None:
    destinations = ["a@example.net", f"{spelling}@{domain}"]
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"destinations": destinations})
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"][0]["type"] == "destination_loop"


async def test_a_loop_of_any_length_is_refused(alice: Person, owner: Owner, ada: UUID, domain: str) -> None:
    await owner.claim_one("bob", domain, f"carol@{domain}")
    await owner.claim_one("carol", domain, f"d.ave@{domain}", "x@example.net")
    await owner.claim_one("dave", domain, f"ada@{domain}")
    answer = await alice.patch(f"{ALIASES}/{ada}", json={"destinations": [f"bob@{domain}"]})
    assert answer.status_code == 422
    erin = await owner.claim_one("erin", domain)
    assert (await change(alice, erin, destinations=[f"bob@{domain}"]))["version"] == 2


async def test_two_concurrent_changes_cannot_close_a_loop(
    alice: Person, owner: Owner, ada: UUID, domain: str
) -> None:
    bob = await owner.claim_one("bob", domain)
    answers = await asyncio.gather(
        alice.patch(f"{ALIASES}/{ada}", json={"destinations": [f"bob@{domain}"]}),
        alice.patch(f"{ALIASES}/{bob}", json={"destinations": [f"ada@{domain}"]}),
    )
    assert sorted(each.status_code for each in answers) == [200, 422]


async def test_a_name_can_forward_to_another_account_unless_that_closes_a_loop(
    alice: Person, bob: Person, ada: UUID, database: Database, domain: str
) -> None:
    """Otherwise Bob could stop the mail of a name that forwards to him and to others."""
    bob_owner = await Owner.of(database, bob).claim_one("bob", domain, "bob@example.net")
    changed = await change(alice, ada, destinations=["a@example.net", f"bob@{domain}"])
    assert changed["version"] == 2
    answer = await bob.patch(
        f"{ALIASES}/{bob_owner}", json={"destinations": ["bob@example.net", f"ada+x@{domain}"]}
    )
    assert answer.status_code == 422
    assert [each["type"] for each in answer.json()["detail"]] == ["destination_loop"]


async def test_live_names_close_no_loop_in_a_sandbox(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    await Owner.of(database, bob).claim_one("bob", domain, f"ada@{domain}")
    sandbox = await Owner.of_sandbox(database, alice).claim_one("ada", domain)
    assert (await change(alice.test, sandbox, destinations=[f"bob@{domain}"]))["version"] == 2


async def test_two_concurrent_changes_of_two_accounts_cannot_close_a_loop(
    alice: Person, bob: Person, ada: UUID, database: Database, conn: Conn, domain: str
) -> None:
    bob_owner = await Owner.of(database, bob).claim_one("bob", domain)
    async with database.transaction() as own:
        await claims.update_alias(
            own,
            account_id=alice.account.id,
            alias_id=ada,
            actor=Actor(type="user", id=alice.account.id),
            expected=WriteCondition(),
            patch={"destinations": [f"bob@{domain}"]},
        )
        changing = asyncio.ensure_future(
            bob.patch(f"{ALIASES}/{bob_owner}", json={"destinations": [f"ada@{domain}"]})
        )
        while await waiting(conn) < 1 and not changing.done():
            pass
    assert (await changing).status_code == 422


async def test_bob_cannot_change_names_of_alice(bob: Person, alice: Person, ada: UUID) -> None:
    for each in (ada, ids.new(), "odd"):
        answer = await bob.patch(f"{ALIASES}/{each}", json={"note": "mine"})
        assert (answer.status_code, answer.json()["code"]) == (404, "alias_not_found")
    assert (await alice.get(f"{ALIASES}/{ada}")).json()["version"] == 1


async def test_missing_scope_or_credentials_are_refused(dana: Person, anyone: Client, ada: UUID) -> None:
    refused = await dana.patch(f"{ALIASES}/{ada}", json={})
    assert (refused.status_code, refused.json()["scope"]) == (403, "aliases:write")
    assert (await anyone.patch(f"{ALIASES}/{ada}", json={})).status_code == 401


async def test_a_test_key_changes_only_the_sandbox(
    alice: Person, ada: UUID, database: Database, domain: str
) -> None:
    assert (await alice.test.patch(f"{ALIASES}/{ada}", json={"note": "x"})).status_code == 404
    sandbox = await Owner.of_sandbox(database, alice).claim_one("ada", domain)
    changed = await change(alice.test, sandbox, destinations=[fresh_address()])
    assert (changed["livemode"], changed["destinations"][0]["verified"]) == (False, True)


async def test_a_support_session_cannot_change_destinations_or_release(alice: Person, ada: UUID) -> None:
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
