"""The headers of tables in other languages, which are data."""

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from builders.kit.sheets.csv_files import normalize_header
from builders.kit.sheets.formats import Format
from builders.kit.sheets.kinds import TableKind, list_kinds
from builders.portfolio.domain_files.columns import DOMAINS

KIT = "builders.kit.sheets"
PACKAGES = [
    each
    for each in (KIT, *(kind.package for kind in list_kinds()))
    if each is not None and files(each).joinpath("headers.toml").is_file()
]


def entries(package: str) -> Iterator[tuple[str, str, str]]:
    """Each language, column and header of a package."""
    file = files(package).joinpath("headers.toml")
    for language, columns in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for column, headers in columns.items():
            yield from ((language, column, each) for each in headers)


def kinds_of(package: str) -> list[TableKind[Any]]:
    return [each for each in list_kinds() if package in {KIT, each.package}]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_header_is_that_of_one_column(package: str) -> None:
    seen = dict[str, tuple[str, str]]()
    for language, column, header in entries(package):
        kinds = [each for each in kinds_of(package) if column in each.row.columns]
        assert kinds, f"{language}: no kind has the column {column}"
        key = normalize_header(header)
        assert key, f"{language} {column}: {header!r} has no word"
        assert key not in seen, f"{header!r} is {language} {column} and {seen[key]}"
        seen[key] = language, column
        for kind in kinds:
            others = [each for each in ("domain", "date", "amount", "revenue") if each != column]
            found = kind.map_columns([header, *others], Format(id="plain"), {})
            assert 0 in found.positions.get(column, ()), f"{kind.name}: {header!r} is not {column}"


def test_the_languages_of_domains() -> None:
    languages = {language for language, _, _ in entries(DOMAINS.package or "")}
    assert languages >= {"cs", "de", "es", "fr", "hu", "it", "ja", "ko", "nl", "pl", "pt", "ru", "sv", "tr", "zh"}
    for column in ("expires_at", "registered_on", "renewal_price"):
        known = {language for language, name, _ in entries(DOMAINS.package or "") if name == column}
        assert len(known) >= 11, column
