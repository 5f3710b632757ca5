"""The bounds of a reader of items, and what ends its list."""

from typing import Any

import pytest

from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.items import MAX_BAD, MAX_IN_ROW, Items
from builders.portfolio.registrars.rows import DomainRow
from builders.portfolio.runs.records import MAX_UNREAD

AUTH, REFUSED = RegistrarFailure.AUTH_FAILED, RegistrarFailure.REFUSED
UNAVAILABLE, LIMITED = RegistrarFailure.UNAVAILABLE, RegistrarFailure.RATE_LIMITED
INCOMPLETE = RegistrarFailure.INCOMPLETE
Kinds = list[RegistrarFailure | None]


async def answer(kind: RegistrarFailure | None) -> str:
    if kind is not None:
        raise RegistrarFailed(kind)
    return "read"


async def ask_all(kinds: Kinds) -> RegistrarFailed | None:
    """Ask about one item for each kind of failure; return what ends the list."""
    items = Items()
    try:
        for number, kind in enumerate(kinds):
            await items.ask(f"d{number}.com", answer(kind))
        items.close()
    except RegistrarFailed as failed:
        return failed
    return None


@pytest.mark.parametrize(
    ("kinds", "ends", "unread"),
    [
        ([], None, 0),
        ([None, None], None, 0),
        ([None, REFUSED, None], INCOMPLETE, 1),
        ([REFUSED] * 9, INCOMPLETE, 9),  # each for its own reason
        ([AUTH], AUTH, 0),
        ([None, AUTH], INCOMPLETE, 1),
        ([None, *[AUTH] * (MAX_IN_ROW - 1), None], INCOMPLETE, MAX_IN_ROW - 1),
        ([None, *[AUTH] * MAX_IN_ROW, None], AUTH, 0),
        ([None, *[UNAVAILABLE, REFUSED] * MAX_IN_ROW], INCOMPLETE, 2 * MAX_IN_ROW),
        ([None, LIMITED, None], LIMITED, 0),
    ],
)
async def test_a_failure_of_an_item_ends_the_list_only_if_it_is_about_all(
    kinds: Kinds, ends: RegistrarFailure | None, unread: int
) -> None:
    failed = await ask_all(kinds)
    assert (failed and failed.kind, len(failed.unread) if failed else 0) == (ends, unread)


def rows(count: int) -> list[Any]:
    """As many rows with a name as without one."""
    return [{"domain": f"d{number}.com"} if number % 2 else {"domain": number} for number in range(2 * count)]


@pytest.mark.parametrize("bad", [1, MAX_UNREAD, MAX_UNREAD + 1, MAX_BAD])
async def test_a_list_names_its_first_bad_rows_and_counts_all(bad: int) -> None:
    items = Items()
    assert len(await items.rows(DomainRow, rows(bad))) == bad
    with pytest.raises(RegistrarFailed, match="not known to be complete") as failed:
        items.close()
    assert str(failed.value.hint).startswith(f"{bad} of its items could not be read: 0")
    assert len(failed.value.unread) == min(bad, MAX_UNREAD)


async def test_a_page_with_more_bad_rows_is_malformed() -> None:
    with pytest.raises(RegistrarFailed) as failed:
        await Items().rows(DomainRow, rows(MAX_BAD + 1))
    assert failed.value.kind is RegistrarFailure.MALFORMED


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ([{"domain": None}, {}, 7], "item 1, item 2, item 3"),
        ([{"domain": number} for number in range(4)], "0, 1, 2 and others"),
        ([{"domain": "a" * 300}], "a" * 80),
        ([{"domain": "a\nb\0.com"}], "a b.com"),
    ],
)
async def test_a_hint_names_three_items_by_name_or_place(values: list[Any], named: str) -> None:
    items = Items()
    assert await items.rows(DomainRow, values) == []
    with pytest.raises(RegistrarFailed) as failed:
        items.close()
    assert f"could not be read: {named}." in str(failed.value.hint)
