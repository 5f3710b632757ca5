"""Pages refer to what exists: files, headings, paths, commands, settings, decisions, packages."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import click
import pytest

from builders.aliases.records import Detail, Reason
from builders.cli.main import main
from builders.demo.service import ACCOUNTS
from builders.kit.process.settings import Settings
from tests.published import published

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("changelog.d/*.md")),
]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# Of the scripts, not of the service: docs/how-to/run.md says what they are.
OF_SCRIPTS = {"BUILDERS_VENV", "BUILDERS_PYTHON", "BUILDERS_SKIP_LINT", "BUILDERS_TEST_DATABASE_URL"}
OF_TESTS = {
    *("BUILDERS_DEPLOYED_URL", "BUILDERS_DEPLOYED_COMMAND", "BUILDERS_DEPLOYED_RECEIVER"),
    *("BUILDERS_TEST_CITUS_URL", "BUILDERS_TEST_CITUS_NODE"),
}
OF_CLIENTS = {"BUILDERS_API_KEY", "BUILDERS_API_URL"}

FOLDERS = (
    *("src", "clients", "tests", "docs", "script", "bench", "soak", "lint", "examples", "deploy"),
    *(".ci", ".github", "changelog.d"),
)
# Files that a page tells its reader to make.
TO_MAKE = {
    "resources/mailboxes.py",
    "tests/projects/test_count.py",
    "src/builders/portfolio/registrars/adapters/harbour.py",
    "tests/portfolio/registrars/conformance/test_harbour.py",
    "tests/portfolio/registrars/recorded/harbour.toml",
    "tests/registrars/apis/harbour.py",
}

_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_COMMAND = re.compile(r"(?:^ *|`|script/|bin/)builders ((?:[a-z][a-z-]*\b ?)+)", re.MULTILINE)
_SETTING = re.compile(r"\bBUILDERS_[A-Z_]+[A-Z]\b")
_REQUEST = re.compile(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE)\s+(/(?:v1|public)/[\w./{}$…-]*)")
_API_PATH = re.compile(r"\$API/(?!\.\.|\S*\$\d)([\w./{}$…-]+)")  # no argument of a function of the shell
_DECISION = re.compile(r"[Dd]ecisions? (\d{4})")

# A file of the project as prose and docstrings name it: with its folder, or from the root of a package.
_FILE = re.compile(r"(?<![\w/.:<{~$*-])((?:\.?[\w-]+/)+[\w-]+\.(?:py|toml|sql|md|yml|html))\b")
_SCRIPT = re.compile(r"(?<![\w/.:-])((?:script|\.ci|bench|lint)/[a-z_]+(?:\.py)?)\b(?!/)")


def texts() -> Mapping[str, str]:
    """Return the text of each page, by its path."""
    return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}


def wrong(find: Callable[[str], Collection[object]]) -> Mapping[str, Collection[object]]:
    """Return what `find` returns for the text of each page, without the pages where it returns nothing."""
    found = {name: find(text) for name, text in texts().items()}
    return {name: each for name, each in found.items() if each}


def anchors(page: str) -> set[str]:
    """Return the headings of a page as links name them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(page)}


def broken_links(page: Path) -> Iterator[str]:
    """Yield broken links."""
    for path, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            yield path
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{path}#{anchor}"


def unknown_command(words: list[str]) -> bool:
    """Return whether the words begin no command of the command line."""
    command: click.Command = main
    for word in words:
        if not isinstance(command, click.Group):
            return False  # what follows is an argument or prose
        found = command.get_command(click.Context(command), word)
        if found is None:
            return True
        command = found
    return False


def test_no_link_is_broken() -> None:
    broken = {page: list(broken_links(page)) for page in PAGES}
    assert {str(page): links for page, links in broken.items() if links} == {}


