"""Files that settings name: what is wrong with one is said at the start, and by doctor."""

import os
from pathlib import Path

import pytest
from pydantic import SecretStr

from builders.cli import setting_files
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli
from tests.cli.serving import builders as builders_process, data_folder

NONE, TEXT, FOLDER = "none", "text", "folder"
SETTINGS = ("BUILDERS_OUTBOUND_CA", "BUILDERS_DKIM_KEY", "BUILDERS_INVOICE_FONT")
SAID = {
    ("BUILDERS_OUTBOUND_CA", TEXT): "{path} has no certificate in PEM.",
    ("BUILDERS_INVOICE_FONT", TEXT): "{path} is no TrueType or OpenType font that can be used.",
    (
        "BUILDERS_DKIM_KEY",
        TEXT,
    ): "BUILDERS_DKIM_KEY must be an RSA key of at least 1024 bits or an Ed25519 key, in PEM.",
    ("BUILDERS_DKIM_KEY", NONE): "The file of BUILDERS_DKIM_KEY cannot be read.",
    ("BUILDERS_DKIM_KEY", FOLDER): "The file of BUILDERS_DKIM_KEY cannot be read.",
}
UNREADABLE = "cannot be read: "


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / TEXT).write_text("no such file", encoding="utf-8")
    (tmp_path / FOLDER).mkdir()
    return tmp_path


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", [NONE, TEXT, FOLDER])
def test_a_wrong_file_ends_the_worker_with_one_sentence(
    command: Cli, files: Path, monkeypatch: pytest.MonkeyPatch, setting: str, name: str
) -> None:
    monkeypatch.setenv("BUILDERS_DKIM_SELECTOR", "s1")
    monkeypatch.setenv(setting, str(files / name))
    result = command("worker")
    assert result.exit_code == os.EX_CONFIG
    first, *action = result.stderr.splitlines()
    assert first.count(setting) == 1
    assert SAID.get((setting, name), UNREADABLE).format(path=files / name) in first
    assert action == ["Correct the file, or unset the setting."]


def test_a_wrong_file_ends_the_service(unused_database: str) -> None:
    with data_folder() as data:
        given = {"BUILDERS_DATABASE_URL": unused_database, "BUILDERS_OUTBOUND_CA": str(data.parent / NONE)}
        ended = builders_process(data, "serve", "--http-only", "--port", "0", **given)
    assert ended.returncode == os.EX_CONFIG
    assert "Traceback" not in ended.stderr
    said = [line for line in ended.stderr.splitlines() if "cannot start" in line]
    assert len(said) == 1, ended.stderr
    assert f"BUILDERS_OUTBOUND_CA: {data.parent / NONE} cannot be read: No such file or directory." in said[0]


def test_doctor_checks_the_files(files: Path) -> None:
    settings = Settings(outbound_ca=files / TEXT, dkim_key=SecretStr(str(files / NONE)), dkim_selector="s1")
    found = [*setting_files.run_checks(settings)]
    assert [(each.check, each.ok) for each in found] == [
        *(("BUILDERS_OUTBOUND_CA", False), ("BUILDERS_DKIM_KEY", False)),
    ]
