"""The file in which a parent says what is wrong with its processes."""

import os

import pytest

from builders.kit.process import parts
from builders.kit.process.parts import PARTS_FILE, PartsFile, Trouble


def test_a_reader_gets_the_last_content_whichever_was_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    file = PartsFile()
    monkeypatch.setenv(PARTS_FILE, str(file.descriptor))
    long, short = {"http-1": None, "worker": Trouble.ENDS}, {"worker": None}

    found = []
    for each in ({}, long, short, long):
        file.write(each)
        found.append((parts.load_own(), parts.load(file.path)))
    os.close(file.descriptor)

    assert found == [({}, {}), (long, long), (short, short), (long, long)]


def test_a_missing_or_empty_file_has_no_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    file = PartsFile()
    path = file.path
    assert parts.load(path) == {}
    os.close(file.descriptor)

    monkeypatch.delenv(PARTS_FILE, raising=False)
    assert [parts.load_own(), parts.load(path), parts.load("")] == [{}, {}, {}]
