"""Retired words are refused in the meaning that is retired. Samples are in retired_words.toml."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lint import words
from lint.words import Piece, Rule

SAMPLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("retired_words.toml").read_text(encoding="utf-8"))
RULES = words.read_rules()
KINDS = {"name": "name", "class": "class", "module": "module"}


def piece(example: str) -> Piece:
    """Return an example of a rule as the program reads it."""
    kind, _, rest = example.partition(" ")
    is_name = kind in KINDS and " " not in rest
    return Piece(KINDS[kind], 1, rest) if is_name else Piece("prose", 1, example)


def refused(name: str, text: str) -> list[str]:
    """Return the lines and words that are refused in a file."""
    errors = words.check_text(name, text, RULES)
    return [each.removeprefix(f"{name}:").partition(" is retired")[0] for each in errors]


def test_every_retired_word_has_a_rule() -> None:
    assert {form for rule in RULES for form in rule.forms} >= {*SAMPLES["retired"]}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.word)
def test_a_rule_finds_its_violation_and_passes_the_standard_meaning(rule: Rule) -> None:
    assert words.find(rule, piece(rule.violates)) is not None
    assert words.find(rule, piece(rule.passes)) is None
    assert rule.reason
    assert rule.use


@pytest.mark.parametrize("sample", SAMPLES["python"], ids=lambda sample: sample["text"])
def test_definitions_and_prose_of_a_python_file_are_checked(sample: dict[str, Any]) -> None:
    assert refused("src/builders/things/service.py", sample["text"]) == sample["refused"]


@pytest.mark.parametrize("sample", SAMPLES["module"], ids=lambda sample: sample["path"])
def test_the_name_of_a_module_is_checked(sample: dict[str, Any]) -> None:
    assert refused(sample["path"], "") == sample["refused"]


def test_strings_of_a_store_are_sql() -> None:
    text = SAMPLES["refused"]["sql"]
    assert refused("src/builders/things/store.py", text) == []
    assert refused("src/builders/things/store/news.py", text) == SAMPLES["refused"]["module"]
    assert refused("src/builders/things/service.py", text) != []


@pytest.mark.parametrize("sample", SAMPLES["page"], ids=lambda sample: sample["text"])
def test_the_prose_of_a_page_is_checked(sample: dict[str, Any]) -> None:
    assert refused("docs/how-to/page.md", sample["text"]) == sample["refused"]


@pytest.mark.parametrize("name", ["docs/decisions/0001-a-decision.md", "src/builders/migrations/readme.md"])
def test_decisions_and_migrations_are_not_checked(name: str) -> None:
    assert refused(name, SAMPLES["refused"]["page"]) == []


def test_a_listed_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    listed = tmp_path / "finished.txt"
    listed.write_text("# a comment\nsrc/builders/nothing\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="nothing to examine"):
        words.finished(listed)


def test_a_rule_with_a_misspelt_member_is_refused(tmp_path: Path) -> None:
    rules = tmp_path / "words.toml"
    rules.write_text(
        '[word]\nuse = "a"\nreason = "b"\nform = ["term"]\nviolates = "c"\npasses = "d"\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="unknown form"):
        words.read_rules(rules)
    rules.write_text(
        '[word]\nuse = "a"\nreason = "b"\nwhere = ["text"]\nviolates = "c"\npasses = "d"\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="where is of"):
        words.read_rules(rules)


def test_the_program_prints_its_findings_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(SAMPLES["refused"]["page"], encoding="utf-8")
    assert words.main(["src/builders/probes"]) == 0
    assert words.main([str(page)]) == 1
    assert "is retired, write public interface" in capsys.readouterr().out
