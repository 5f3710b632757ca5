"""SQL is a literal: basedpyright, as script/lint runs it, refuses a composed string."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source import ROOT, Source
from tests.architecture.statements import holds_sql

SAMPLE = """
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import TupleRow

from builders.kit.db.queries import query

LIST = "SELECT id FROM names"

async def read(conn: AsyncConnection[TupleRow], cursor: AsyncCursor[TupleRow], table: str) -> None:
"""


GOOD = [
    "await conn.execute(LIST)",
    "await conn.execute(LIST + ' LIMIT 1')",
    "await cursor.execute(f'{LIST} WHERE id = %(id)s', {'id': table})",
    "query(f'{LIST} WHERE id = %(id)s').run()",
]
BAD = [
    "await conn.execute(f'SELECT id FROM {table}')",
    "await conn.execute(f'SELECT id FROM {table}', {'id': 1})",
    "await cursor.execute('SELECT id FROM ' + table)",
    "await cursor.execute('SELECT id FROM %s' % table)",
    "await cursor.executemany('SELECT id FROM {}'.format(table), [])",
    "query(f'SELECT id FROM {table}').run()",
]


def configuration() -> dict[str, Any]:
    """Return the configuration of basedpyright."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    settings: dict[str, Any] = project["basedpyright"]
    return settings


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """Return the lines of the sample that the configuration of the project refuses."""
    folder = tmp_path_factory.mktemp("literal")
    lines = [*GOOD, *BAD]
    (folder / "sample.py").write_text(SAMPLE + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    venv = Path(sys.prefix)
    settings = configuration() | {"include": ["sample.py"], "venvPath": str(venv.parent), "venv": venv.name}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("basedpyright"), "--outputjson"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    first = SAMPLE.count("\n")
    found = json.loads(done.stdout)["generalDiagnostics"]
    return frozenset(lines[each["range"]["start"]["line"] - first] for each in found)


@pytest.mark.parametrize("line", BAD)
def test_composed_sql_is_refused(refused: frozenset[str], line: str) -> None:
    assert line in refused


@pytest.mark.parametrize("line", GOOD)
def test_sql_of_literals_is_accepted(refused: frozenset[str], line: str) -> None:
    assert line not in refused


def test_every_file_that_may_execute_sql_is_checked(codebase: list[Source]) -> None:
    included = [
        each.relative_to(ROOT / "src") for pattern in configuration()["include"] for each in ROOT.glob(pattern)
    ]
    with_sql = [file.path for file in codebase if holds_sql(file)]
    assert len(with_sql) > 100
    assert [path for path in with_sql if not any(path.is_relative_to(each) for each in included)] == []
