"""What a process has done last: its requests and jobs, which `builders top` reads over a Unix socket.

A process keeps the last MAX_ENDED of them for a minute, so that its accounts are counted exactly and in bounded
memory. Accounts are no labels of metrics: only a user who may read the data folder can ask for them.
"""

import json
import math
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from builders.kit.process import log, metrics

FOLDER = "top"  # in the data folder
MAX_ENDED = 10_000
MOST = 100  # accounts, and operations, that a process tells of
WINDOW_S = 60.0
ANSWER_S = 2.0  # for a client to read, and for a process to answer
GROWTH = math.log(1.1)  # of a class of times: a quantile is exact to five percent
PART = 500  # of the ended ones that are counted at once: requests go on in between

Result = Literal["answered", "refused", "failed"]


class Ended(NamedTuple):
    """A request or a job that has ended."""

    at: float  # monotonic time
    kind: str
    name: str
    result: str
    seconds: float  # that it took
    waited_s: float  # of them, for others or for news
    account_id: object  # a UUID, or its text; None for work of no account


@dataclass(slots=True, kw_only=True)
class Work:
    """The requests or jobs of one name or account."""

    kind: str = ""
    number: int = 0
    refused: int = 0
    failed: int = 0
    busy_s: float = 0.0  # without waits
    classes: dict[int, int] = field(default_factory=dict)  # numbers by class of times, each ten percent longer

    def add(self, each: Ended) -> None:
        """Add one that has ended."""
        self.kind, self.number = each.kind, self.number + 1
        self.busy_s += max(0.0, each.seconds - each.waited_s)
        self.refused += each.result == "refused"
        self.failed += each.result == "failed"


_ended: deque[Ended] = deque(maxlen=MAX_ENDED)
_log = log.get_logger()


def note_request(
    name: str, result: Result, *, seconds: float, waits_ms: Mapping[str, float], account_id: object
) -> None:
    """Note a request that has ended. It takes half a microsecond."""
    waited_s = sum(waits_ms.values()) / 1000 if waits_ms else 0.0
    _ended.append(Ended(time.monotonic(), "request", name, result, seconds, waited_s, account_id))


@contextmanager
def job(name: str, *, account_id: object) -> Iterator[None]:
    """Note the block as a job, which has failed if the block raises."""
    began, result = time.monotonic(), "failed"
    try:
        yield
        result = "answered"
    finally:
        now = time.monotonic()
        _ended.append(Ended(now, "job", name, result, now - began, 0.0, account_id))


def summarize() -> Mapping[str, Any]:
    """Return what has ended within the last minute, by operation or task and by account, the busiest first."""
    ended, now = list(_ended), time.monotonic()
    names, accounts = dict[str, Work](), dict[str, Work]()
    for at, each in enumerate(ended):
        if at % PART == 0:
            time.sleep(0)
        if each.at < now - WINDOW_S:
            continue
        work = names.setdefault(each.name, Work())
        work.add(each)
        number = math.ceil(math.log(max(each.seconds, 1e-6)) / GROWTH)
        work.classes[number] = work.classes.get(number, 0) + 1
        if each.account_id is not None:
            accounts.setdefault(str(each.account_id), Work()).add(each)
    is_full = len(ended) == MAX_ENDED
    return {
        "pid": os.getpid(),
        "window_s": min(WINDOW_S, now - ended[0].at) if is_full else WINDOW_S,
        "names": _busiest(names),
        "accounts": _busiest(accounts),
        "samples": list_samples(),
    }


def list_samples() -> list[tuple[str, Mapping[str, str], float]]:
    """Return the name, labels and value of what this process counts, without its requests by operation."""
    return [
        (sample.name, sample.labels, sample.value)
        for metric in metrics.REGISTRY.collect()
        if metric.name != "builders_http_request_seconds"
        for sample in metric.samples
        if not sample.name.endswith("_created")
    ]


def _busiest(works: Mapping[str, Work]) -> Mapping[str, Any]:
    """Return those with the most time, and those with the greatest number."""
    by_time = sorted(works, key=lambda name: works[name].busy_s, reverse=True)
    by_number = sorted(works, key=lambda name: works[name].number, reverse=True)
    return {name: asdict(works[name]) for name in (*by_time[:MOST], *by_number[:MOST])}


@contextmanager
def shown(data_dir: Path, process: str) -> Iterator[None]:
    """Answer `builders top` while the context is open, in a thread: also while the event loop does not turn.

    A folder that cannot be written is logged; the process runs without.
    """
    path = data_dir / FOLDER / f"{socket.gethostname()}.{process}.{os.getpid()}"
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a killed process with the same id
        with _short(path) as address:
            listener.bind(address)
        path.chmod(0o600)
        listener.listen()
    except OSError as error:
        listener.close()
        _log.warning("top_unavailable", error=str(error))
        yield
        return
    thread = threading.Thread(target=_answer, args=(listener,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        listener.shutdown(socket.SHUT_RDWR)  # ends `accept`
        thread.join(ANSWER_S)
        listener.close()


def _answer(listener: socket.socket) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:  # the process ends
            return
        with client, suppress(OSError):  # the client went
            client.settimeout(ANSWER_S)
            client.sendall(json.dumps(summarize()).encode())


def read(data_dir: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return what the processes of this machine answer, by their names; none if none runs."""
    found = {}
    for path in sorted((data_dir / FOLDER).glob(f"{socket.gethostname()}.*")):
        with suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as asked, _short(path) as address:
            asked.settimeout(ANSWER_S)
            asked.connect(address)
            with asked.makefile("rb") as answer:
                found[path.name.removeprefix(f"{socket.gethostname()}.")] = json.loads(answer.read())
    return found


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield a name of a socket: that of a deep folder is longer than the 107 bytes of an address."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
