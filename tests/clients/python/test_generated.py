"""The generated parts: fresh, whole, and no larger than they need to be."""

import inspect
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from builders.kit.errors import list_problem_types
from builders_client import AsyncBuilders, Builders, errors
from builders_client.generated.operations import OPERATIONS
from codegen import generate
from tests.published import published

CLIENT = Path(__file__).parents[3] / "clients" / "python"
MAX_LINES = 25_000
REQUIRED = {"httpx2", "pydantic"}


def test_every_generated_file_is_fresh() -> None:
    """If this fails, run script/clients."""
    wanted, have = generate.render(), generate.present()
    assert sorted(path for path in wanted.keys() | have.keys() if wanted.get(path) != have.get(path)) == []


def test_the_generated_lines_stay_few() -> None:
    code = (text for path, text in generate.present().items() if path.endswith(".py"))
    assert sum(text.count("\n") for text in code) <= MAX_LINES


@pytest.mark.parametrize("kind", [Builders, AsyncBuilders])
def test_every_operation_of_the_document_is_reachable(kind: type[Builders | AsyncBuilders]) -> None:
    client = kind("svc_test_key", base_url="http://builders.test")
    paths: dict[str, Any] = published().document["paths"]
    documented = {each["operationId"] for methods in paths.values() for each in methods.values()}
    assert documented == OPERATIONS.keys()
    for each in OPERATIONS.values():
        assert inspect.getdoc(getattr(getattr(client, each.tag), each.name)), each.id


def test_every_error_code_has_a_class_with_its_status() -> None:
    known = {each.code: each.status for each in list_problem_types()}
    assert errors.BY_CODE.keys() == known.keys()
    for code, kind in errors.BY_CODE.items():
        assert issubclass(kind, errors.ApiError)
        assert kind.code == code
        parent = errors.BY_STATUS.get(known[code], errors.ApiError)
        assert issubclass(kind, parent), code


def test_the_docstring_of_an_operation_is_the_text_of_the_document() -> None:
    told = published().document["paths"]["/v1/builders/projects"]["post"]
    said = inspect.getdoc(Builders("svc_test_key", base_url="http://builders.test").projects.create)
    assert said is not None
    assert " ".join(said.split()).startswith(" ".join(told["description"].split()[:12]))


def test_the_package_requires_only_two_others() -> None:
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {each.split(">")[0] for each in project["dependencies"]} == REQUIRED


def test_the_package_imports_nothing_of_the_service() -> None:
    found = [
        path.name
        for path in (CLIENT / "builders_client").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(("from builders.", "import builders.", "from builders import"))
    ]
    assert found == []


def test_the_package_alone_imports_neither_library() -> None:
    lines = "import sys, builders_client; print(*{'httpx2', 'pydantic'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", lines], cwd=CLIENT, capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == []


@pytest.mark.system  # script/lint checks the script too, with the cache and the plugins of this project
def test_mypy_accepts_a_strict_script(tmp_path: Path) -> None:
    sample = Path(__file__).with_name("sample.py")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(sample)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"MYPYPATH": str(CLIENT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