def test_every_command_exists() -> None:
    def unknown(text: str) -> list[str]:
        blocks = "\n".join(re.findall(r"^    .+$|`[^`\n]+`", text, re.MULTILINE))
        return [words for words in _COMMAND.findall(blocks) if unknown_command(words.split())]

    assert wrong(unknown) == {}


def test_every_setting_exists() -> None:
    known = {f"BUILDERS_{name.upper()}" for name in Settings.model_fields} | OF_SCRIPTS | OF_TESTS | OF_CLIENTS
    assert wrong(lambda text: set(_SETTING.findall(text)) - known) == {}


def unknown_requests(text: str) -> set[str]:
    """Return the requests of prose and of commands whose operation the document does not have."""
    named = {(method, path) for method, path in _REQUEST.findall(text)}
    for line in text.replace("\\\n", " ").splitlines():
        for path in _API_PATH.findall(line):
            method = re.search(r"-X ([A-Z]+)", line)
            named.add((method[1] if method else "", f"/v1/{path}"))
    return {f"{method} {path}" for method, path in named if not _is_known(method, path)}


def _is_known(method: str, path: str) -> bool:
    """Return whether the document has the path, with the method if one is named; `…` is the rest of a path."""
    path = path.partition("?")[0].rstrip(".,:;")
    if path.endswith("…"):
        return any(each.startswith(path.removesuffix("…")) for each in published().document["paths"])
    methods = [method] if method else ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return any(published().operation(each, path) for each in methods)


def test_every_request_exists() -> None:
    found = wrong(unknown_requests)
    assert {page: each for page, each in found.items() if not page.lower().startswith("changelog")} == {}


def test_a_request_that_does_not_exist_is_found() -> None:
    text = (
        "`GET /v1/webhooks`, `GET\n/v1/api-keys`, GET /v1/me. `PUT /v1/me` GET /v1/catalog/… GET /v1/nowhere/…\n"
        '`GET /domains` show() { curl "$API/portfolio/$1"; }\n'
        'curl "$API/aliases/$ALIAS" -X DELETE \\\n -d x\ncurl -X PUT "$API/me?x=1"\n$API/aliasses'
    )
    assert unknown_requests(text) == {
        "GET /v1/webhooks",
        "PUT /v1/me",
        "GET /v1/nowhere/…",
        " /v1/aliasses",
    }


def test_a_command_of_an_indented_block_has_its_own_line() -> None:
    lines = re.compile(r"^    script/.*$", re.MULTILINE)
    assert wrong(lambda text: [line for line in lines.findall(text) if line.count(" script/") > 1]) == {}


def test_every_account_that_a_page_names_exists() -> None:
    """The demo's, or one that the page makes."""

    def unknown(text: str) -> set[str]:
        made = set(re.findall(r"accounts create --email (\S+)", text))
        return set(re.findall(r"--account[ =](\S+@[\w.-]+)", text)) - made - set(ACCOUNTS)

    assert wrong(unknown) == {}


def dead_paths(text: str, files: Collection[str]) -> list[str]:
    """Return the files and scripts that a text names and that the project does not have."""
    named = {*_FILE.findall(text), *_SCRIPT.findall(text)}
    return sorted(each for each in named if not any(f"/{file}".endswith(f"/{each}") for file in files))


def test_every_file_that_prose_or_a_docstring_names_exists() -> None:
    found = [*ROOT.iterdir(), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*"))]
    files = {str(file.relative_to(ROOT)) for file in found if file.is_file()}
    code = {file: (ROOT / file).read_text(encoding="utf-8") for file in files if re.match(r"src/.*\.py$", file)}
    dead = {name: dead_paths(text, files) for name, text in {**code, **texts()}.items()}
    assert {name: paths for name, paths in dead.items() if set(paths) - TO_MAKE} == {}


def test_a_dead_path_is_found() -> None:
    text = "See `kit/a.py`, kit/gone.py, script/run, script/gone, [b](../b.md) and www.example.com/c.html."
    assert dead_paths(text, {"src/kit/a.py", "script/run"}) == ["kit/gone.py", "script/gone"]


def test_every_code_that_a_plan_can_hold_is_explained() -> None:
    explained = (ROOT / "docs" / "explanation" / "plans-and-promotions.md").read_text(encoding="utf-8")
    names = (ROOT / "docs" / "reference" / "local-parts.md").read_text(encoding="utf-8")
    code = "".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "src" / "builders" / "plans").rglob("*.py")
    )
    codes = set(re.findall(r"code=\"([a-z_]+)\"", code))
    assert codes
    assert sorted(code for code in codes if f"`{code}`" not in explained) == []
    assert sorted(each for each in (*Reason, *Detail) if f"`{each}`" not in names) == []


