from tests.cast import Client, Person
from tests.profile.make import ME, ProfileWorker, me, patch, tag


async def test_a_new_account_has_a_profile(alice: Person) -> None:
    profile = await me(alice)

    assert profile | {"onboarding": None} == {
        "id": str(alice.account.id),
        "email": alice.account.email,
        "email_verified": True,
        "pending_email": None,
        "display_name": "Alice",
        "company": None,
        "website": None,
        "country": None,
        "timezone": None,
        "locale": None,
        "roles": [],
        "marketing_opt_in": False,
        "onboarding": None,
        "created_at": profile["created_at"],
        "updated_at": profile["created_at"],
        "version": 1,
    }
    assert profile["onboarding"]["status"] == "not_started"
    assert {each["status"] for each in profile["onboarding"]["steps"]} == {"todo"}


async def test_a_test_key_reads_the_real_account(alice: Person) -> None:
    await patch(alice, company="Engines")

    assert await me(alice.test) == await me(alice)
    assert (await me(alice.test))["id"] == str(alice.account.id)


async def test_each_account_reads_its_own_profile(alice: Person, bob: Person) -> None:
    await patch(alice, company="Engines")

    assert (await me(bob))["company"] is None
    assert (await me(bob))["email"] == bob.account.email


async def test_dana_reads_her_profile(dana: Person) -> None:
    assert (await me(dana))["email"] == dana.account.email


async def test_without_credentials_the_response_is_401(anyone: Client) -> None:
    assert (await anyone.get(ME)).status_code == 401


async def test_a_current_etag_gets_304(alice: Person) -> None:
    first = await alice.get(ME)
    assert first.headers["ETag"] == tag(alice, 1)

    same = await alice.get(ME, headers={"If-None-Match": first.headers["ETag"]})
    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag(alice, 1))

    await patch(alice, company="Engines")
    newer = await alice.get(ME, headers={"If-None-Match": first.headers["ETag"]})
    assert (newer.status_code, newer.headers["ETag"], newer.json()["version"]) == (200, tag(alice, 2), 2)


async def test_the_etag_of_another_account_gets_200(alice: Person, bob: Person) -> None:
    """A shared browser sends the ETag of the previous account."""
    first = await alice.get(ME)
    answer = await bob.get(ME, headers={"If-None-Match": first.headers["ETag"]})

    assert (answer.status_code, answer.json()["email"]) == (200, bob.account.email)
    assert answer.headers["ETag"] != first.headers["ETag"]


async def test_live_and_test_keys_get_the_same_etag(alice: Person) -> None:
    assert (await alice.test.get(ME)).headers["ETag"] == (await alice.get(ME)).headers["ETag"]


async def test_each_change_of_the_response_is_a_new_version(alice: Person, worker: ProfileWorker) -> None:
    first = await alice.get(ME)
    await worker.work()  # dispatch the events about the account and its keys

    second = await alice.get(ME, headers={"If-None-Match": first.headers["ETag"]})

    assert second.status_code == 200
    assert second.json()["roles"] == ["builder"]
    await worker.work()
    assert (await alice.get(ME, headers={"If-None-Match": second.headers["ETag"]})).status_code == 304


async def test_the_presets_of_keys_add_roles(dana: Person, worker: ProfileWorker) -> None:
    await worker.work()
    assert (await me(dana))["roles"] == ["domainer"]

    wanted = {"label": "ci", "key_kind": "test", "preset": "developer_full"}
    assert (await dana.post("/v1/api-keys", json=wanted)).status_code == 200
    await worker.work()

    assert (await me(dana))["roles"] == ["builder", "domainer"]
