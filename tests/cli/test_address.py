"""What a start records: the settings that differ from those of the start before, and none of their values."""

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from builders.cli import address
from builders.cli.address import LastStart
from builders.kit.process.settings import Settings

SECRET = "postgresql://builders:correct-horse@db.example/builders"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, database_url=SecretStr(SECRET))


def start(settings: Settings) -> LastStart:
    """Start and end a process; the one that is recorded before has ended."""
    file = settings.data_dir / address.SERVED
    with address.kept(settings, parts_path=""):
        found = address.load_last_start(settings)
        text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f'"pid": {os.getpid()}', '"pid": 0'), encoding="utf-8")
    return found


def test_the_first_start_has_changed_nothing(settings: Settings) -> None:
    assert start(settings).changed == ()


def test_a_start_names_the_settings_that_differ(settings: Settings) -> None:
    start(settings)
    other = settings.model_copy(update={"pool_size": 20, "database_url": SecretStr(f"{SECRET}2")})
    assert start(other).changed == ["database_url", "pool_size"]


def test_the_present_value_is_shown_without_secrets(settings: Settings) -> None:
    start(settings)
    changes = {"pool_size": 20, "database_url": SecretStr(f"{SECRET}2"), "mail_from": "Ada <ada@example.net>"}
    present = start(settings.model_copy(update=changes)).present
    assert present["pool_size"] == "20"
    assert not [text for text in present.values() if "correct-horse" in text or "@" in text]
    assert present.keys() == changes.keys()


def test_a_value_that_differs_from_that_of_the_start_is_not_shown(settings: Settings) -> None:
    start(settings)
    start(settings.model_copy(update={"pool_size": 20}))
    found = address.load_last_start(settings)
    assert (found.changed, found.present) == (["pool_size"], {})


def test_the_last_change_is_kept_by_later_starts(settings: Settings) -> None:
    start(settings)
    changed = start(settings.model_copy(update={"pool_size": 20}))
    later = start(settings.model_copy(update={"pool_size": 20}))
    assert (later.changed, later.changed_at) == (changed.changed, changed.changed_at)


def test_no_value_of_a_setting_is_stored(settings: Settings) -> None:
    start(settings)
    text = (settings.data_dir / address.SERVED).read_text(encoding="utf-8")
    assert "correct-horse" not in text
    assert "db.example" not in text


def test_a_folder_without_a_start_has_none(settings: Settings) -> None:
    assert address.load_last_start(settings) == LastStart()
