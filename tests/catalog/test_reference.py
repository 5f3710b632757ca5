"""docs/reference/catalog-csv.md has every column and every code, and no others."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from builders.catalog.catalog_file.loader import CatalogRow
from builders.demo.service import demo_csv
from tests.catalog.make import Loader

ROOT = Path(__file__).parents[2]
MODULES = ("images", "loader")


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs/reference/catalog-csv.md").read_text(encoding="utf-8")


def first_cells(page: str, heading: str) -> set[str]:
    """Return the code words of the first column of the table under a heading."""
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {word for row in rows for word in re.findall(r"`(\w+)`", row)}


def test_every_column_is_described(page: str) -> None:
    assert first_cells(page, "Columns") == CatalogRow.columns.keys()


def codes_of(source: str) -> Iterator[str]:
    """Yield the codes of a module: of a refusal, of a warning, and of a line of the report."""
    places = {"ImageRefused": 0, "refuse": 0, "warn": 0, "ReportLine": 2, "Invalid": 2}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = node.args[places[name] : places[name] + 1] if name in places else []
            yield from (str(each.value) for each in given if isinstance(each, ast.Constant))


def test_every_code_of_a_report_is_described(page: str) -> None:
    sources = [
        files("builders.catalog.catalog_file").joinpath(f"{name}.py").read_text(encoding="utf-8")
        for name in MODULES
    ]
    assert first_cells(page, "Report") >= {code for source in sources for code in codes_of(source)}


async def test_the_demo_catalog_is_a_valid_file(load: Loader) -> None:
    with as_file(demo_csv()) as path:
        report = await load(raw=path.read_bytes(), dry_run=True)
    assert report.rows > 50
    assert report.errors == ()
    assert {line.code for line in report.warnings} == {"image_missing"}
