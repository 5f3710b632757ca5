"""A benchmark writes its table into the page about speed."""

from pathlib import Path

import pytest

from bench import figures


def test_the_table_replaces_the_one_before(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text(f"before\n\n{figures.MARK.format('run')}\n\n| old |\n\n{figures.END}\n\nafter\n")

    figures.write_table("run", "| new |", page=page)

    assert page.read_text() == f"before\n\n{figures.MARK.format('run')}\n\n| new |\n\n{figures.END}\n\nafter\n"


def test_a_page_without_the_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text("no table")

    with pytest.raises(ValueError, match="has no place"):
        figures.write_table("run", "| new |", page=page)


@pytest.mark.parametrize("name", ["run", "public-endpoints"])
def test_the_page_has_a_place(name: str) -> None:
    text = figures.PAGE.read_text(encoding="utf-8")

    assert text.count(figures.MARK.format(name)) == 1
