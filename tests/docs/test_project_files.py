"""The files around the code: the site of the pages, the changelog, the workflow of hosted CI, local hooks."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from builders.kit.process.version import VERSION

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent


def run(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_site_needs_no_generated_folder() -> None:
    files = {each.name for each in ROOT.glob("*.md")} | {"docs", "examples"}
    linked = {each.name: each.resolve() for each in (ROOT / "pages").iterdir()}
    assert linked == {name: ROOT / name for name in files}
    assert "docs_dir: pages\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_pages_are_a_site_without_a_broken_link(tmp_path: Path) -> None:
    run("script/docs", "--site", tmp_path)
    index = (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "how-to/receive-webhooks.html" in index
    assert (tmp_path / "ARCHITECTURE.html").exists()
    listed = re.findall(r"\]\(/guide/(\S+?)\)", (tmp_path / "llms.txt").read_text(encoding="utf-8"))
    assert "docs/how-to/receive-webhooks.md" in listed
    assert [path for path in listed if not (tmp_path / path).exists()] == []
    whole = (tmp_path / "llms-full.txt").read_text(encoding="utf-8")
    assert "Source: /guide/docs/reference/operations/aliases.md" in whole


def test_the_changelog_is_built_from_the_fragments() -> None:
    draft = run(TOOLS / "towncrier", "build", "--draft", "--version", VERSION)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    kinds = {each["directory"] for each in settings["type"]}
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        assert fragment.stem.rpartition(".")[2] in kinds, f"{fragment.name}: name it TOPIC.added.md"
        first = fragment.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("- ")
        assert first in draft


def test_the_workflow_of_hosted_ci_is_valid_and_calls_our_scripts() -> None:
    workflow = ROOT / ".github" / "workflows" / "check.yml"
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", workflow)
    scripts = set(re.findall(r"(?:script/|\.ci/)[a-z]+", workflow.read_text(encoding="utf-8")))
    assert {"script/test", ".ci/run"} <= scripts
    assert all((ROOT / each).exists() for each in scripts)


def test_the_local_hooks_call_our_scripts() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    scripts = re.findall(r"entry: (\S+)", hooks)
    assert scripts
    assert all((ROOT / each).exists() for each in scripts)
