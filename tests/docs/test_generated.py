"""The reference pages say what the code says; `script/docs` writes them anew."""

import json
from dataclasses import replace

import pytest

from builders.identity.scopes import DESCRIPTIONS
from builders.kit import errors
from builders.kit.events import outbox
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.portfolio.registrars.providers import ADAPTERS
from builders.portfolio.team.records import Permission, TeamRole
from builders.portfolio.transfers.records import RuleName
from docs import generate
from tests.registrars.behaviors import Behavior

STALE = "run script/docs"


@pytest.mark.parametrize("name", generate.BLOCKS)
def test_a_page_is_what_the_code_says(name: str) -> None:
    page = generate.read(name)
    assert page == generate.fill(page, generate.BLOCKS[name]()), STALE


def test_the_tables_are_those_of_the_migrated_database(conninfo: str) -> None:
    page = generate.read(generate.SCHEMA)
    assert page == generate.fill(page, generate.tables(conninfo)), STALE


def test_the_published_document_is_the_one_in_the_docs() -> None:
    assert generate.read(generate.DOCUMENT) == generate.openapi(), STALE


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("settings.md", [f"BUILDERS_{name.upper()}" for name in Settings.model_fields]),
        ("scopes.md", list(DESCRIPTIONS)),
        ("team-roles.md", [*Permission, *TeamRole]),
        ("registrars.md", [*ADAPTERS, *Behavior]),
        ("transfer-rules.md", list(RuleName)),
        ("errors.md", [each.code for each in errors.list_problem_types()]),
        ("events.md", [each.name for each in outbox.list_events() if not each.internal]),
        ("jobs.md", [name for name in queue.tasks() if "procrastinate" not in name]),
        ("cli.md", ["builders serve", "builders keys create", "--dry-run"]),
        ("operations.md", ["POST /v1/sandbox/promote", "GET /livez"]),
        ("schema.md", ["aliases_names", "identity_keys", "PRIMARY KEY (realm, domain, key)"]),
    ],
)
def test_a_page_holds_every_word_it_is_about(page: str, words: list[str]) -> None:
    text = generate.read(page)
    assert words
    assert [word for word in words if word not in text] == []


def test_a_table_is_shown_with_its_comments_and_rules(conninfo: str) -> None:
    text = generate.tables(conninfo)
    assert "### kit_outbox\n" in text
    assert "| `status` | smallint | yes |  | null while the first request runs, as the next two |" in text
    assert "- `UNIQUE INDEX (email) WHERE ((sandbox_of IS NULL) AND (erased_at IS NULL))`" in text


def test_an_event_for_ourselves_alone_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = next(each for each in outbox.list_events() if not each.internal)
    hidden = replace(shown, name="thing.hidden", internal=True)
    monkeypatch.setattr(outbox, "list_events", lambda: [shown, hidden])
    text = generate.events()
    assert f"## {shown.name}" in text
    assert hidden.name not in text


def test_a_block_is_written_between_its_marks() -> None:
    page = f"Before\n\n{generate.BEGIN}\n\nold\n\n{generate.END}\n\nAfter\n"
    assert generate.fill(page, "new") == page.replace("old", "new")


@pytest.mark.parametrize("page", ["", generate.BEGIN, generate.END, f"{generate.END}{generate.BEGIN}"])
def test_a_page_without_marks_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="no block"):
        generate.fill(page, "new")


@pytest.mark.parametrize(("cell", "written"), [("x|y", "x\\|y"), ("x\n\n  y", "x y")])
def test_a_bar_or_a_new_line_in_a_cell_is_no_end_of_it(cell: str, written: str) -> None:
    assert generate.table(("A",), [(cell,)]).splitlines()[2:] == [f"| {written} |"]


@pytest.mark.parametrize("path", ["/v1/things", "/v1/events"])
def test_what_is_beyond_the_specification_has_a_line_about_who_needs_it(path: str) -> None:
    described = json.loads(generate.read(generate.DOCUMENT))
    described["paths"][path] = {} if path in described["paths"] else {"get": {"x-beyond": True}}
    with pytest.raises(ValueError, match=f"GET {path}"):
        list(generate.needs(described))