def test_every_page_of_the_docs_is_in_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / path).resolve() for path, _ in _LINK.findall(index.read_text(encoding="utf-8"))}
    own = ("decisions", "reference/operations", "how-to/alerts")
    listed = {ROOT / "docs" / each for each in own}  # by a page of their own
    pages = {page for page in (ROOT / "docs").rglob("*.md") if page.parent not in listed or page.stem == "index"}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - linked - {index}) == []


def test_each_alert_has_a_page_that_the_index_of_alerts_names() -> None:
    text = (ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8")
    named = re.findall(r"- alert: (\w+)", text)
    folder = ROOT / "docs" / "how-to" / "alerts"
    assert named
    assert re.findall(r"runbook: (\S+)", text) == [f"docs/how-to/alerts/{each}.md" for each in named]
    assert sorted(named) == sorted(each.stem for each in folder.glob("*.md") if each.stem != "index")
    assert re.findall(r"^\| \[(\w+)\]\(\1\.md\)", (folder / "index.md").read_text("utf-8"), re.MULTILINE) == named


def test_every_cited_decision_exists() -> None:
    files = [*PAGES, *(file for folder in ("src", "tests") for file in (ROOT / folder).rglob("*.py"))]
    cited = {number for file in files for number in _DECISION.findall(file.read_text(encoding="utf-8"))}
    written = {page.name[:4] for page in (ROOT / "docs" / "decisions").glob("[0-9]*.md")}
    assert cited
    assert sorted(cited - written) == []


def test_each_decision_has_a_number_of_its_own_and_is_listed() -> None:
    pages = sorted(page.name for page in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    index = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    numbers = [page[:4] for page in pages]  # a gap is a number that is reserved for a page under way
    assert sorted(set(numbers)) == numbers
    assert [page for page in pages if page not in index] == []


def test_every_path_has_its_package_in_the_architecture() -> None:
    document = published().document
    mapped = [path.removesuffix("…").rstrip("/") for path in re.findall(r"`(/[^`]*)`", ARCHITECTURE)]
    assert [path for path in document["paths"] if not any(path.startswith(each) for each in mapped)] == []


def test_every_package_is_in_the_architecture_and_planned_ones_are_marked() -> None:
    package = ROOT / "src" / "builders"
    built = {each.parent.name for each in package.glob("*/__init__.py")}
    built |= {each.stem for each in package.glob("*.py")} - {"__init__", "__main__"}
    rows = ARCHITECTURE[ARCHITECTURE.index("## Packages and layers") : ARCHITECTURE.index("`migrations/`")]
    assert built - set(re.findall(r"`(\w+)`", rows)) == set()
    assert built & set(re.findall(r"\*(\w+)\*", ARCHITECTURE)) == set()


@pytest.mark.parametrize(
    ("words", "unknown"),
    [("serve", False), ("keys create", False), ("keys eat", True), ("migrate the rest", False), ("flee", True)],
)
def test_a_command_that_does_not_exist_is_found(words: str, *, unknown: bool) -> None:
    assert unknown_command(words.split()) is unknown


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Two words\n[a](page.md) [b](#two-words) [c](gone.md) [d](page.md#gone) [e](https://x.example)"
    )
    assert list(broken_links(page)) == ["gone.md", "page.md#gone"]
