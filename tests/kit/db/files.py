"""Migrations of tests."""

from typing import Any

import psycopg

from builders.kit.db.migration_files import Migration


def make_file(
    name: str, text: str, *, works_with: str = "1.0.0", run: str = "before", first: str = "", last: str = ""
) -> Migration:
    """Return a file with a header; `first` and `last` are further lines of it."""
    return Migration(name, f"{first}-- works with: {works_with}\n-- run: {run}\n{last}\n{text}")


def ask(conninfo: str, question: str) -> list[tuple[Any, ...]]:
    """Ask a database."""
    with psycopg.connect(conninfo) as conn:
        return conn.execute(question.encode()).fetchall()
