"""Secret keys that are not those of the database: what starts, and what `doctor` says."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from builders.cli import session
from builders.kit.db import known_keys
from builders.kit.process.secret_keys import FILE, generate_secret
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli

REFUSED = "The secret keys are not those that sealed the data in this database."
Start = Callable[..., None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a data folder."""
    return tmp_path / "data"


@pytest.fixture
def start(conninfo: str, folder: Path) -> Iterator[Start]:
    """Return what a start does with keys; without keys, with the file in the folder."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(known_keys.FORGET)

    def run(*keys: str) -> None:
        session.require_keys(Settings(data_dir=folder, database_url=conninfo, secret_keys=",".join(keys)))

    yield run
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(known_keys.FORGET)


@pytest.fixture
def keys() -> SimpleNamespace:
    return SimpleNamespace(old=generate_secret(), new=generate_secret())


def test_a_first_start_makes_keys_that_the_next_one_finds(start: Start, folder: Path) -> None:
    start()
    made = (folder / FILE).read_text()
    start()
    assert (folder / FILE).read_text() == made


def test_a_start_without_the_file_is_refused_and_makes_none(start: Start, folder: Path) -> None:
    start()
    (folder / FILE).unlink()
    with pytest.raises(session.CannotStart, match=REFUSED):
        start()
    assert not (folder / FILE).exists()


def test_a_start_with_other_keys_is_refused(start: Start, keys: SimpleNamespace) -> None:
    start(keys.old)
    with pytest.raises(session.CannotStart, match=REFUSED):
        start(keys.new)


def test_keys_are_rotated_over_several_machines(start: Start, keys: SimpleNamespace) -> None:
    for each in (
        (keys.old,),
        (keys.old, keys.new),
        (keys.new, keys.old),
        (keys.old, keys.new),
        (keys.new, keys.old),
    ):
        start(*each)
    start(keys.new)


def test_a_machine_without_the_new_key_is_refused(start: Start, keys: SimpleNamespace) -> None:
    start(keys.old)
    start(keys.new, keys.old)
    with pytest.raises(session.CannotStart, match=REFUSED):
        start(keys.old)


def test_the_doctor_names_other_keys_and_makes_none(builders: Cli, start: Start, folder: Path) -> None:
    start(generate_secret())
    found = builders("doctor")
    assert f"WRONG  secret keys: {REFUSED}" in found.stdout
    assert not (folder / FILE).exists()


def test_the_doctor_accepts_the_keys_of_the_last_start(builders: Cli, start: Start) -> None:
    start()
    assert "ok     secret keys: " in builders("doctor").stdout


def test_lost_keys_are_replaced(builders: Cli, start: Start, keys: SimpleNamespace) -> None:
    start(keys.old)
    assert builders("secrets", "replace-lost").exit_code == 0
    start()
