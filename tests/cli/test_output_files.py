"""Output files are replaced atomically, also by concurrent writers."""

from pathlib import Path

import click
import pytest

from builders.cli.commands import open_output


def test_concurrent_writers_leave_a_complete_file(tmp_path: Path) -> None:
    output = tmp_path / "map"
    with open_output(output) as slow:
        slow.write("slow begins\n")
        slow.flush()
        with open_output(output) as quick:
            quick.write("quick\n")
        assert output.read_text() == "quick\n"
        slow.write("slow ends\n")
        slow.flush()
        assert output.read_text() == "quick\n"
    assert output.read_text() == "slow begins\nslow ends\n"
    assert list(tmp_path.iterdir()) == [output]


def test_a_draft_follows_no_symbolic_link(tmp_path: Path) -> None:
    output, other = tmp_path / "map", tmp_path / "other"
    other.write_text("kept")
    (tmp_path / ".map.part").symlink_to(other)
    with open_output(output) as file:
        file.write("map")
    assert (other.read_text(), output.read_text()) == ("kept", "map")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    output = tmp_path / "map"
    output.write_text("before")
    with pytest.raises(ZeroDivisionError), open_output(output) as file:
        file.write(str(1 / 0))
    assert output.read_text() == "before"
    assert list(tmp_path.iterdir()) == [output]
    with pytest.raises(click.ClickException), open_output(tmp_path / "away" / "map"):
        pass
