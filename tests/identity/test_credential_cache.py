from uuid import uuid4

import pytest

from builders.identity import authenticator as authenticators, keys
from builders.identity.authenticator import Authenticator
from builders.identity.records import KeyKind
from builders.kit.db.connections import Database
from builders.kit.http.callers import Credential, CredentialsInvalid
from tests.cast import Client, Person
from tests.identity.make import mint


@pytest.fixture
def authenticator(database: Database) -> Authenticator:
    """One that has seen nothing yet."""
    return Authenticator(database, cache_s=60)


async def refused(authenticator: Authenticator, text: str) -> str:
    """What is said to a bad key."""
    with pytest.raises(CredentialsInvalid) as refusal:
        await authenticator(Credential("api_key", text), fresh=False)
    return refusal.value.detail


def kept(authenticator: Authenticator) -> tuple[int, int]:
    """How many good keys and how many bad ones it remembers."""
    return len(authenticator._accepted), len(authenticator._refused)


def names(*texts: str) -> list[bytes]:
    """What keys are remembered by."""
    return [authenticators._digest(Credential("api_key", text)) for text in texts]


async def test_ten_thousand_mistyped_keys_leave_no_trace(authenticator: Authenticator) -> None:
    for _ in range(10_001):
        text = keys.generate_secret(KeyKind.LIVE, uuid4()).text
        assert "checksum" in await refused(authenticator, text[:-1] + ("0" if text[-1] != "0" else "1"))

    assert kept(authenticator) == (0, 0)


async def test_a_flood_of_made_up_keys_is_forgotten_but_for_the_newest(
    alice: Person, authenticator: Authenticator
) -> None:
    authenticator.max_cached = 20
    good = Credential("api_key", alice.key)
    caller = await authenticator(good, fresh=False)
    flood = [keys.generate_secret(KeyKind.LIVE, uuid4()).text for _ in range(100)]

    for text in flood:
        assert "unknown" in await refused(authenticator, text)

    assert kept(authenticator) == (1, 20)
    assert list(authenticator._refused) == names(*flood[-20:])
    assert await authenticator(good, fresh=False) is caller  # remembered through the flood


async def test_the_oldest_accepted_keys_are_evicted_first(alice: Person, authenticator: Authenticator) -> None:
    authenticator.max_cached = 3
    secrets = [(await mint(alice))["secret"] for _ in range(5)]
    for secret in secrets:
        await authenticator(Credential("api_key", secret), fresh=False)
    await authenticator(Credential("api_key", secrets[2]), fresh=True)  # which makes it the newest

    assert list(authenticator._accepted) == names(*(secrets[at] for at in (3, 4, 2)))


async def test_plain_keys_are_not_kept(alice: Person, authenticator: Authenticator) -> None:
    await authenticator(Credential("api_key", alice.key), fresh=False)

    assert alice.key not in repr(vars(authenticator))


async def test_one_text_is_a_credential_of_its_own_in_each_place(alice: Person) -> None:
    token = (await alice.sign_in()).token
    used = {"Authorization": f"Bearer {token}"}, {"Cookie": f"svc_access_token={token}"}, {"X-API-Key": alice.key}
    async with Client(alice.service) as client:
        for headers in used:
            assert (await client.get("/v1/auth/session", headers=headers)).status_code == 200
        answers = [
            await client.post("/v1/auth/logout", headers=headers)
            for headers in (
                *({"X-API-Key": f"{kind}{token}"} for kind in ("", "bearer ", "cookie ", "b", "c")),
                *({"Authorization": f"Bearer {kind} {token}"} for kind in ("bearer", "cookie")),
                {"Cookie": f"svc_access_token={alice.key}", "Sec-Fetch-Site": "same-origin"},
                {"Authorization": f"Bearer k{alice.key}"},
            )
        ]

    assert {answer.status_code for answer in answers} == {401}


async def test_without_a_cache_time_nothing_is_remembered(alice: Person, database: Database) -> None:
    authenticator = Authenticator(database, cache_s=0)
    good = Credential("api_key", alice.key)

    first, second = await authenticator(good, fresh=False), await authenticator(good, fresh=False)

    assert first == second
    assert first is not second


async def test_a_live_key_acts_on_the_account_and_a_test_key_on_the_sandbox_account(
    alice: Person, authenticator: Authenticator
) -> None:
    live = await authenticator(Credential("bearer", alice.key), fresh=False)
    test = await authenticator(Credential("api_key", await alice.test.create_key()), fresh=False)

    assert (live.mode, live.account_id, live.live_account_id) == ("live", alice.account.id, alice.account.id)
    assert (test.mode, test.account_id) == ("test", alice.account.sandbox_id)
    assert test.live_account_id == alice.account.id
    assert live.method == test.method == "api_key"
