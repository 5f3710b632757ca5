"""Statements that are called like functions: SQL with named parameters, and what a call returns of its rows.

    find = query("SELECT id, name FROM things WHERE account_id = %(account_id)s AND id = %(id)s").one(Thing)
    thing = await store.find(conn, account_id=account_id, id=thing_id)

`tests/architecture/calls.py` compares the names of each call with the parameters of its statement.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import GeneratorType, UnionType
from typing import Any, Generic, LiteralString, TypeVar, get_args, get_origin, get_type_hints

from psycopg import AsyncCursor
from psycopg.rows import AsyncRowFactory, BaseRowFactory, RowMaker, kwargs_row, scalar_row, tuple_row

from builders.kit.db.connections import Conn

T = TypeVar("T")
K = TypeVar("K")
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(lock)s || %(account_id)s::uuid, 0))"
_Read = Callable[[AsyncCursor[Any]], Awaitable[T]]
# A parameter of one of these types is an array; psycopg takes only lists.
_ARRAYS = {tuple, set, frozenset, dict, GeneratorType, type({}.keys()), type({}.values())}


class Query(Generic[T]):
    """A statement, and what a call returns."""

    text: LiteralString

    def __init__(
        self, statement: "Statement", constants: Mapping[str, Any], factory: BaseRowFactory[Any], read: _Read[T]
    ) -> None:
        self.text, self.is_prepared, self.constants = statement.text, statement.is_prepared, constants
        self._factory: AsyncRowFactory[Any] = factory
        self._read = read

    async def __call__(self, conn: Conn, **parameters: Any) -> T:
        """Execute the statement; any collection is an array. Raise as psycopg does."""
        for name, value in parameters.items():
            if type(value) in _ARRAYS:
                parameters[name] = list(value)
        if self.constants:
            parameters |= self.constants
        cursor = conn.cursor(row_factory=self._factory)
        await cursor.execute(self.text, parameters, prepare=None if self.is_prepared else False)
        return await self._read(cursor)


class Statement:
    """A statement without its result, which a method chooses.

    `of` makes a record of the columns by name, or is a tuple of their types. A field of a record whose type is an
    enum gets its member. `constants` are parameters that are the same in each call.
    """

    text: LiteralString

    def __init__(self, text: LiteralString, *, is_prepared: bool = True) -> None:
        self.text, self.is_prepared = text, is_prepared

    @property
    def unprepared(self) -> "Statement":
        """Return the statement for a plan of its own in each call, for the filters of that call."""
        return Statement(self.text, is_prepared=False)

    def one(self, of: Callable[..., T], **constants: Any) -> Query[T | None]:
        """Return the first row, None without one."""
        return Query(self, constants, _records(of), AsyncCursor.fetchone)

    def only(self, of: Callable[..., T], **constants: Any) -> Query[T]:
        """Return the row of a statement that always has one."""
        return Query(self, constants, _records(of), _only)

    def all(self, of: Callable[..., T], **constants: Any) -> Query[list[T]]:
        """Return the rows."""
        return Query(self, constants, _records(of), AsyncCursor.fetchall)

    def keyed(self, of: Callable[..., T], *, by: Callable[[T], K], **constants: Any) -> Query[dict[K, T]]:
        """Return the rows by a key of theirs."""

        async def read(cursor: AsyncCursor[T]) -> dict[K, T]:
            return {by(row): row for row in await cursor.fetchall()}

        return Query(self, constants, _records(of), read)

    def scalar(self, of: type[T], **constants: Any) -> Query[T | None]:
        """Return the first column of the first row, None without a row."""
        return Query(self, constants, _scalars(of), AsyncCursor.fetchone)

    def value(self, of: type[T], **constants: Any) -> Query[T]:
        """Return the first column of a statement that always has a row."""
        return Query(self, constants, _scalars(of), _only)

    def scalars(self, of: type[T], **constants: Any) -> Query[list[T]]:
        """Return the first column of each row."""
        return Query(self, constants, _scalars(of), AsyncCursor.fetchall)

    def set_of(self, of: type[T], **constants: Any) -> Query[set[T]]:
        """Return the different values of the first column; of tuples, the different rows."""
        return Query(self, constants, tuple_row if get_origin(of) is tuple else _scalars(of), _set)

    def pairs(
        self,
        key: type[K],  # noqa: ARG002 - the type of the result
        value: type[T],  # noqa: ARG002 - the type of the result
        **constants: Any,
    ) -> Query[dict[K, T]]:
        """Return the second column of each row by the first."""
        return Query(self, constants, tuple_row, _pairs)

    def exists(self, **constants: Any) -> Query[bool]:
        """Return whether there is a row."""
        return Query(self, constants, tuple_row, _exists)

    def count(self, **constants: Any) -> Query[int]:
        """Return the number of rows that the statement touched."""
        return Query(self, constants, tuple_row, _count)

    def changes(self, **constants: Any) -> Query[bool]:
        """Return whether the statement touched a row."""
        return Query(self, constants, tuple_row, _changes)

    def run(self, **constants: Any) -> Query[None]:
        """Return nothing."""
        return Query(self, constants, tuple_row, _nothing)


query = Statement
# What the functions below have made: they find rows of all accounts, so all shards are asked.
FINDERS: dict[str, LiteralString] = {}


def due_rows(
    table: LiteralString,
    *,
    by: LiteralString,
    at: LiteralString = "now",
    columns: LiteralString = "account_id, id",
    only: LiteralString = "true",
) -> Statement:
    """Return a statement that finds rows whose time `by` has come, the oldest first; `at` names its parameter."""
    return _finder(
        table,
        f"SELECT {columns} FROM {table} WHERE {by} <= %({at})s AND {only} ORDER BY {by} LIMIT %(limit)s",
    )


def accounts_with(
    table: LiteralString, *, account: LiteralString = "account_id", only: LiteralString = "true"
) -> Statement:
    """Return a statement that finds accounts with such rows, by their ids `after` one."""
    return _finder(
        table,
        f"""
        SELECT {account} FROM {table} WHERE {only} AND {account} > %(after)s
        GROUP BY {account} ORDER BY {account} LIMIT %(limit)s
        """,
    )


def stale_rows(
    table: LiteralString,
    *,
    sealed: LiteralString,
    key: LiteralString,
    after: LiteralString,
    columns: LiteralString,
) -> Statement:
    """Return a statement that finds rows that another than the first secret key sealed, by their keys."""
    return _finder(
        table,
        f"""
        SELECT {columns} FROM {table}
        WHERE substr({sealed}, 1, octet_length(%(header)s::bytea)) <> %(header)s AND ({key}) > ({after})
        ORDER BY {key} LIMIT %(limit)s
        """,
    )


def newest_rows(
    table: LiteralString, *, columns: LiteralString, by: LiteralString = "id", only: LiteralString = "true"
) -> Statement:
    """Return a statement that lists the newest rows of an account or of all, in any status, for the operator."""
    return _finder(
        table,
        f"""
        SELECT {columns} FROM {table}
        WHERE (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
          AND (%(status)s::text IS NULL OR status = %(status)s) AND {only}
        ORDER BY {by} DESC LIMIT %(limit)s
        """,
    ).unprepared  # a generic plan fits no combination of the filters


def recent_entries(table: LiteralString, *, columns: LiteralString) -> Statement:
    """Return a statement that lists entries since a time, newest first, for the operator.

    Each filter can be null: the account, the actions, and the type of the actor.
    """
    return _finder(
        table,
        f"""
        SELECT {columns} FROM {table}
        WHERE created_at >= %(since)s
          AND (%(account_id)s::uuid IS NULL OR account_id = %(account_id)s)
          AND (%(actions)s::text[] IS NULL OR action = ANY(%(actions)s::text[]))
          AND (%(actor)s::text IS NULL OR actor_type = %(actor)s)
        ORDER BY created_at DESC, id DESC LIMIT %(limit)s
        """,
    ).unprepared


def _finder(table: LiteralString, text: LiteralString) -> Statement:
    FINDERS[f"{table} {len(FINDERS)}"] = text
    return Statement(text)


def account_lock(name: str) -> Query[None]:
    """Return a statement that takes the lock of this name for an account until the transaction ends."""
    return query(LOCK).run(lock=f"{name} ")


def constructor(record: Callable[..., T]) -> Callable[..., T]:
    """Return a function that makes a record of columns: a field whose type is an enum gets its member."""
    kinds = [(name, each) for name, hint in get_type_hints(record).items() for each in _enums(hint)]

    def make(**columns: Any) -> T:
        for name, kind in kinds:
            if columns.get(name) is not None:
                columns[name] = kind(columns[name])
        return record(**columns)

    return make if kinds else record


def _enums(hint: Any) -> list[type[Enum]]:
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return [each for each in kinds if isinstance(each, type) and issubclass(each, Enum)]


def _records(of: Callable[..., T]) -> BaseRowFactory[Any]:
    if get_origin(of) is tuple:
        return tuple_row
    return kwargs_row(constructor(of) if isinstance(of, type) and is_dataclass(of) else of)


def _scalars(of: type[T]) -> BaseRowFactory[Any]:
    if not (isinstance(of, type) and issubclass(of, Enum)):
        return scalar_row

    def members(cursor: Any) -> RowMaker[Any]:
        make = scalar_row(cursor)
        return lambda values: None if values[0] is None else of(make(values))

    return members


async def _only(cursor: AsyncCursor[T]) -> T:
    [row] = await cursor.fetchall()
    return row


async def _set(cursor: AsyncCursor[T]) -> set[T]:
    return set(await cursor.fetchall())


async def _pairs(cursor: AsyncCursor[Any]) -> dict[Any, Any]:
    return dict(await cursor.fetchall())


async def _exists(cursor: AsyncCursor[Any]) -> bool:
    return await cursor.fetchone() is not None


async def _count(cursor: AsyncCursor[Any]) -> int:
    return cursor.rowcount


async def _changes(cursor: AsyncCursor[Any]) -> bool:
    return cursor.rowcount > 0


async def _nothing(_: AsyncCursor[Any]) -> None:
    pass
