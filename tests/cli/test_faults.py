"""Faults under load, in short: two of soak/faults.py by a seed, with its clients and its check of the history."""

import asyncio
import os
import random
from collections.abc import Iterator

import pytest

from soak import faults
from soak.faults import FAULTS, Fault, Installation
from soak.writers import WRITERS, find_errors
from tests.cli.serving import data_folder

SEED = os.environ.get("FAULTS_SEED", "13")
SECONDS = 1.0
CHOSEN = random.Random(SEED).sample([each for each in FAULTS if not each.needs_root], 2)  # noqa: S311 - no secret


@pytest.fixture(scope="module")
def installation() -> Iterator[tuple[Installation, list[str]]]:
    """Run the service behind a proxy to its database; return keys of accounts too."""
    with data_folder() as folder:
        folder.mkdir(mode=0o711)
        with faults.installed(folder, CHOSEN) as installed:
            yield installed


@pytest.mark.parametrize("fault", CHOSEN, ids=lambda each: each.name)
def test_each_acknowledged_write_is_there_once_and_a_retry_is_answered_soon(
    installation: tuple[Installation, list[str]], fault: Fault
) -> None:
    at, keys = installation
    place = CHOSEN.index(fault) * WRITERS

    history = asyncio.run(faults.run(at, fault, keys[place : place + WRITERS], SECONDS, quiet_s=0.5))

    assert history.answers
    assert find_errors(at.conninfo, history) == []
    assert history.longest_retry_s() <= 2 * faults.ANSWER_S  # other tests use the processor too
