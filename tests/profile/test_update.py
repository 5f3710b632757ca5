import asyncio

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.test_login_as import OURS, redeemed
from tests.profile.make import ME, audited, me, patch, published, tag

ALL = {
    "display_name": "Ada Lovelace",
    "company": "Analytical Engines",
    "website": "https://engines.example",
    "country": "GB",
    "timezone": "Europe/London",
    "locale": "en-GB",
    "marketing_opt_in": True,
}


async def test_members_are_stored(alice: Person) -> None:
    profile = await patch(alice, **ALL)

    assert {name: profile[name] for name in ALL} == ALL
    assert (profile["version"], profile["warnings"]) == (2, [])
    assert {**await me(alice), "warnings": []} == profile


async def test_absent_members_do_not_change(alice: Person) -> None:
    await patch(alice, **ALL)
    profile = await patch(alice, country="de")

    assert {name: profile[name] for name in ALL} == ALL | {"country": "DE"}


async def test_null_clears(alice: Person) -> None:
    await patch(alice, **ALL)
    profile = await patch(alice, **dict.fromkeys(ALL))

    assert {name: profile[name] for name in ALL} == {
        **dict.fromkeys(ALL),
        "display_name": "Alice",  # the account's name
        "marketing_opt_in": False,
    }


async def test_values_are_normalized(alice: Person) -> None:
    profile = await patch(alice, company="  Engines ", timezone="europe/london", locale=" EN-gb")

    assert (profile["company"], profile["timezone"], profile["locale"]) == ("Engines", "Europe/London", "en-GB")


@pytest.mark.parametrize("members", [{"company": None}, {"marketing_opt_in": False}])
async def test_a_patch_without_a_change_is_no_new_version(
    alice: Person, conn: Conn, members: dict[str, object]
) -> None:
    answer = await alice.patch(ME, json=members)

    assert (answer.status_code, answer.json()["version"], answer.headers["ETag"]) == (200, 1, tag(alice, 1))
    assert await published(conn, alice, "profile.updated") == []


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("display_name", ""),
        ("display_name", "   "),
        ("display_name", "a" * 81),
        ("display_name", 7),
        ("display_name", ["Ada"]),
        ("display_name", "a\u202eb"),
        ("display_name", "a\nb"),
        ("company", "a" * 121),
        ("website", "ftp://engines.example"),
        ("website", "javascript:alert(1)"),
        ("country", "XX"),
        ("country", "GBR"),
        ("timezone", "Mars/Olympus"),
        ("locale", "en_GB"),
        ("locale", "{why}"),
        ("marketing_opt_in", "true"),
        ("marketing_opt_in", 1),
        ("email", None),
        ("email", "ada"),
        ("email", "adä@example.net"),
        ("email", f"{'a' * 65}@example.net"),
        ("email", 'a"b@example.net'),
        ("email", "a@[127.0.0.1]"),
        ("email", "ada@example.net\nBcc: x@example.net"),
    ],
)
async def test_an_invalid_value_is_422_and_nothing_is_stored(alice: Person, member: str, value: object) -> None:
    answer = await alice.patch(ME, json={"locale": "fr", member: value})

    assert answer.status_code == 422, answer.text
    assert {tuple(each["loc"]) for each in answer.json()["detail"]} == {("body", member)}
    assert (await me(alice))["version"] == 1


