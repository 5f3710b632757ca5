"""Secrets are read from files, whose mode is checked."""

import json
import os
from pathlib import Path

import pytest

from builders.cli.session import CannotStart, read_settings
from builders.kit.process.credentials import FOLDER
from builders.kit.process.secret_keys import generate_secret
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli

SECRET = {
    "database_url": "postgresql://builders:w8Yk3Tq0@db.vendor.com/builders",
    "database_direct_url": "postgresql://builders:w8Yk3Tq0@db.vendor.com/builders",
    "backup_s3_secret": "q7Lm2Vx9Rt4Kp8",
    "secret_keys": f"{generate_secret()},{generate_secret()}",
    "smtp_url": "smtps://mail.vendor.com",
    "dkim_key": "-----BEGIN PRIVATE KEY-----",
    "stripe_key": "sk_live_7",
    "stripe_webhook_secret": "whsec_seven",
    "oidc_issuers": json.dumps(
        [{"issuer": "https://login.vendor.com", "client_id": "builders", "client_secret": "w8Yk3Tq0"}]
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATABASE_URL", *(f"BUILDERS_{each.upper()}" for each in SECRET)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BUILDERS_MAIL_FROM", "mail@vendor.com")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    return tmp_path


def write(folder: Path, name: str, text: str, mode: int = 0o400) -> Path:
    path = folder / name
    path.write_text(f"{text}\n", encoding="utf-8")
    path.chmod(mode)
    return path


def test_each_secret_is_one_that_a_file_can_have() -> None:
    marked = {name for name, each in Settings.model_fields.items() if "Secret" in str(each.annotation)}
    assert marked | {"oidc_issuers"} == {*SECRET}


@pytest.mark.parametrize("name", SECRET)
def test_a_secret_is_read_from_its_file(folder: Path, name: str) -> None:
    write(folder, f"builders_{name}", SECRET[name])
    found = read_settings()
    assert name in found.model_fields_set
    assert SECRET[name] not in repr(found)
    assert getattr(found, name) == getattr(Settings(**{name: SECRET[name]}), name)  # type: ignore[arg-type] # as text


def test_the_environment_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "builders_port", "9001")
    monkeypatch.setenv("BUILDERS_PORT", "9002")
    assert read_settings().port == 9002


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o660])
def test_a_file_for_the_user_and_the_group_is_read(folder: Path, mode: int) -> None:
    write(folder, "builders_stripe_key", "sk_live_7", mode)
    assert read_settings().stripe_key is not None


@pytest.mark.parametrize("mode", [0o444, 0o402, 0o401])
def test_a_file_that_others_may_open_is_refused(folder: Path, command: Cli, mode: int) -> None:
    path = write(folder, "builders_stripe_key", "sk_live_7", mode)
    result = command("serve")
    assert result.exit_code == os.EX_CONFIG
    assert result.stderr == f"Error: Other users may open {path}. Correct its mode: chmod 0400 {path}\n"


def test_a_file_that_is_no_setting_is_refused(folder: Path) -> None:
    write(folder, "builders_stripekey", "sk_live_7")
    with pytest.raises(CannotStart, match="is named after no setting"):
        read_settings()


def test_a_file_of_another_program_is_not_read(folder: Path) -> None:
    write(folder, "postgres_password", "w8Yk3Tq0", 0o444)
    read_settings()


def test_a_folder_that_is_not_there_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(folder / "gone"))
    with pytest.raises(CannotStart, match="gone of CREDENTIALS_DIRECTORY cannot be read: No such file"):
        read_settings()


def test_a_wrong_secret_is_named_without_its_value(folder: Path) -> None:
    write(folder, "builders_oidc_issuers", "[w8Yk3Tq0")
    with pytest.raises(CannotStart) as refused:
        read_settings()
    assert str(refused.value).startswith("BUILDERS_OIDC_ISSUERS: not JSON")
    assert "w8Yk3Tq0" not in str(refused.value)
