"""The process that ends a credential refuses it at once, although it remembers results for a second."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import pytest

from tests.browser import OWN
from tests.cast import Client, Person
from tests.identity.make import PATH, mint
from tests.plans.approval.make import ALWAYS, put_policy

SESSION = "/v1/auth/session"


class Ended(NamedTuple):
    """A credential in use, and how it ends."""

    headers: Mapping[str, str]
    end: Callable[[], Awaitable[object]]


async def logout(alice: Person, kind: str) -> Ended:
    token = (await alice.sign_in()).token
    headers = {"Authorization": f"Bearer {token}"} if kind == "token" else {"Cookie": f"svc_access_token={token}"}

    async def end() -> None:
        async with Client(alice.service) as client:
            await client.post("/v1/auth/logout", headers={**headers, "Origin": OWN})

    return Ended(headers, end)


async def session(alice: Person, how: str) -> Ended:
    new = await alice.sign_in()

    async def end() -> None:
        if how == "policy":
            await put_policy(alice, **ALWAYS)
        else:
            await alice.delete(f"/v1/auth/sessions/{new.session.id}")

    return Ended({"Authorization": f"Bearer {new.token}"}, end)


async def key(alice: Person, how: str) -> Ended:
    made = await mint(alice)

    async def end() -> None:
        if how == "rotate":
            await alice.post(f"{PATH}/{made['id']}/rotate", json={"overlap_hours": 0})
        elif how == "revoke":
            await alice.delete(f"{PATH}/{made['id']}")
        else:
            async with alice.browser() as browser:
                await browser.delete(PATH)

    return Ended({"X-API-Key": made["secret"]}, end)


@pytest.mark.parametrize(
    ("make", "how"),
    [
        *((logout, each) for each in ("token", "cookie")),
        *((session, each) for each in ("delete", "policy")),
        *((key, each) for each in ("revoke", "rotate", "all")),
    ],
)
async def test_what_has_ended_is_refused_at_once(
    alice: Person, anyone: Client, make: Callable[[Person, str], Awaitable[Ended]], how: str
) -> None:
    ended = await make(alice, how)
    before = await anyone.get(SESSION, headers=ended.headers)
    await ended.end()
    after = await anyone.get(SESSION, headers=ended.headers)

    assert (before.status_code, after.status_code) == (200, 401)


async def test_the_pages_of_a_person_who_signed_out_do_not_open(alice: Person) -> None:
    async with Client(alice.service, cookie=(await alice.sign_in()).token) as browser:
        browser.headers["Accept"] = "text/html"
        before = await browser.get("/console")
        await browser.post("/v1/auth/logout", headers={"Origin": OWN})
        after = await browser.get("/console")

    assert (before.status_code, after.status_code) == (200, 401)
