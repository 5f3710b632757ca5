"""Metrics for Prometheus: each process counts, and the parent of the processes serves their sums on one port.

Prometheus' library shares values by files of a folder when the environment names it at import. The labels of a
metric are a closed set: no path, id, address or domain is one.
"""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from builders.kit.process.version import REVISION, VERSION

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
REGISTRY = CollectorRegistry()  # of what this process counts
ENDED = 0  # in place of the id of a process: all that have ended
# Memory, not a disk: a process ends when it writes to a file of shared values and the disk is full.
MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it has a random name

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A metric as the reference describes it."""

    name: str
    kind: str
    labels: Sequence[str]
    description: str


DECLARED: list[Declared] = []


def _declaring(make: Callable[..., T], kind: str, **options: Any) -> Callable[..., T]:
    def declare(name: str, description: str, labels: Sequence[str] = (), **more: Any) -> T:
        shown = f"{name}_total" if kind == "counter" else name
        DECLARED.append(Declared(name=shown, kind=kind, labels=labels, description=description))
        return make(name, description, labels, **options, **more)

    return declare


_PREFIX = "builders-metrics-"

# The kinds of metrics. A gauge ends with its process: of what each process has, or of what one of them measures.
counter = _declaring(Counter, "counter", registry=REGISTRY)
histogram = _declaring(Histogram, "histogram", registry=REGISTRY)
total = _declaring(Gauge, "gauge", registry=REGISTRY, multiprocess_mode="livesum")
latest = _declaring(Gauge, "gauge", registry=REGISTRY, multiprocess_mode="livemostrecent")


def read(name: str, description: str, labels: Sequence[str] = ()) -> Callable[[], GaugeMetricFamily]:
    """Declare a gauge that a collector reads when Prometheus asks; return what makes it."""
    DECLARED.append(Declared(name=name, kind="gauge", labels=labels, description=description))
    return lambda: GaugeMetricFamily(name, description, labels=labels)


BUILD = read("builders_build", "Versions, as labels; 1.", ["version", "specification"])
DISK = read("builders_disk_bytes", "Size of the disk of the data folder.")
DISK_FREE = read("builders_disk_free_bytes", "Free space of the disk of the data folder.")


class Processes(Collector):
    """Sums what the processes of a folder have counted, also those that have ended."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._files = MultiProcessCollector(CollectorRegistry(), str(folder))

    def describe(self) -> Iterator[Metric]:
        """Return no metrics, so that a registration reads no files."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the sums."""
        with self._lock:
            self._forget_ended()
            found = list(self._files.collect())
        yield from found

    def _forget_ended(self) -> None:
        for file in self._folder.glob("*.db"):
            kind, _, pid = file.stem.rpartition("_")
            if int(pid) != ENDED and not psutil.pid_exists(int(pid)):
                mark_process_dead(int(pid), str(self._folder))  # deletes gauges of processes that live
                if file.exists():
                    _add(file, self._folder / f"{kind}_{ENDED}.db")


def _add(file: Path, to: Path) -> None:
    """Add the values of a file to another one, and delete it."""
    sums = MmapedDict(str(to))
    # Without a byte: its process was killed when it had created it.
    values = MmapedDict.read_all_values_from_file(str(file)) if file.stat().st_size else ()
    for key, value, timestamp, _ in values:
        sums.write_value(key, sums.read_value(key)[0] + value, timestamp)
    sums.close()
    file.unlink()


class Machine(Collector):
    """What the parent knows: its version, and the space of the disk of the data."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    def collect(self) -> Iterator[Metric]:
        """Yield the build, and the bytes of the disk."""
        found = [(BUILD(), [VERSION, REVISION], 1)]
        with suppress(OSError):
            disk = shutil.disk_usage(self._data_dir)
            found += [(DISK(), [], disk.total), (DISK_FREE(), [], disk.free)]
        for family, labels, value in found:
            family.add_metric(labels, value)
            yield family


@contextmanager
def shared() -> Iterator[Mapping[str, str]]:
    """Yield the environment in which child processes count in a common folder, which is deleted at the end."""
    place = MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())
    for left in place.glob(f"{_PREFIX}*-*"):  # by parents that were killed
        pid = left.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(FileNotFoundError):  # another parent starts too
            if pid.isdigit() and left.stat().st_uid == os.geteuid() and not psutil.pid_exists(int(pid)):
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", dir=place) as folder:
        yield {FOLDER: folder}


@contextmanager
def served(host: str, port: int, collectors: Sequence[Collector], *, folder: str | None) -> Iterator[None]:
    """Serve metrics of a common folder, else of this process, while the context is open. Raise OSError."""
    registry = CollectorRegistry() if folder else REGISTRY
    with ExitStack() as stack:
        for each in (*([Processes(Path(folder))] if folder else []), *collectors):
            registry.register(each)
            stack.callback(registry.unregister, each)
        server, thread = start_http_server(port, host, registry)
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        yield
