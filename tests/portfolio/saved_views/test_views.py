"""GET and PATCH /v1/portfolio/views: what each member has chosen."""

from typing import Any

import pytest

from builders.portfolio.domains.records import DomainSort
from builders.portfolio.saved_views.records import MAX_VIEWS, DomainColumn
from tests.cast import Client, Person
from tests.portfolio.team.make import code, join, of

VIEWS = "/v1/portfolio/views"
BEST = {"name": "Best", "query": "status=owned&sort=-roi"}
ALL = {"name": "All", "query": ""}


async def read(person: Client, headers: Any = None) -> dict[str, Any]:
    answer = await person.get(VIEWS, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def save(person: Client, headers: Any = None, **body: Any) -> dict[str, Any]:
    answer = await person.patch(VIEWS, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    saved: dict[str, Any] = answer.json()
    return saved


async def test_nothing_is_chosen_at_first(alice: Person) -> None:
    assert await read(alice) == {"columns": [], "views": []}


async def test_columns_and_views_are_saved_in_their_order(alice: Person) -> None:
    saved = await save(alice, columns=["roi", "tags", "roi"], views=[BEST, ALL])

    assert saved == {"columns": ["roi", "tags"], "views": [BEST, ALL]} == await read(alice)


async def test_an_absent_member_is_kept_and_null_clears(alice: Person) -> None:
    await save(alice, columns=["roi"], views=[BEST])

    assert await save(alice, columns=["net"]) == {"columns": ["net"], "views": [BEST]}
    assert await save(alice, columns=None) == {"columns": [], "views": [BEST]}
    assert await save(alice, views=[]) == {"columns": [], "views": []}


async def test_each_member_has_views_of_their_own(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, "viewer")
    await save(alice, views=[BEST])
    await save(charlie, headers=of(alice), views=[ALL])

    assert [await read(alice), await read(charlie, headers=of(alice)), await read(charlie)] == [
        {"columns": [], "views": views} for views in ([BEST], [ALL], [])
    ]
    assert code(await bob.get(VIEWS, headers=of(alice))) == (404, "portfolio_not_found")


async def test_the_sandbox_has_views_of_its_own(alice: Person) -> None:
    await save(alice.test, columns=["roi"])

    assert (await read(alice))["columns"] == []


@pytest.mark.parametrize(
    "body",
    [
        {"columns": ["password"]},
        {"views": [BEST, BEST]},
        {"views": [{"name": " "}]},
        {"views": [{"name": "a", "query": "q=\n"}]},
        {"views": [{"name": str(each)} for each in range(MAX_VIEWS + 1)]},
        {},
    ],
)
async def test_what_is_refused(alice: Person, body: Any) -> None:
    assert (await alice.patch(VIEWS, json=body)).status_code == 422


async def test_who_is_nobody(anyone: Client) -> None:
    assert (await anyone.get(VIEWS)).status_code == 401


async def test_each_column_is_a_member_of_a_domain(alice: Person) -> None:
    await alice.post("/v1/portfolio/domains", json={"domain": "harbour.com"})
    [item] = (await alice.get("/v1/portfolio/domains")).json()["items"]

    assert {*DomainColumn} <= item.keys()
    assert {each.removeprefix("-") for each in DomainSort} - {"domain"} <= {*DomainColumn}
