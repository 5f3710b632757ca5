"""What a call of a statement returns."""

from dataclasses import dataclass
from enum import StrEnum

import psycopg
import pytest

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query

_ROWS = (
    "SELECT * FROM (VALUES (1, 'one'), (2, 'two')) AS row (id, name) WHERE id = ANY(%(ids)s::int[]) ORDER BY id"
)
_NAMES = (
    "SELECT name FROM (VALUES (1, 'one'), (2, 'two')) AS row (id, name) WHERE id = ANY(%(ids)s::int[]) ORDER BY id"
)


class Name(StrEnum):
    ONE = "one"
    TWO = "two"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    this: Name
    that: Name | None
    all: list[Name]


ONE, TWO = Row(id=1, name="one"), Row(id=2, name="two")


@pytest.mark.parametrize("ids", [[1], (1,), {1}, frozenset([1]), {1: "x"}, {1: "x"}.keys(), {"x": 1}.values()])
async def test_any_collection_is_an_array(conn: Conn, ids: object) -> None:
    assert await query(_ROWS).all(Row)(conn, ids=ids) == [ONE]


async def test_a_generator_is_an_array(conn: Conn) -> None:
    assert await query(_ROWS).all(Row)(conn, ids=(each for each in (2, 1))) == [ONE, TWO]


async def test_one_is_a_record_or_none(conn: Conn) -> None:
    find = query(_ROWS).one(Row)
    assert [await find(conn, ids=[2]), await find(conn, ids=[])] == [TWO, None]


async def test_rows_can_be_tuples(conn: Conn) -> None:
    assert await query(_ROWS).all(tuple[int, str])(conn, ids=[1]) == [(1, "one")]


async def test_the_only_row_is_there(conn: Conn) -> None:
    get = query(_ROWS).only(Row)
    assert await get(conn, ids=[1]) == ONE
    with pytest.raises(ValueError, match="unpack"):
        await get(conn, ids=[])


async def test_rows_are_keyed(conn: Conn) -> None:
    assert await query(_ROWS).keyed(Row, by=lambda row: row.name)(conn, ids=[1, 2]) == {"one": ONE, "two": TWO}


async def test_pairs_are_a_dictionary(conn: Conn) -> None:
    assert await query(_ROWS).pairs(int, str)(conn, ids=[1, 2]) == {1: "one", 2: "two"}


async def test_a_scalar_is_a_value_or_none(conn: Conn) -> None:
    find = query(_ROWS).scalar(int)
    assert [await find(conn, ids=[2]), await find(conn, ids=[])] == [2, None]


async def test_values_are_members_of_an_enum(conn: Conn) -> None:
    assert await query(_NAMES).value(Name)(conn, ids=[1]) is Name.ONE
    assert await query(_NAMES).scalars(Name)(conn, ids=[1, 2]) == [Name.ONE, Name.TWO]


async def test_fields_are_members_of_their_enum(conn: Conn) -> None:
    rows = "SELECT 'one' AS this, NULL AS that, ARRAY['one'] AS all"
    assert await query(rows).one(Named)(conn) == Named(this=Name.ONE, that=None, all=[Name.ONE])


async def test_a_set_has_values_or_tuples(conn: Conn) -> None:
    assert await query(_NAMES).set_of(str)(conn, ids=[1, 2]) == {"one", "two"}
    assert await query(_ROWS).set_of(tuple[int, str])(conn, ids=[1]) == {(1, "one")}


async def test_rows_are_counted(conn: Conn) -> None:
    assert [await query(_ROWS).count()(conn, ids=ids) for ids in ([1, 2], [])] == [2, 0]
    assert [await query(_ROWS).changes()(conn, ids=ids) for ids in ([1, 2], [])] == [True, False]
    assert [await query(_ROWS).exists()(conn, ids=ids) for ids in ([1, 2], [])] == [True, False]


async def test_constants_are_parameters_of_each_call(conn: Conn) -> None:
    assert await query(_ROWS).all(Row, ids=[2])(conn) == [TWO]


async def test_a_missing_parameter_is_an_error(conn: Conn) -> None:
    with pytest.raises(psycopg.ProgrammingError, match="ids"):
        await query(_ROWS).all(Row)(conn)


async def test_an_unprepared_statement_is_never_prepared(conn: Conn) -> None:
    listed = query("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %(like)s").value(int)
    prepared, unprepared = query("SELECT 1 AS once").scalar(int), query("SELECT 1 AS anew").unprepared.scalar(int)
    for _ in range(10):
        await prepared(conn)
        await unprepared(conn)
    assert [await listed(conn, like="% AS once"), await listed(conn, like="% AS anew")] == [1, 0]
