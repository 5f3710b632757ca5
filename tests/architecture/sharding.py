"""Statements that a sharded database accepts: rules of Citus that PostgreSQL alone does not check.

pglast reads a statement as PostgreSQL does. It knows neither views nor the types of columns: the sum of a time and
an interval is found by the cast of the interval.

Sources: https://github.com/citusdata/citus (src/backend/distributed/planner: multi_router_planner.c,
query_pushdown_planning.c), and all statements of the service, planned and executed on Citus 13.2 by hand.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from pglast import ast, parse_sql
from pglast.enums import BoolExprType, JoinType, NullTestType, SubLinkType
from pglast.enums.parsenodes import A_Expr_Kind

from builders.kit.db.placement import COPIED, NODE, Place, place_of
from tests.architecture.statements import NAMED, UNNAMED, Statement
from tests.architecture.tenancy import Table, columns

Node = Any  # of pglast: its classes have the members of the parser's C structures
FILLED = re.compile(r"\{\w*\}")  # the place of a name in a statement of the kit
CHANGES = (ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt)
QUERIES = (ast.SelectStmt, *CHANGES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Functions:
    """Functions that return other values at other times, by name and number of arguments."""

    volatile: Collection[tuple[str, int]]
    changing: Collection[tuple[str, int]]  # the volatile ones, and those that are stable in a statement


def read_functions(conn: psycopg.Connection) -> Functions:
    """Return the functions of a database, by whether a form of theirs is stable or volatile."""
    found = conn.execute(
        "SELECT proname, pronargs, provolatile FROM pg_proc WHERE provolatile <> 'i' AND prokind = 'f'"
    ).fetchall()
    volatile = {(name, count) for name, count, kind in found if kind == "v"}
    return Functions(volatile=volatile, changing={(name, count) for name, count, _ in found})


@cache
def parse(statement: Statement) -> Node:
    """Return the tree of a statement."""
    numbers: dict[str, int] = {}
    text = NAMED.sub(lambda found: f"${numbers.setdefault(found[1], len(numbers) + 1)}", statement.text)
    return parse_sql(FILLED.sub("word", UNNAMED.sub("$1", text).replace("%%", "%")))[0].stmt


def _is(node: Node, kind: type[ast.Node] | tuple[type[ast.Node], ...]) -> bool:
    return isinstance(node, kind)  # without the types of members, all of which can be null


def parts(node: Node) -> Iterator[Node]:
    """Yield the nodes directly below a node."""
    for name in node:
        value = getattr(node, name)
        for each in value if isinstance(value, tuple) else (value,):
            if _is(each, ast.Node):
                yield each
            elif isinstance(each, tuple):  # a row of VALUES
                yield from (one for one in each if _is(one, ast.Node))


def walk(node: Node, *, without: tuple[type[ast.Node], ...] = ()) -> Iterator[Node]:
    """Yield the node and all below it, except what is in nodes of some types."""
    yield node
    for each in parts(node):
        if not _is(each, without):
            yield from walk(each, without=without)


def _all(node: Node, kind: type[ast.Node] | tuple[type[ast.Node], ...]) -> list[Node]:
    return [each for each in walk(node) if _is(each, kind)]


def _own(query: Node) -> Iterator[Node]:
    """Yield the nodes of a query without those of its CTEs and sub-selects."""
    yield from walk(query, without=(ast.WithClause, *QUERIES))


def _places(nodes: Iterator[Node], tables: Collection[str]) -> dict[str, Place]:
    """Return the places of the sharded tables among the nodes, by alias."""
    found: dict[str, Place] = {}
    for each in nodes:
        if _is(each, ast.RangeVar) and each.relname in tables:
            place = place_of(each.relname)
            if place.by is not None:
                found[each.alias.aliasname if each.alias else each.relname] = place
    return found


def _shards(nodes: Iterator[Node], tables: Collection[str]) -> list[str]:
    return sorted({place.by for place in _places(nodes, tables).values() if place.by is not None})


def _last(node: Node) -> str | None:
    """Return the name of a column without that of its table."""
    if not _is(node, ast.ColumnRef) or not _is(node.fields[-1], ast.String):
        return None
    return str(node.fields[-1].sval)


def _conditions(node: Node, *, lists: bool = False) -> Iterator[Node]:
    """Yield the equations of a query and of those in it that always hold: without alternatives.

    `lists`: also those with any item of an array.
    """
    if _is(node, ast.BoolExpr) and node.boolop != BoolExprType.AND_EXPR:
        return
    kinds = {A_Expr_Kind.AEXPR_OP, A_Expr_Kind.AEXPR_OP_ANY} if lists else {A_Expr_Kind.AEXPR_OP}
    if _is(node, ast.A_Expr) and node.kind in kinds and node.name[0].sval == "=":
        yield node
    for each in parts(node):
        yield from _conditions(each, lists=lists)


def _names_shard(query: Node, column: str, outer: Collection[str] = (), *, lists: bool = False) -> bool:
    """Return whether a condition compares the column with a parameter, or with that of an outer table."""
    for each in _conditions(query, lists=lists):
        for one, other in ((each.lexpr, each.rexpr), (each.rexpr, each.lexpr)):
            value = other.arg if _is(other, ast.TypeCast) else other
            if _last(one) == column and (_is(value, ast.ParamRef) or _is_of(value, column, outer)):
                return True
    return False


def _is_of(value: Node, column: str, aliases: Collection[str]) -> bool:
    return _last(value) == column and len(value.fields) > 1 and value.fields[0].sval in aliases


def _calls(nodes: Iterator[Node], functions: Collection[tuple[str, int]]) -> list[str]:
    calls = ((each.funcname[-1].sval, len(each.args or ())) for each in nodes if _is(each, ast.FuncCall))
    return sorted({name for name, count in calls if (name, count) in functions})


def volatile_updates(statement: Statement, functions: Functions) -> Iterator[str]:
    """Yield UPDATE with a function that counts or reads a clock, other than in a CTE."""
    for query in _all(parse(statement), ast.UpdateStmt):
        for name in _calls(walk(query, without=(ast.WithClause,)), functions.volatile):
            yield f"{statement.place}: UPDATE calls {name}"


def changing_conflicts(statement: Statement, functions: Functions) -> Iterator[str]:
    """Yield DO UPDATE with a function whose value can change, also in its condition."""
    for action in _all(parse(statement), ast.OnConflictClause):
        for name in _calls(walk(action), functions.changing):
            yield f"{statement.place}: DO UPDATE calls {name}"


def unsent(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield parameters after ON CONFLICT of INSERT … SELECT, which Citus sends only from a CTE."""
    query = parse(statement)
    if _is(query, ast.InsertStmt) and query.onConflictClause and query.selectStmt:
        name, is_selected = query.relation.relname, not query.selectStmt.valuesLists
        is_sharded = name in tables and place_of(name) != NODE
        if is_selected and is_sharded and _all(query.onConflictClause, ast.ParamRef):
            yield f"{statement.place}: a parameter after ON CONFLICT of rows that a query selects"


