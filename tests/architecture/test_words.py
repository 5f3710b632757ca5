"""Retired words are found where they are meant; `script/lint` looks for them in the finished parts."""

from pathlib import Path

import pytest

from lint import words
from lint.words import Piece, Rule

RULES = words.read_rules()
KINDS = {"name": "name", "class": "class", "module": "module"}
TABLE = """
    room, house, wing, floor, cellar, door, news, told, tell, letter, carrier, postman, hit, shelf,
    twin, ground, wish, order, means, supplies, doer, work, homes, sites, let go, give up, judge,
    verdict, ruling, standing, troubled, open until, purse, looks, patience, gates, turns,
    allowances, leases, edge, front, whole, staff, usual, beginning, carrying, finishing, revealing,
    asking
"""


def piece(example: str) -> Piece:
    """Return an example of a rule as the program would meet it."""
    kind, _, rest = example.partition(" ")
    is_name = kind in KINDS and " " not in rest
    return Piece(KINDS[kind], 1, rest) if is_name else Piece("prose", 1, example)


def found(name: str, text: str) -> list[str]:
    """Return the lines and words that are refused in a file."""
    said = words.check_text(name, text, RULES)
    return [each.removeprefix(f"{name}:").partition(" is retired")[0] for each in said]


def test_every_row_of_the_table_is_a_rule() -> None:
    forms = {form for rule in RULES for form in rule.forms}
    assert forms >= {" ".join(each.split()) for each in TABLE.split(",")}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.word)
def test_a_rule_finds_its_violation_and_passes_the_standard_meaning(rule: Rule) -> None:
    assert words.find(rule, piece(rule.violates)) is not None
    assert words.find(rule, piece(rule.passes)) is None
    assert rule.reason
    assert rule.use


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""The door."""', ["1: 'door'"]),
        ("x = 1  # a room", ["1: 'room'"]),
        ('"""One.\n\nTwo\ntells of it."""', ["3: 'tells'"]),
        ('raise ValueError("The letter is gone.")', ["1: 'letter'"]),
        ('raise ValueError(f"The {name} is told.")', ["1: 'told'"]),
        ("class NewsRelay: ...", ["1: 'NewsRelay'"]),
        ("def tell_again(): ...", ["1: 'tell_again'"]),
        ("async def run(told): ...", ["1: 'told'"]),
        ("def run():\n    for letter in []: ...", ["2: 'letter'"]),
        ("def run(self):\n    self.purse = 1", ["2: 'purse'"]),
        ("from builders.kit import outbox as news", ["1: 'news'"]),
        ("WISHES = 1", ["1: 'WISHES'"]),
        # What another file defines, stored names, SQL, names in backticks, parts of words.
        ("from builders.kit import news\nnews.subscribe(letter.wishes)", []),
        ('task = "news.tell"', []),
        ('LIST = """\n    SELECT letter, told FROM news WHERE door = 1\n"""', []),
        ('"""A queued `news.tell` job."""', []),
        ("def intelligence(retold, newsletter): ...", []),
        ('"""In order to hold a lock, order by id; the lease and the limit end."""', []),
    ],
)
def test_what_a_python_file_defines_and_says_is_examined(text: str, lines: list[str]) -> None:
    assert found("src/builders/things/service.py", text) == lines


def test_the_name_of_a_module_is_examined() -> None:
    assert found("src/builders/things/carrying.py", "") == ["1: 'carrying'"]
    assert found("src/builders/wing/__init__.py", "") == ["1: 'wing'"]
    assert found("src/builders/things/jobs.py", "") == []


def test_strings_of_a_store_are_sql() -> None:
    text = 'JOINED = "news AS letter JOIN told ON door"'
    assert found("src/builders/things/store.py", text) == []
    assert found("src/builders/things/store/news.py", text) == ["1: 'news'"]  # its own name
    assert found("src/builders/things/service.py", text) != []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("# The door\n\nText.", ["1: 'door'"]),
        ("One.\n\nTwo is\ntold.", ["3: 'told'"]),
        ("See [the twin](page.md).", ["1: 'twin'"]),
        ("See [events](news.md) and `news.tell`.", []),
        ("```python\nnews.tell(letter)\n```\n\nText.", []),
        ("Write:\n\n    curl $API/news\n\nText.", []),
        (
            "<!-- script/docs writes from here, after the code -->\nThe door.\n<!-- to here -->\nA room.",
            ["4: 'room'"],
        ),
        ("Lower-case letters,\ndigits and hyphens.", []),
    ],
)
def test_the_prose_of_a_page_is_examined(text: str, lines: list[str]) -> None:
    assert found("docs/how-to/page.md", text) == lines


@pytest.mark.parametrize("name", ["docs/decisions/0001-door.md", "src/builders/migrations/readme.md"])
def test_what_is_kept_for_good_is_not_examined(name: str) -> None:
    assert found(name, "The door of a room.") == []


def test_a_part_that_is_not_there_is_said(tmp_path: Path) -> None:
    listed = tmp_path / "finished.txt"
    listed.write_text("# a comment\nsrc/builders/nothing\n", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match="nothing to examine"):
        words.finished(listed)


def test_a_rule_with_a_misspelt_member_is_refused(tmp_path: Path) -> None:
    rules = tmp_path / "words.toml"
    rules.write_text(
        '[door]\nuse = "a"\nreason = "b"\nform = ["door"]\nviolates = "c"\npasses = "d"\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="unknown form"):
        words.read_rules(rules)
    rules.write_text(
        '[door]\nuse = "a"\nreason = "b"\nwhere = ["text"]\nviolates = "c"\npasses = "d"\n', encoding="utf-8"
    )
    with pytest.raises(ValueError, match="where is of"):
        words.read_rules(rules)


def test_the_program_says_what_it_finds_and_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main(["src/builders/probes"]) == 0
    assert words.main(["tests/architecture/test_words.py"]) == 1
    assert "is retired, write public interface" in capsys.readouterr().out