@pytest.mark.parametrize("body", ["null", "[]", '"Ada"', ""])
async def test_a_body_that_is_not_an_object_is_422(alice: Person, body: str) -> None:
    answer = await alice.patch(ME, content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 422


async def test_unknown_members_give_warnings(alice: Person) -> None:
    profile = await patch(alice, compny="Engines", country="GB", version=9)

    assert profile["country"] == "GB"
    assert [(each["field"], each["did_you_mean"]) for each in profile["warnings"]] == [
        ("compny", "company"),
        ("version", None),
    ]
    assert profile["version"] == 2


async def test_a_test_key_changes_the_real_account(alice: Person) -> None:
    await patch(alice.test, company="Engines")

    assert (await me(alice))["company"] == "Engines"


async def test_bob_changes_his_own_profile(alice: Person, bob: Person) -> None:
    await patch(bob, company="Engines")

    assert (await me(alice))["company"] is None


async def test_dana_changes_her_profile(dana: Person) -> None:
    assert (await patch(dana, company="Engines"))["company"] == "Engines"


async def test_without_credentials_the_response_is_401(anyone: Client) -> None:
    assert (await anyone.patch(ME, json={"company": "Engines"})).status_code == 401


async def test_the_event_contains_names_without_values(alice: Person, conn: Conn) -> None:
    await patch(alice, company="Engines", country="GB", timezone=None)

    assert await published(conn, alice, "profile.updated") == [{"changed": ["company", "country"], "version": 2}]


async def test_an_outdated_etag_is_refused(alice: Person) -> None:
    etag = (await alice.get(ME)).headers["ETag"]
    first = await alice.patch(ME, json={"company": "One"}, headers={"If-Match": etag})
    second = await alice.patch(ME, json={"company": "Two"}, headers={"If-Match": etag})

    assert (first.status_code, first.headers["ETag"]) == (200, tag(alice, 2))
    assert (second.status_code, second.json()["code"], second.json()["version"]) == (412, "version_mismatch", 2)
    assert (await me(alice))["company"] == "One"


async def test_the_etag_of_another_account_is_refused(alice: Person, bob: Person) -> None:
    etag = (await alice.get(ME)).headers["ETag"]
    answer = await bob.patch(ME, json={"company": "Engines"}, headers={"If-Match": etag})

    assert (answer.status_code, answer.json()["code"], (await me(bob))["company"]) == (
        412,
        "version_mismatch",
        None,
    )


async def test_one_of_two_changes_with_the_same_etag_succeeds(alice: Person) -> None:
    answers = await asyncio.gather(
        *(alice.patch(ME, json={"company": str(each)}, headers={"If-Match": tag(alice, 1)}) for each in range(5))
    )

    assert sorted(each.status_code for each in answers) == [200, 412, 412, 412, 412]


async def test_concurrent_changes_are_all_stored(alice: Person) -> None:
    answers = await asyncio.gather(*(alice.patch(ME, json={name: value}) for name, value in ALL.items()))

    assert {each.status_code for each in answers} == {200}
    profile = await me(alice)
    assert {name: profile[name] for name in ALL} == ALL
    assert profile["version"] == 1 + len(ALL)
    assert sorted(each.json()["version"] for each in answers) == list(range(2, 2 + len(ALL)))


async def test_updated_at_changes(alice: Person) -> None:
    before = clock.now()
    profile = await patch(alice, company="Engines")

    assert profile["updated_at"] >= before.isoformat().replace("+00:00", "Z")[:19]
    assert profile["created_at"] < profile["updated_at"]


async def test_changes_by_support_are_audited(alice: Person, anyone: Client, database: Database) -> None:
    await redeemed(anyone, database, alice, may_write=True)
    answer = await anyone.patch(ME, json={"company": "Engines"}, headers=OURS)

    assert (answer.status_code, answer.json()["company"]) == (200, "Engines")
    [entry] = await audited(alice, "profile.changed")
    assert (entry["actor"]["label"], entry["about"]) == ("grace", {"changed": "company"})


async def test_a_read_only_support_session_cannot_change_the_profile(
    alice: Person, anyone: Client, database: Database
) -> None:
    await redeemed(anyone, database, alice)
    answer = await anyone.patch(ME, json={"company": "Engines"}, headers=OURS)

    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")
    assert (await me(anyone))["company"] is None


async def test_changes_by_the_owner_are_not_audited(alice: Person) -> None:
    await patch(alice, company="Engines")

    assert await audited(alice, "profile.changed") == []


@pytest.mark.parametrize("own", [True, False])
async def test_a_support_session_cannot_change_the_address(
    alice: Person, anyone: Client, database: Database, address: str, *, own: bool
) -> None:
    await redeemed(anyone, database, alice, may_write=True)
    body = {"company": "Engines", "email": alice.account.email if own else address}
    answer = await anyone.patch(ME, json=body, headers=OURS)

    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")
    assert ((await me(alice))["pending_email"], (await me(alice))["company"]) == (None, None)
