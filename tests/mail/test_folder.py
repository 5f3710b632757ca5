"""The dev outbox: without a mail server, mail is a file."""

import stat
from datetime import timedelta
from pathlib import Path

import pytest

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.mail import folder, service as mail
from builders.mail.records import Status
from tests.mail.conftest import Look, Send
from tests.mail.make import LINK, RENEWALS, SIGN_IN
from tests.mail.test_postman import parcel


@pytest.fixture
def apart(settings: Settings, service: object, tmp_path: Path) -> Settings:
    """Settings with a data folder of the test's own that holds the service's secrets."""
    del service
    secrets = tmp_path / "secret_keys"
    secrets.write_bytes((settings.data_dir / "secret_keys").read_bytes())
    return settings.model_copy(update={"data_dir": tmp_path})


async def test_mail_becomes_files_that_sort_by_time(
    send: Send, look: Look, database: Database, apart: Settings
) -> None:
    first = await send(SIGN_IN)
    await send(RENEWALS)
    await queue.run_pending(database, apart)

    files = mail.list_outbox(apart.data_dir)
    assert [each.suffix for each in files] == [".eml", ".eml"]
    assert [each.stem.split("-")[2] for each in files] == ["sign_in", "renewal_notice"]
    assert LINK.encode() in files[0].read_bytes()
    assert first.hex in files[0].name
    assert (await look(first)).status is Status.SENT


async def test_they_are_the_owners_alone(send: Send, database: Database, apart: Settings) -> None:
    await send()
    await queue.run_pending(database, apart)

    (file,) = mail.list_outbox(apart.data_dir)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_an_attempt_that_is_repeated_writes_over_its_own_file(tmp_path: Path) -> None:
    box, message = folder.Folder(tmp_path), parcel()
    for _ in range(2):
        await box.carry(message)
    clock.move(timedelta(seconds=1))
    await box.carry(parcel())
    assert len(box.list_files()) == 2


async def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    box = folder.Folder(tmp_path)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        await box.carry(parcel())
    assert list(box.path.iterdir()) == []


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert mail.list_outbox(tmp_path) == []
