"""The files around the code: the site of the pages, the changelog, the workflow of hosted CI, local hooks."""

import html
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from builders.kit.process.version import VERSION

ROOT = Path(__file__).parents[2]
_HREF = re.compile(r"""\b(?:href|src)=["']?([^"'\s>]+)""")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
SENTENCE = re.compile(r"\): [A-Z0-9`].*[^:]\.$")  # of an entry of llms.txt: from a capital or a name to a period
TOOLS = Path(sys.executable).parent


def run(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_site_needs_no_generated_folder() -> None:
    files = {each.name for each in ROOT.glob("*.md")} | {"docs", "examples"}
    linked = {each.name: each.resolve() for each in (ROOT / "pages").iterdir() if each.is_symlink()}
    assert linked == {name: ROOT / name for name in files}
    clients = {
        each.relative_to(ROOT / "pages"): each.resolve() for each in (ROOT / "pages" / "clients").rglob("*.md")
    }
    assert clients == {each.relative_to(ROOT): each for each in ROOT.glob("clients/*/README.md")}
    assert "docs_dir: pages\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def dead_links(site: Path) -> Iterator[tuple[str, str]]:
    """Yield the links of the pages, as HTML and as Markdown, that lead to no file of the site."""
    pages = [*(each for each in site.rglob("*.html") if each.name != "404.html"), *site.rglob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for link in (_HREF if page.suffix == ".html" else _LINK).findall(text):
            path = re.split(r"[?#]", html.unescape(link))[0]
            if path and not re.match(r"[a-z]+:|//", path) and not (page.parent / path).resolve().is_file():
                yield str(page.relative_to(site)), link


def test_a_dead_link_of_a_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href=b.html#x>b</a><a href="gone.html">c</a><a href="https://x.example">d</a>'
    )
    (tmp_path / "b.html").write_text("<a href='#top'>a</a><img src=/docs>")
    (tmp_path / "c.md").write_text("[a](a.html) [b](clients/README.md#x) [c](#c)")

    assert sorted(dead_links(tmp_path)) == [
        ("a.html", "gone.html"),
        ("b.html", "/docs"),
        ("c.md", "clients/README.md#x"),
    ]


def test_the_pages_are_a_site_without_a_broken_link(tmp_path: Path) -> None:
    run("script/docs", "--site", tmp_path)
    index = (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")
    assert "how-to/receive-webhooks.html" in index
    assert (tmp_path / "ARCHITECTURE.html").exists()
    texts = (tmp_path / "llms.txt").read_text(encoding="utf-8")
    assert [line for line in texts.splitlines() if line.startswith("- ") and not SENTENCE.search(line)] == []
    assert all(word in texts for word in ("X-API-Key", "svc_test_", "/v1/sandbox/plan", "/v1/sandbox/promote"))
    listed = re.findall(r"\]\(/guide/(\S+?)\)", texts)
    assert "docs/how-to/receive-webhooks.md" in listed
    assert [path for path in listed if not (tmp_path / path).exists()] == []
    assert list(dead_links(tmp_path)) == []
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


def test_the_cluster_of_containers_is_valid() -> None:
    run(TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "deploy/citus/compose.yaml")


def test_the_local_hooks_call_our_scripts() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    scripts = re.findall(r"entry: (\S+)", hooks)
    assert scripts
    assert all((ROOT / each).exists() for each in scripts)
