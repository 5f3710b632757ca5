"""Files that commands write: whole or not at all, whoever writes at the same time."""

from pathlib import Path

import click
import pytest

from builders.cli.files import written


def test_two_who_write_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    output = tmp_path / "map"
    with written(output) as slow:
        slow.write("slow begins\n")
        slow.flush()
        with written(output) as quick:
            quick.write("quick\n")
        assert output.read_text() == "quick\n"
        slow.write("slow ends\n")
        slow.flush()
        assert output.read_text() == "quick\n"
    assert output.read_text() == "slow begins\nslow ends\n"
    assert list(tmp_path.iterdir()) == [output]


def test_a_draft_follows_no_link(tmp_path: Path) -> None:
    output, other = tmp_path / "map", tmp_path / "other"
    other.write_text("kept")
    (tmp_path / ".map.part").symlink_to(other)
    with written(output) as file:
        file.write("map")
    assert (other.read_text(), output.read_text()) == ("kept", "map")


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    output = tmp_path / "map"
    output.write_text("before")
    with pytest.raises(ZeroDivisionError), written(output) as file:
        file.write(str(1 / 0))
    assert output.read_text() == "before"
    assert list(tmp_path.iterdir()) == [output]
    with pytest.raises(click.ClickException), written(tmp_path / "away" / "map"):
        pass
