"""The versions that are named are those that script/promises runs, and it says what does not hold."""

import itertools
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped] # it has no types

from builders.cli.embedded import directory
from builders.kit.process.settings import Settings
from tests.promises import __main__ as program, pages
from tests.promises.environments import NEWEST, OLDEST
from tests.promises.report import Report, Told
from tests.promises.service import wait_for
from tests.promises.stranger import Broken, Stranger
from tests.promises.versions import ROOT, SERVERS, find_pythons, promised_pythons, promised_servers

PYTHONS = promised_pythons()
POSTGRESQL = promised_servers()
TEXTS = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("clients/*/README.md"),
    *(ROOT / each for each in ("script/bootstrap", ".ci/run", "src/builders/openapi.json")),
]
_PYTHONS = re.compile(r"Python (3\.\d+(?:(?:,| or| and|, or) 3\.\d+)+)")
_SERVERS = re.compile(
    r"(?:version|PostgreSQL|\(|\bon) (?:server \()?(\d\d) to (\d\d)\b|server \((\d\d) to (\d\d)\)"
)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def named(pattern: re.Pattern[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the versions that a text lists, with the name of its file."""
    for path in TEXTS:
        for match in pattern.finditer(read(path)):
            yield path.name, re.findall(r"[\d.]*\d", match[0])


def test_each_supported_postgresql_is_run() -> None:
    assert sorted([*SERVERS, directory.MAJOR]) == POSTGRESQL
    assert [version.split(".")[0] for version in SERVERS.values()] == [str(major) for major in SERVERS]


def test_the_texts_name_the_supported_versions_of_python() -> None:
    found = list(named(_PYTHONS))
    assert {"README.md", "CONTRIBUTING.md", "run.md", "use-the-python-client.md", "bootstrap", "run"} <= {
        name for name, _ in found
    }
    assert [(name, versions) for name, versions in found if versions != PYTHONS] == []


def test_the_texts_name_the_supported_versions_of_postgresql() -> None:
    ends = [str(POSTGRESQL[0]), str(POSTGRESQL[-1])]
    found = list(named(_SERVERS))
    assert {"settings.md", "run.md", "use-your-own-postgresql.md", "embedded-postgresql.md"} <= {
        name for name, _ in found
    }
    assert [(name, versions) for name, versions in found if versions != ends] == []
    assert f"({ends[0]} to {ends[1]})" in str(Settings.model_fields["database_url"].description)


@pytest.mark.parametrize("folder", [ROOT, ROOT / "clients" / "python"], ids=["service", "client"])
def test_a_package_allows_the_supported_versions_of_python(folder: Path) -> None:
    project = tomllib.loads(read(folder / "pyproject.toml"))["project"]
    next_minor = int(PYTHONS[-1].split(".")[1]) + 1
    assert project["requires-python"] == f">={PYTHONS[0]},<3.{next_minor}"
    assert promised_pythons(folder / "pyproject.toml") == PYTHONS


def test_the_set_up_takes_the_supported_versions_of_python() -> None:
    script = read(ROOT / "script" / "bootstrap")
    bounds = re.search(r"\((3, \d+)\) <= sys\.version_info\[:2\] <= \((3, \d+)\)", script)
    assert bounds is not None
    assert [each.replace(", ", ".") for each in bounds.groups()] == [PYTHONS[0], PYTHONS[-1]]
    tried = re.search(r"set -- python3 (.*) python\n", script)
    assert tried is not None
    assert tried[1].split() == [f"python{each}" for each in reversed(PYTHONS)]
    assert f"--python-version {PYTHONS[0]} " in read(ROOT / "script" / "pin")


def test_the_workflow_runs_the_supported_versions() -> None:
    jobs = yaml.safe_load(read(ROOT / ".github" / "workflows" / "check.yml"))["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert matrix["postgresql"] == [str(POSTGRESQL[0]), str(POSTGRESQL[-1])]
    steps = itertools.chain.from_iterable(job["steps"] for job in jobs.values())
    others = {
        step["with"]["python-version"] for step in steps if step.get("uses", "").startswith("actions/setup-python")
    }
    assert others <= {*PYTHONS, "${{ matrix.python }}"}


def test_a_python_is_found_on_the_path_and_in_pyenv(tmp_path: Path) -> None:
    version = "{}.{}".format(*sys.version_info)
    real = Path(sys.base_prefix) / "bin" / f"python{version}"
    assert real in find_pythons(version, {"PATH": str(real.parent)})
    (folder := tmp_path / "versions" / f"{version}.0" / "bin").mkdir(parents=True)
    (folder / f"python{version}").symlink_to(real)
    assert find_pythons(version, {"PATH": "", "PYENV_ROOT": str(tmp_path)}) == [real]


def test_a_shim_without_its_python_is_not_found(tmp_path: Path) -> None:
    (shim := tmp_path / "python3.77").write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert find_pythons("3.77", {"PATH": str(tmp_path)}) == []


def test_the_quick_part_takes_the_oldest_and_the_newest_python() -> None:
    found = {"3.11": [Path("a")], "3.12": [Path("b")], "3.13": [Path("c")]}
    assert program.choose(found, quick=True) == {"3.11": [NEWEST], "3.13": [OLDEST]}
    assert [*program.choose(found, quick=False)] == ["3.11", "3.12", "3.13"]


def test_one_python_runs_with_the_oldest_and_the_newest_packages(capsys: pytest.CaptureFixture[str]) -> None:
    found = {"3.11": [Path("a")], "3.12": [], "3.13": []}
    assert program.choose(found, quick=True) == {"3.11": [OLDEST, NEWEST]}
    program.tell_missing(found, report := Report(), quick=True)
    assert report.broken == []
    assert "Python 3.13: it is not here, and is not run" in capsys.readouterr().out


def test_a_missing_python_is_broken_without_quick() -> None:
    program.tell_missing({"3.11": [Path("a")], "3.12": []}, report := Report(), quick=False)
    assert report.broken == ["Python 3.12"]


def test_a_broken_promise_is_told_with_what_the_program_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    user, report = Stranger.at(tmp_path / "home"), Report()
    with pytest.raises(Told), report.promise("it starts"):
        user.run("sh", "-c", "echo no such module; exit 1")
    assert report.broken == ["it starts"]
    said = capsys.readouterr().out
    assert said.startswith("promises: it starts: BROKEN\n")
    assert "no such module" in said


def test_a_program_that_does_not_end_well_is_broken(tmp_path: Path) -> None:
    user = Stranger.at(tmp_path / "home")
    log = tmp_path / "log"

    def run() -> None:
        with user.running("sh", "-c", "trap 'exit 3' TERM; echo begun; while :; do :; done", log=log):
            wait_for("the program", lambda: "begun" in read(log))

    with pytest.raises(Broken, match="exit code 3"):
        run()


def test_the_user_has_no_variable_of_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BUILDERS_PORT", "1")
    printed = Stranger.at(tmp_path / "home").with_variables(LANG="C").run("env")
    assert "BUILDERS_" not in printed
    assert "LANG=C\n" in printed


def test_the_pages_have_the_lines_that_install() -> None:
    assert [line.split()[0] for line in pages.client_lines()] == ["python3", "pip"]
    assert any("requirements.txt" in line for line in pages.service_lines("/srv"))
