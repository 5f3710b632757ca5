"""The development outbox: without a mail server, messages are files."""

import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.records import Status
from builders.mail.transports import FolderTransport
from tests.mail.conftest import FindMessage, Send
from tests.mail.make import LINK, RENEWALS, SIGN_IN
from tests.mail.test_smtp import message


@pytest.fixture
def own_settings(settings: Settings, service: object, tmp_path: Path) -> Settings:
    """Return settings with a separate data folder that holds the service's secrets."""
    del service
    secrets = tmp_path / "secret_keys"
    secrets.write_bytes((settings.data_dir / "secret_keys").read_bytes())
    return settings.model_copy(update={"data_dir": tmp_path})


async def test_the_files_sort_by_time(
    send: Send, find_message: FindMessage, database: Database, own_settings: Settings
) -> None:
    first = await send(SIGN_IN)
    await send(RENEWALS)
    await queue.run_pending(database, own_settings)

    files = mail.list_outbox(own_settings.data_dir)
    assert [each.suffix for each in files] == [".eml", ".eml"]
    assert [each.stem.split("-")[2] for each in files] == ["sign_in", "renewal_notice"]
    assert LINK.encode() in files[0].read_bytes()
    assert first.hex in files[0].name
    assert (await find_message(first)).status is Status.SENT


async def test_only_the_owner_can_read_the_files(send: Send, database: Database, own_settings: Settings) -> None:
    await send()
    await queue.run_pending(database, own_settings)

    (file,) = mail.list_outbox(own_settings.data_dir)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_a_repeated_attempt_overwrites_its_file(tmp_path: Path) -> None:
    transport, repeated = FolderTransport(tmp_path), message()
    for _ in range(2):
        await transport.send(repeated)
    clock.move(timedelta(seconds=1))
    await transport.send(message())
    assert len(transport.list_files()) == 2


async def test_a_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    transport = FolderTransport(tmp_path)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        await transport.send(message())
    assert list(transport.path.iterdir()) == []


def test_a_missing_folder_has_no_messages(tmp_path: Path) -> None:
    assert mail.list_outbox(tmp_path) == []


async def test_old_files_are_deleted(tmp_path: Path) -> None:
    folder = FolderTransport(tmp_path)
    await folder.prune(0)  # there is no folder yet
    folder.path.mkdir()
    for name, at in (("old.eml", 999), (".draft", 999), ("new.eml", 1000), ("kept.txt", 1)):
        (folder.path / name).write_text("Subject: x")
        os.utime(folder.path / name, (at, at))
    await folder.prune(1000)
    assert sorted(each.name for each in folder.path.iterdir()) == ["kept.txt", "new.eml"]
