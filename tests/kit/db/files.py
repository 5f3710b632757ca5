"""Migrations of tests."""

from builders.kit.db.migration_files import Migration


def make_file(
    name: str, text: str, *, works_with: str = "1.0.0", run: str = "before", first: str = "", last: str = ""
) -> Migration:
    """Return a file with a header; `first` and `last` are further lines of it."""
    return Migration(name, f"{first}-- works with: {works_with}\n-- run: {run}\n{last}\n{text}")
