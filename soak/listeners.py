"""The far ends of `script/soak listen`: processes of `bld listen`, a proxy that refuses, and a receiver."""

import base64
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from standardwebhooks import Webhook

CLIENT = Path(__file__).parents[1] / "clients" / "python"
SECRET = f"whsec_{base64.b64encode(b'soak' * 8).decode()}"
LISTENERS = {"/one": 1, "/four": 4}  # how many events they pass on at once
REFUSED, LOST = 0.02, 0.01  # parts of the requests that the receiver refuses, or accepts without an answer


class Listener:
    """A process of `bld listen` that can be killed and started again."""

    def __init__(
        self, path: str, *, receiver: int, service: int, key: str, folder: Path, concurrency: int
    ) -> None:
        self._log = folder / f"{path[1:]}.log"
        self._words = ["--forward", f"http://127.0.0.1:{receiver}{path}", "--type", "alias.*"]
        self._words += ["--cursor-file", str(folder / f"{path[1:]}.json"), "--concurrency", str(concurrency)]
        self._env = os.environ | {
            "PYTHONPATH": str(CLIENT),
            "XDG_STATE_HOME": str(folder),
            "BUILDERS_API_URL": f"http://127.0.0.1:{service}",
            "BUILDERS_API_KEY": key,
            "BLD_WEBHOOK_SECRET": SECRET,
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process."""
        command = [sys.executable, "-m", "builders_client.cli", "listen", *self._words]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, env=self._env, stdout=log, stderr=log)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self._process is not None
        if (code := self._process.poll()) is not None:
            raise RuntimeError(f"bld ended with {code}: {self._log.read_text()[-2_000:]}")
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process."""
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()


class Proxy:
    """A TCP proxy on a port of its own. While it refuses, nothing listens there."""

    def __init__(self) -> None:
        self.target = 0
        self.port = 0
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self.accept()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refuse()

    def accept(self) -> None:
        """Accept connections."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def refuse(self) -> None:
        """Refuse connections."""
        assert self._listener is not None
        _close(self._listener)
        for each in list(self._open):
            _close(each)

    def _serve(self, listener: socket.socket) -> None:
        with suppress(OSError):  # it was closed
            while True:
                near, _ = listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    near.close()
                    continue
                self._open |= {near, far}
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for each in (source, sink):
            _close(each)
            self._open.discard(each)


def _close(end: socket.socket) -> None:
    with suppress(OSError):  # it is not connected
        end.shutdown(socket.SHUT_RDWR)
    end.close()


class Receiver:
    """A receiver that verifies each request; it refuses some, and loses the answers to others."""

    def __init__(self, source: random.Random) -> None:
        self.secrets = dict.fromkeys(LISTENERS, SECRET)
        self.accepted: dict[str, list[str]] = defaultdict(list)
        self.contents: dict[str, set[str]] = defaultdict(set)
        self.errors: list[str] = []
        self._source = source
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status = receiver.receive(self.path, headers, body)
                if status is None:
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        return Handler

    def receive(self, path: str, headers: Mapping[str, str], body: bytes) -> int | None:
        """Return the status of the answer, None for none."""
        try:
            Webhook(self.secrets[path]).verify(body, dict(headers))
        except Exception as error:  # noqa: BLE001 - any is a finding
            self.errors.append(f"{path}: {error!r}")
            return 400
        if self._source.random() < REFUSED:
            return 503
        self.accepted[path].append(headers["webhook-id"])
        self.contents[headers["webhook-id"]].add(json.dumps(json.loads(body), sort_keys=True))
        return None if self._source.random() < LOST else 204

    def counts(self) -> str:
        """Return how many events have arrived."""
        return ", ".join(f"{path} {len(set(self.accepted[path]))}" for path in self.secrets)

    def wait(self, count: int, seconds: float) -> None:
        """Wait until all have arrived."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(len(set(self.accepted[path])) < count for path in self.secrets):
            time.sleep(0.5)

    def summary(self) -> str:
        """Return how many events arrived, and how many of them again."""
        lines = []
        for path, arrived in self.accepted.items():
            most = max(Counter(arrived).values(), default=0)
            again = len(arrived) - len(set(arrived))
            lines.append(f"{path}: {len(set(arrived))} events, {again} repetitions, one at most {most} times")
        return "\n".join(lines)


def check(receiver: Receiver, feed: Sequence[Mapping[str, object]], count: int) -> Sequence[str]:
    """Return what is missing, has another content, or is out of order."""
    errors = [*receiver.errors]
    expected: dict[str, list[str]] = defaultdict(list)
    of = {}
    for event in feed:
        data = event["data"]
        assert isinstance(data, Mapping)
        of[str(event["id"])] = str(data["id"])
        expected[str(data["id"])].append(str(event["id"]))
    if len(of) != count:
        errors.append(f"the feed has {len(of)} of {count} events")
    missing = {path: len(of.keys() - set(receiver.accepted[path])) for path in receiver.secrets}
    errors += [f"{path}: {number} events are missing" for path, number in missing.items() if number]
    errors += [f"{each} came with several contents" for each, found in receiver.contents.items() if len(found) > 1]
    for path in LISTENERS:
        seen: dict[str, list[str]] = defaultdict(list)
        for event_id in dict.fromkeys(receiver.accepted[path]):
            seen[of.get(event_id, "unknown")].append(event_id)
        wrong = [each for each in seen if seen[each] != expected[each]]
        if wrong:
            errors.append(f"{path}: {len(wrong)} resources are out of order")
    return errors
