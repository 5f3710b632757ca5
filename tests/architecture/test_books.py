"""No statement changes what is booked: invoices that were issued, their lines, payments, credit and numbers.

A database on several nodes has no triggers, so statements are read here (decision 0063).
"""

from collections.abc import Iterator

import pytest
from pglast import ast

from tests.architecture.sharding import parse, walk
from tests.architecture.source import Source
from tests.architecture.statements import Statement, statements

INVOICES = "invoices_invoices"
BOOKS = {
    *("invoices_credit", "invoices_line_credits", "invoices_lines", "invoices_numbers", "invoices_payments"),
    INVOICES,
}
# Each changes only the invoices that are in one of these states.
STATES = {
    "open_draft": {"draft"},
    "erase_buyer": set[str](),
    **{name: {"open", "uncollectible"} for name in ("pay", "void")},
    **{name: {"open"} for name in ("mark_uncollectible", "advance")},
}
# What an issue fills in, and what happens to an issued invoice.
ISSUED = {"status", "paid_at", "number", "credit_applied", "issued_at", "buyer"}
LATER = {
    *("status", "paid_at", "amount_paid", "payment_method", "payment_reference", "voided_at", "void_reason"),
    *("uncollectible_at", "stage", "counted_from"),
}
# An erasure removes what no law demands (decision 0068).
MAY_CHANGE = {"open_draft": ISSUED, "erase_buyer": {"buyer"}}


def wrong_bookings(statement: Statement) -> Iterator[str]:
    """Yield changes and deletions of rows of the books, other than the listed ones."""
    place = statement.place.removeprefix("builders/")
    name = place.rpartition(":")[2]
    tree = parse(statement)
    for node in walk(tree):
        table = getattr(getattr(node, "relation", None), "relname", None)
        if table not in BOOKS:
            continue
        match node:
            case ast.DeleteStmt():
                yield f"{place}: deletes rows of {table}"
            case ast.UpdateStmt():
                changed = {each.name for each in node.targetList or ()}
                if table != INVOICES or changed - MAY_CHANGE.get(name, LATER):
                    yield f"{place}: changes {', '.join(sorted(changed))} of {table}"
                elif STATES.get(name) != _states(tree):
                    yield f"{place}: changes invoices in other states"
            case ast.InsertStmt():
                if node.onConflictClause is not None and node.onConflictClause.targetList:
                    yield f"{place}: changes rows of {table} on a conflict"


def _states(tree: object) -> set[str]:
    """Return the states with which conditions compare `status`, outside of CASE."""
    found: set[str] = set()
    for node in walk(tree, without=(ast.CaseExpr, ast.ResTarget)):
        if isinstance(node, ast.A_Expr) and isinstance(node.lexpr, ast.ColumnRef):
            values = node.rexpr if isinstance(node.rexpr, tuple) else (node.rexpr,)
            if getattr((node.lexpr.fields or (None,))[-1], "sval", None) == "status":
                found |= {getattr(each.val, "sval", "") for each in values if isinstance(each, ast.A_Const)}
    return found


def test_no_statement_changes_what_is_booked(codebase: list[Source]) -> None:
    found = [error for file in codebase for each in statements(file) for error in wrong_bookings(each)]
    assert found == []


def test_each_listed_statement_exists(codebase: list[Source]) -> None:
    places = {each.place.removeprefix("builders/") for file in codebase for each in statements(file)}
    assert {f"invoices/store/invoices.py:{name}" for name in STATES} <= places


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("void", "UPDATE invoices_invoices SET total = 1 WHERE status IN ('open', 'uncollectible')"),
        ("void", "UPDATE invoices_invoices SET number = 'INV-0' WHERE status IN ('open', 'uncollectible')"),
        ("void", "UPDATE invoices_invoices SET status = 'void' WHERE id = %(id)s"),
        ("void", "UPDATE invoices_invoices SET status = 'void' WHERE status IN ('open', 'paid')"),
        ("other", "UPDATE invoices_invoices SET status = 'open' WHERE status = 'paid'"),
        ("pay", "WITH a AS (UPDATE invoices_lines SET amount = 0 WHERE id = %(id)s) SELECT 1"),
        ("pay", "UPDATE invoices_payments SET amount = 1 WHERE id = %(id)s"),
        ("pay", "INSERT INTO invoices_credit VALUES (1) ON CONFLICT (id) DO UPDATE SET amount = 400"),
        ("clear_lines", "DELETE FROM invoices_lines WHERE invoice_id = %(id)s"),
        ("clear_draft", "DELETE FROM invoices_invoices WHERE id = %(id)s"),
    ],
)
def test_a_change_of_what_is_booked_is_reported(name: str, text: str) -> None:
    statement = Statement(place=f"builders/invoices/store/invoices.py:{name}", text=text)
    assert len(list(wrong_bookings(statement))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("void", "UPDATE invoices_invoices SET status = 'void' WHERE status IN ('open', 'uncollectible')"),
        ("mark_uncollectible", "UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'"),
        ("open_draft", "UPDATE invoices_invoices SET number = %(number)s, buyer = '{}' WHERE status = 'draft'"),
        ("insert", "INSERT INTO invoices_payments VALUES (1) ON CONFLICT DO NOTHING"),
        ("end", "UPDATE invoices_checkouts SET status = 'expired' WHERE id = %(id)s"),
    ],
)
def test_an_allowed_statement_passes(name: str, text: str) -> None:
    statement = Statement(place=f"builders/invoices/store/invoices.py:{name}", text=text)
    assert list(wrong_bookings(statement)) == []
