"""POST /v1/auth/leaked-keys: whoever finds a key can revoke it."""

import asyncio

import pytest

from builders.identity import leaks
from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.cast import Client, Person
from tests.identity.make import mint, status
from tests.worker import emails_to

LEAKED = "/v1/auth/leaked-keys"


async def report(anyone: Client, secret: str) -> dict[str, object]:
    """Report a key, and return the answer."""
    answer = await anyone.post(LEAKED, json={"key": secret})
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


@pytest.mark.parametrize("kind", ["live", "test"])
async def test_a_reported_key_is_revoked_at_once(alice: Person, anyone: Client, kind: str) -> None:
    key = await mint(alice, key_kind=kind)
    assert await report(anyone, key["secret"]) == {"revoked": True, "prefix": key["prefix"]}
    assert await status(anyone, key["secret"]) == 401


async def test_no_other_key_of_the_account_is_revoked(alice: Person, anyone: Client) -> None:
    key, other = await mint(alice), await mint(alice)
    await report(anyone, key["secret"])
    assert await status(anyone, other["secret"]) == 200


async def test_a_repeated_report_changes_nothing(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    await report(anyone, key["secret"])
    assert await report(anyone, key["secret"]) == {"revoked": False, "prefix": key["prefix"]}


async def test_of_reports_at_once_one_revokes_the_key(alice: Person, database: Database) -> None:
    key = await mint(alice)

    async def revoke() -> bool:
        async with database.transaction() as conn:
            return (await leaks.revoke_leaked(conn, text=key["secret"])).revoked

    assert sorted(await asyncio.gather(*(revoke() for _ in range(4)))) == [False, False, False, True]


async def test_the_secret_of_another_account_is_not_guessed(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    wrong = key["secret"][:-1] + ("a" if key["secret"][-1] != "a" else "b")
    assert await report(anyone, wrong) == {"revoked": False, "prefix": None}
    assert await status(anyone, key["secret"]) == 200


async def test_the_audit_list_has_the_reason(alice: Person, anyone: Client) -> None:
    key = await mint(alice)
    await report(anyone, key["secret"])
    entry = (await alice.get("/v1/account/audit")).json()["items"][0]
    assert (entry["action"], entry["about"]["reason"]) == ("api_key.revoked", "reported as leaked")


async def test_the_account_gets_an_email(
    alice: Person, anyone: Client, database: Database, settings: Settings
) -> None:
    key = await mint(alice)
    await report(anyone, key["secret"])
    await queue.run_pending(database, settings)
    [message] = emails_to(alice.account.email, settings.data_dir, name="*api_key_leaked*.eml")
    assert key["prefix"] in str(message.get_body(("plain",)))


async def test_a_report_of_a_text_that_is_too_long_is_refused(anyone: Client) -> None:
    assert (await anyone.post(LEAKED, json={"key": "x" * 200})).status_code == 200
    assert (await anyone.post(LEAKED, json={"key": "x" * 201})).status_code == 422
