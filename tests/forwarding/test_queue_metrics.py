from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from builders.forwarding.queue_metrics import QueueCollector
from builders.kit.values import clock


def read(folder: Path, *lines: str, status: int = 0) -> str:
    """Return the metrics with a `postqueue` that prints these lines."""
    program = folder / "postqueue"
    program.write_text("\n".join(("#!/bin/sh", *(f"echo '{each}'" for each in lines), f"exit {status}\n")))
    program.chmod(0o755)
    registry = CollectorRegistry()
    registry.register(QueueCollector(str(folder)))
    return generate_latest(registry).decode()


def test_the_queue_is_counted_with_its_oldest_message(tmp_path: Path) -> None:
    now = int(clock.now().timestamp())
    found = read(
        tmp_path,
        f'{{"queue_name": "deferred", "arrival_time": {now - 90}}}',
        f'{{"queue_name": "deferred", "arrival_time": {now - 3600}}}',
    )
    assert 'builders_mail_queue_messages{queue="deferred"} 2.0' in found
    assert 'builders_mail_queue_messages{queue="active"} 0.0' in found
    assert float(found.split("builders_mail_queue_oldest_seconds ")[-1]) == pytest.approx(3600, abs=60)


def test_an_empty_queue_has_no_old_message(tmp_path: Path) -> None:
    assert "builders_mail_queue_oldest_seconds 0.0" in read(tmp_path)


@pytest.mark.parametrize("line", ["not JSON", '{"queue_name": "active"}'])
def test_a_queue_that_cannot_be_read_has_no_metrics(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, line) == ""
    assert read(tmp_path, status=1) == ""
