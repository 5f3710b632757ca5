"""The parts of a release, and what the pages say about its name."""

import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import yaml  # type: ignore[import-untyped] # it has no types

from builders.kit.process.version import VERSION
from tests.promises.versions import ROOT

RELEASE = ROOT / "script" / "release"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("clients/**/*.md"), *ROOT.glob("deploy/**/*")]
OF_A_STRANGER = re.compile(r"pip install (?:\S+ )*builders(?:[\s`=<>]|$)|[^\w-]uv(?:x| add| tool \w+) builders\b")


def release(*words: str | Path) -> str:
    done = subprocess.run([RELEASE, *words], capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_the_guide_and_all_data_files(tmp_path: Path) -> None:
    release("wheel", tmp_path)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.name == f"builders_service-{VERSION}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"builders/guide/index.html", "builders/guide/llms.txt", "builders/openapi.json"} <= names
    source = {
        str(each.relative_to(ROOT / "src"))
        for each in (ROOT / "src" / "builders").rglob("*")
        if each.is_file() and "__pycache__" not in each.parts
    }
    assert source - names == set()


def test_the_notes_of_a_version_are_those_of_the_changelog() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+) ", changelog, re.MULTILINE)
    for version in versions:
        notes = release("notes", version)
        assert notes.strip()
        assert notes.strip() in changelog
        assert not re.search(r"^## ", notes, re.MULTILINE)


def test_the_notes_of_a_version_to_come_are_the_fragments() -> None:
    notes = release("notes", "9.0.0")
    fragments = [each.read_text(encoding="utf-8") for each in sorted((ROOT / "changelog.d").glob("*.md"))]
    assert bool(notes.strip()) == bool(fragments)
    assert [each for each in fragments if each.splitlines()[0] not in notes] == []


def test_without_a_part_it_says_which_there_are() -> None:
    done = subprocess.run([RELEASE], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "script/release wheel FOLDER" in done.stderr


def test_the_workflow_makes_each_part_with_pinned_actions() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert {*re.findall(r"script/release (\w+)", text)} == {"wheel", "sbom", "notes"}
    [job] = yaml.safe_load(text)["jobs"].values()
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", each)] == []
    check = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    subprocess.run(
        [ROOT / "script" / "bootstrap", "test", "python", *check, ROOT / ".github/workflows/release.yml"],
        check=True,
    )


def test_no_page_installs_the_package_of_a_stranger() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], [*project["scripts"]]) == ("builders-service", ["builders"])
    texts = {each: each.read_text(encoding="utf-8") for each in PAGES if each.is_file()}
    assert [path for path, text in texts.items() if OF_A_STRANGER.search(text)] == []
    assert OF_A_STRANGER.search("pip install --upgrade builders")
    assert OF_A_STRANGER.search("run `pip install builders`")
    assert not OF_A_STRANGER.search("pip install builders-service, pip install ./builders_service-1.0.0.whl")
