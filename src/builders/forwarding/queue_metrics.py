"""Metrics of the queue of Postfix, read when Prometheus asks."""

import json
import shutil
import subprocess
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.registry import Collector

from builders.kit.process import log, metrics
from builders.kit.values import clock

TIMEOUT_S = 8.0  # below the ten seconds that Prometheus waits
FOLDERS = "/usr/sbin:/usr/bin"
SIZE = metrics.read("builders_mail_queue_messages", "Messages in the queue of Postfix, by queue.", ["queue"])
OLDEST = metrics.read(
    "builders_mail_queue_oldest_seconds", "Age of the oldest message in the queue of Postfix; 0 without one."
)

_log = log.get_logger()


class QueueCollector(Collector):
    """Reads the queue by `postqueue -j`, which every user may run; without Postfix there are no such metrics."""

    def __init__(self, folders: str = FOLDERS) -> None:
        self._folders = folders

    def describe(self) -> Iterator[Metric]:
        """Return no metrics, so that a registration reads no queue."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the size of each part of the queue, and the age of its oldest message."""
        program = shutil.which("postqueue", path=self._folders)
        if program is None:
            return
        size, oldest = SIZE(), OLDEST()
        try:
            counts, since = _read(program)
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            _log.warning("mail_queue_not_read", error=type(error).__name__)
            return
        for queue, count in counts.items():
            size.add_metric([queue], count)
        oldest.add_metric([], 0 if since is None else max(0, clock.now().timestamp() - since))
        yield size
        yield oldest


def _read(program: str) -> tuple[dict[str, int], int | None]:
    """Return the number of messages by queue, and the arrival of the oldest one in seconds since 1970."""
    listed = subprocess.run([program, "-j"], capture_output=True, timeout=TIMEOUT_S, check=True).stdout  # noqa: S603 # the program of the machine
    counts, since = {"active": 0, "deferred": 0}, None
    for line in listed.splitlines():
        message = json.loads(line)
        counts[message["queue_name"]] = counts.get(message["queue_name"], 0) + 1
        since = message["arrival_time"] if since is None else min(since, message["arrival_time"])
    return counts, since