def changed_times(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield UPDATE that adds an interval to a column, and DO UPDATE that adds one: it depends on the time zone."""
    for query in _all(parse(statement), (ast.UpdateStmt, ast.InsertStmt)):
        place = place_of(query.relation.relname)
        action = query if _is(query, ast.UpdateStmt) else query.onConflictClause
        if action is None or query.relation.relname not in tables or place == NODE:
            continue
        for each in walk(action, without=(ast.WithClause, ast.RangeSubselect)):
            is_sum = _is(each, ast.A_Expr) and each.name[-1].sval in {"+", "-"} and _has_interval(each)
            if is_sum and (action is not query or _all(each, ast.ColumnRef)):
                yield f"{statement.place}: {'UPDATE' if action is query else 'DO UPDATE'} adds an interval"
                break


def _has_interval(node: Node) -> bool:
    casts = {each.typeName.names[-1].sval for each in walk(node) if _is(each, ast.TypeCast)}
    return bool({"interval", "timestamptz"} & casts) or any(
        _is(each, ast.FuncCall) and each.funcname[-1].sval == "make_interval" for each in walk(node)
    )


def wide_locks(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield row locks of a query that does not name the shard of each of its tables by a parameter."""
    for query in _all(parse(statement), ast.SelectStmt):
        for column in _shards(_own(query), tables) if query.lockingClause else ():
            if not any(_names_shard(each, column) for each in _filters(query)):
                yield f"{statement.place}: locks rows without {column} = a parameter"


def _filters(query: Node) -> list[Node]:
    """Return the conditions of a query, also those of its joins."""
    joins = [each.quals for each in _own(query) if _is(each, ast.JoinExpr)]
    return [each for each in (query.whereClause, *joins) if each is not None]


def deletions_by_place(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield the use of ctid, which identifies a row only in its shard."""
    query = parse(statement)
    if any(_last(each) == "ctid" for each in walk(query)):
        yield from _unnamed(statement, query, tables, "uses ctid")


def recursive(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield a recursive query over several shards."""
    query = parse(statement)
    if any(_is(each, ast.WithClause) and each.recursive for each in walk(query)):
        yield from _unnamed(statement, query, tables, "is recursive")


def columnless(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield sub-selects without a column, other than of EXISTS, over several shards."""
    query = parse(statement)
    for each in _all(query, (ast.RangeSubselect, ast.CommonTableExpr)):
        inner = each.subquery if _is(each, ast.RangeSubselect) else each.ctequery
        is_empty = _is(inner, ast.SelectStmt) and not (inner.targetList or inner.valuesLists or inner.op)
        if is_empty and not _is_dependent(inner):
            yield from _unnamed(statement, inner, tables, "selects no column")


def _unnamed(statement: Statement, query: Node, tables: Collection[str], what: str) -> Iterator[str]:
    for column in _shards(walk(query), tables):
        if not _names_shard(query, column):
            yield f"{statement.place}: {what} without {column} = a parameter"


def correlated(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield sub-selects, other than in FROM, beside the rows of a function, of VALUES or of a CTE.

    Such a sub-select names its shard by a parameter, or by that of a table of the outer query.
    """
    query = parse(statement)
    ctes = {each.ctename for each in _all(query, ast.CommonTableExpr)}
    for outer in _all(query, ast.SelectStmt):
        if any(_is_computed(each, ctes) for each in _own(outer)):
            aliases = _places(_own(outer), tables)
            for link in (each for each in _own(outer) if _is(each, ast.SubLink)):
                if _is_dependent(link.subselect):
                    for column in _shards(walk(link.subselect), tables):
                        if not _names_shard(link.subselect, column, aliases):
                            yield f"{statement.place}: a sub-select beside such rows, without {column}"


def _is_computed(node: Node, ctes: Collection[str]) -> bool:
    """Return whether a part of FROM has rows of no shard."""
    if _is(node, ast.RangeSubselect):
        return bool(node.subquery.valuesLists)
    return _is(node, ast.RangeFunction) or (_is(node, ast.RangeVar) and node.relname in ctes)


def _is_dependent(query: Node) -> bool:
    """Return whether a query names tables that are not its own."""
    own = {
        each.alias.aliasname if each.alias else getattr(each, "relname", None)
        for each in walk(query)
        if _is(each, (ast.RangeVar, ast.RangeSubselect, ast.RangeFunction))
    }
    named = {each.fields[0].sval for each in _all(query, ast.ColumnRef) if len(each.fields) > 1}
    return bool(named - own)


def changes_copies(statement: Statement) -> bool:
    """Return whether a statement writes or locks rows of a copied table, for which all nodes must be up."""
    query = parse(statement)
    locking = [each for each in _all(query, ast.SelectStmt) if each.lockingClause]
    locked = [each for one in locking for each in _own(one) if _is(each, ast.RangeVar) and _locks(one, each)]
    tables = [*locked, *(each.relation for each in _all(query, CHANGES))]
    return any(place_of(each.relname) == COPIED for each in tables)


def _locks(query: Node, table: Node) -> bool:
    of = {each.relname for clause in query.lockingClause for each in clause.lockedRels or ()}
    return not of or (table.alias.aliasname if table.alias else table.relname) in of


def missing_halves(statement: Statement, tables: Collection[str]) -> Iterator[str]:
    """Yield changes after a row is taken for gone because a row of another shard is missing.

    Two rows of a transaction can appear one after the other.
    """
    query = parse(statement)
    for each in _all(query, QUERIES) if _all(query, CHANGES) else ():
        whole = _shards(_own(each), tables)
        for absent in _absent(each):
            if whole and set(_shards(walk(absent), tables)) - set(whole[:1]):
                yield f"{statement.place}: a change depends on a row that another shard lacks"


def _absent(query: Node) -> Iterator[Node]:
    """Yield what NOT EXISTS selects, and the tables of a LEFT JOIN of which a column is compared with NULL."""
    for each in _own(query):
        if _is(each, ast.BoolExpr) and each.boolop == BoolExprType.NOT_EXPR:
            if _is(each.args[0], ast.SubLink) and each.args[0].subLinkType == SubLinkType.EXISTS_SUBLINK:
                yield each.args[0].subselect
        elif _is(each, ast.JoinExpr) and each.jointype == JoinType.JOIN_LEFT:
            nulls = [test for test in _own(query) if _is(test, ast.NullTest)]
            if any(test.nulltesttype == NullTestType.IS_NULL and _is_in(test.arg, each.rarg) for test in nulls):
                yield each.rarg


def _is_in(column: Node, joined: Node) -> bool:
    alias = getattr(joined, "alias", None)
    name = alias.aliasname if alias else getattr(joined, "relname", None)
    return _is(column, ast.ColumnRef) and len(column.fields) > 1 and column.fields[0].sval == name


def is_scattered(statement: Statement, tables: Collection[str]) -> bool:
    """Return whether a statement can touch all shards: a part of it does not name the shards of its rows."""
    for query, outer in _levels(parse(statement), tables, frozenset()):
        for column in _shards(_own(query), tables):
            if not any(_names_shard(each, column, outer, lists=True) for each in _filters(query)):
                return True
    return False


def _levels(node: Node, tables: Collection[str], outer: frozenset[str]) -> Iterator[tuple[Node, frozenset[str]]]:
    """Yield queries that read or change rows, with the aliases of sharded tables of the queries around them."""
    if _is(node, QUERIES):
        if not _is(node, ast.InsertStmt):
            yield node, outer
        outer |= _places(_own(node), tables).keys()
    for each in parts(node):
        yield from _levels(each, tables, outer)


def unsharded_views(views: Sequence[tuple[str, str]], tables: Collection[str]) -> Iterator[str]:
    """Yield views, each a name and its definition, that read tables which are sharded by different columns."""
    for name, definition in views:
        shards = _shards(walk(parse(Statement(place=name, text=definition))), tables)
        if len(shards) > 1:
            yield f"{name}: a view of tables by {' and '.join(shards)}"


def unsharded(tables: Sequence[Table]) -> Iterator[str]:
    """Yield what a sharded table cannot have: a trigger, SET NULL in a key with its shard, no primary key."""
    for table in tables:
        place = place_of(table.name)
        if place == NODE:
            continue
        for name, _ in table.triggers:
            yield f"{table.name}: the trigger {name}"
        if not table.has_primary_key:
            yield f"{table.name}: no primary key"
        for key in table.clearing_keys:
            if place.by in columns(key):
                yield f"{table.name}: SET NULL in the foreign key to {key}"
