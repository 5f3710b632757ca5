"""Pages: each item once, whatever happens meanwhile, and a cursor that is good for one list only."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.http.pagination import JsonPage, PageRequest
from builders.kit.pages import Page
from tests.cast import Client, Person

KEYS = "/v1/api-keys"
PROJECTS = "/v1/builders/projects"


@pytest.fixture
async def alice(alice: Person) -> Person:
    """Return Alice with both keys: these tests list them."""
    await alice.test.create_key()
    return alice


async def mint(who: Client, label: str) -> None:
    answer = await who.post(KEYS, json={"label": label, "key_kind": "test", "preset": "developer_full"})
    assert answer.status_code == 200


async def pages(who: Client, **query: Any) -> AsyncIterator[list[str]]:
    """The labels on each page, to the end."""
    cursor: str | None = None
    while True:
        answer = await who.get(KEYS, params={**query, **({"cursor": cursor} if cursor else {})})
        assert answer.status_code == 200, answer.text
        yield [item["label"] for item in answer.json()["items"]]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return


@pytest.fixture
async def many(alice: Person) -> list[str]:
    """Nine keys of Alice's, newest first as they are listed."""
    for n in range(7):
        await mint(alice, f"key {n}")
    return [*(f"key {n}" for n in reversed(range(7))), "alice test", "alice live"]


@pytest.mark.parametrize("limit", [1, 2, 3, 8, 9, 10, 500])
async def test_pages_hold_each_item_once_in_order(alice: Person, many: list[str], limit: int) -> None:
    found = [page async for page in pages(alice, limit=limit)]

    assert [label for page in found for label in page] == many
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert 0 < len(found[-1]) <= limit


async def test_pages_hold_each_item_once_while_others_are_added(alice: Person, many: list[str]) -> None:
    found: list[str] = []
    async for page in pages(alice, limit=2):
        found += page
        await mint(alice, f"meanwhile {len(found)}")  # newer, so before the first page

    assert found == many


async def first_cursor(who: Client, path: str = KEYS, **query: Any) -> str:
    cursor = (await who.get(path, params={"limit": 1, **query})).json()["next_cursor"]
    assert isinstance(cursor, str)
    return cursor


async def assert_refused(who: Client, path: str, **query: Any) -> None:
    answer = await who.get(path, params=query)
    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["query", "cursor"], "cursor_invalid")


async def test_the_limit_may_change_between_pages(alice: Person) -> None:
    cursor = await first_cursor(alice)
    assert (await alice.get(KEYS, params={"cursor": cursor, "limit": 7})).status_code == 200


async def test_an_altered_cursor_is_refused(alice: Person) -> None:
    cursor = await first_cursor(alice)
    for at in range(len(cursor)):
        other = "A" if cursor[at] != "A" else "B"
        await assert_refused(alice, KEYS, cursor=cursor[:at] + other + cursor[at + 1 :])
    for altered in ("", cursor[:-1], f"{cursor}A", f"{cursor}=", cursor * 2, "x", "%00"[:-1], "ä"):
        await assert_refused(alice, KEYS, cursor=altered)


async def test_a_cursor_of_other_filters_is_refused(alice: Person) -> None:
    for name in ("a", "b"):
        await alice.post(PROJECTS, json={"name": name})
    plain, filtered = [await first_cursor(alice, PROJECTS, **each) for each in ({}, {"include_archived": "true"})]

    await assert_refused(alice, PROJECTS, cursor=plain, include_archived="true")
    await assert_refused(alice, PROJECTS, cursor=filtered)
    await assert_refused(alice, PROJECTS, cursor=filtered, include_archived="false")


async def test_a_cursor_of_another_list_is_refused(alice: Person) -> None:
    await assert_refused(alice, "/v1/catalog/domains", cursor=await first_cursor(alice))


async def test_a_cursor_of_another_account_is_refused(alice: Person, bob: Person) -> None:
    await assert_refused(bob, KEYS, cursor=await first_cursor(alice))


@pytest.mark.parametrize("limit", ["0", "-1", "501", "x", ""])
async def test_a_limit_is_from_1_to_500(alice: Person, limit: str) -> None:
    answer = await alice.get(KEYS, params={"limit": limit})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", "limit"]


@given(rows=st.lists(st.integers(), unique=True), limit=st.integers(1, 9))
def test_split_page_gives_the_next_cursor(rows: list[int], limit: int) -> None:
    rows.sort()
    walked: list[int] = []
    after: tuple[str | int | None, ...] | None = None
    while True:
        request = PageRequest(limit=limit, after=after, seal=lambda key: json.dumps(list(key)))
        behind = [row for row in rows if after is None or (isinstance(after[0], int) and row > after[0])]
        page: Page[int] = request.cut(behind[: limit + 1], key=lambda row: (row,))
        assert len(page.items) <= limit
        assert page.items or not rows  # no cursor leads to an empty page
        walked += page.items
        if page.next_cursor is None:
            break
        assert len(page.items) == limit
        after = tuple(json.loads(page.next_cursor))
    assert walked == rows


def test_a_page_of_ready_json_is_json() -> None:
    more, whole = JsonPage(items='[{"a":1}]', next_cursor="after-7"), JsonPage(items="[]", next_cursor=None)
    assert json.loads(more.json()) == {"items": [{"a": 1}], "next_cursor": "after-7"}
    assert json.loads(whole.json()) == {"items": [], "next_cursor": None}


def test_a_page_without_cursors_cannot_make_one() -> None:
    with pytest.raises(ValueError, match="no cursors"):
        PageRequest(limit=1).cut([1, 2], key=lambda row: (row,))
