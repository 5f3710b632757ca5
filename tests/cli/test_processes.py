"""The service with two HTTP processes, a worker and a trusted proxy."""

import http.client
import json
import signal
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from builders.cli.embedded.server import EmbeddedServer
from tests.cli.embedded.servers import kill, leftovers, lives, postmaster, wait_until
from tests.cli.serving import Serving, builders, data_folder, free_port

QUOTA = 60  # a tenth of the default of an address
PATH = "/v1/catalog/categories"

Probe = tuple[int, str, str | None]  # status, detail and the header Connection of /readyz

READY, STOPPING = (200, "ready", None), (503, "stopping", "close")


class Replacement(NamedTuple):
    """What clients met while the processes were replaced."""

    statuses: Counter[int]
    before: set[Probe]
    during: set[Probe]


@pytest.fixture(scope="module")
def running() -> Iterator[Serving]:
    """Return a service with two HTTP processes and a tenth of the limits."""
    with data_folder() as data, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("BUILDERS_LIMITS", "0.1")
        monkeypatch.setenv("BUILDERS_DRAIN_S", "0.5")
        monkeypatch.setenv("BUILDERS_LOOKUP_LISTEN", f"unix:{data.parent}/lookup")
        monkeypatch.setenv("BUILDERS_FILTER_LISTEN", f"unix:{data.parent}/filter")
        monkeypatch.setenv("BUILDERS_MAIL_LOG", f"{data.parent}/mail.log")
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # of uvicorn, and not used
        with Serving(data, "--workers", "2") as serving:
            monkeypatch.undo()
            serving.wait()
            wait_until(lambda: serving.is_whole(workers=2))
            yield serving


def test_two_processes_share_a_limit_and_trust_only_the_proxy(running: Serving) -> None:
    forged = ({"X-Forwarded-For": f"192.0.2.{n}", "Forwarded": f"for=192.0.2.{n}"} for n in range(2 * QUOTA))

    found = Counter(running.status(PATH, headers=headers) for headers in forged)

    assert found.keys() == {200, 429}
    assert 0.9 * QUOTA <= found[200] <= QUOTA
    lines = [json.loads(line) for line in running.log().splitlines() if '"event":"request"' in line]
    assert {line["client"] for line in lines} == {"127.0.0.1"}


def examine(running: Serving, monkeypatch: pytest.MonkeyPatch) -> subprocess.CompletedProcess[str]:
    """Run doctor with the settings of the service."""
    monkeypatch.setenv("BUILDERS_PORT", str(running.port))
    monkeypatch.setenv("BUILDERS_LOOKUP_LISTEN", f"unix:{running.data.parent}/lookup")
    monkeypatch.setenv("BUILDERS_FILTER_LISTEN", f"unix:{running.data.parent}/filter")
    return builders(running.data, "doctor")


def test_a_dead_process_is_restarted_while_others_respond(
    running: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = running.children("http")
    assert statuses_while_held(running, first) == statuses_while_held(running, second) == [200] * 5

    kill(first)
    statuses = [running.status("/livez") for _ in range(10)]
    assert second in running.children("http")
    assert statuses.count(200) >= 9  # a request of the dead process may be lost
    is_whole_without(running, first)
    assert second in running.children("http")

    (worker,), answering = running.children("worker"), set(running.children("http"))
    kill(worker)
    is_whole_without(running, worker)
    assert set(running.children("http")) == answering

    (reader,) = running.children("mail-log")
    kill(reader)
    wait_until(lambda: running.children("mail-log") not in ([], [reader]))

    database = postmaster(running.data)
    kill(database)
    wait_until(lambda: leftovers(running.data).find_postmaster() not in {None, database.pid})
    running.wait()
    wait_until(lambda: running.is_whole(workers=2))  # with the worker, which ends with the database

    found = examine(running, monkeypatch)
    # The worker has ended several times here: it is named for a minute.
    said = found.stdout.splitlines()
    assert [line for line in said if line.startswith("WRONG") and "processes: worker" not in line] == []
    assert f"ok     look-up listener: It answers at {running.data.parent}/lookup." in said
    assert f"ok     filter listener: It answers at {running.data.parent}/filter." in said
    assert "ok     look-up server: Its role builders_lookup reads what it needs, and no more." in found.stdout
    assert f"ok     port: The service responds at 127.0.0.1 port {running.port}." in found.stdout


def test_the_servers_for_the_mail_server_answer_and_are_restarted(running: Serving) -> None:
    (lookup,) = running.children("lookup")
    assert look_up(running) == b"9:NOTFOUND ,"
    kill(lookup)
    assert look_up(running) == b"9:NOTFOUND ,"  # the connection waits for the next process
    assert lookup not in running.children("lookup")

    (mail_filter,) = running.children("filter")
    assert greet(running).startswith(b"250")
    kill(mail_filter)
    assert greet(running).startswith(b"250")
    assert mail_filter not in running.children("filter")


def test_a_second_service_on_the_same_address_is_refused_with_the_pid_of_the_first(running: Serving) -> None:
    with data_folder() as other:
        taken = builders(other, "serve", "--port", str(running.port))

    assert taken.returncode == 1
    assert f"Address already in use by `builders serve` (pid {running.parent.pid})." in taken.stderr
    assert f"`kill {running.parent.pid}`" in taken.stderr
    assert "Traceback" not in taken.stderr


def test_a_second_service_on_the_same_embedded_database_is_refused(running: Serving) -> None:
    second = builders(running.data, "serve", "--port", str(free_port()))

    assert second.returncode == 1
    assert f"`builders serve` (pid {running.parent.pid}) runs on the embedded database in" in second.stderr
    assert "BUILDERS_DATA_DIR" in second.stderr
    found = builders(running.data, "doctor")
    assert f"ok     port: The service responds at 127.0.0.1 port {running.port}." in found.stdout


@pytest.mark.system
def test_services_with_a_database_url_share_a_data_folder(running: Serving) -> None:
    with (
        EmbeddedServer(running.data) as server,
        Serving(running.data, port=free_port(), BUILDERS_DATABASE_URL=server.conninfo) as second,
    ):
        second.wait()
        assert second.stop() == 0
    running.wait()


@pytest.mark.system
def test_a_killed_service_is_replaced_at_once(running: Serving) -> None:
    del running  # a machine has the processor for one service at a time
    with data_folder() as data:
        place = f"unix:{data.parent}/lookup"
        with Serving(data, BUILDERS_LOOKUP_LISTEN=place) as killed:
            killed.wait()
            killed.look()
            kill(killed.parent)
            # At once, as a service manager would, while the children may still run.
            with Serving(data, port=killed.port, BUILDERS_LOOKUP_LISTEN=place) as successor:
                wait_until(lambda: not any(map(lives, killed.family)))
                successor.wait()
                assert look_up(successor) == b"9:NOTFOUND ,"
                assert successor.stop(signal.SIGINT) == 0
                assert not any(map(lives, successor.family))


@pytest.fixture(scope="module")
def replacement(running: Serving) -> Replacement:
    """Replace the processes under load; wait for all, as the next test may look for each."""
    former, is_over = running.children("http"), threading.Event()
    others = [each for command in ("worker", "lookup", "filter", "mail-log") for each in running.children(command)]
    with ThreadPoolExecutor(4) as clients, ExitStack() as connections:
        kept = [
            connections.enter_context(closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)))
            for _ in range(8)
        ]
        before = {probe(each) for each in kept}
        asked = [clients.submit(ask_until, is_over, running.port) for _ in range(4)]
        running.parent.send_signal(signal.SIGUSR1)
        during = set[Probe]()

        def one_stops() -> bool:
            during.update(map(probe, kept))
            return STOPPING in during

        wait_until(one_stops)
        wait_until(lambda: not any(map(lives, former)))
        is_over.set()
        statuses = Counter(status for each in asked for status in each.result())
    wait_until(lambda: not any(map(lives, others)) and running.is_whole(workers=2))
    return Replacement(statuses=statuses, before=before, during=during)


def test_processes_are_replaced_without_a_failed_request(replacement: Replacement) -> None:
    assert replacement.statuses.keys() == {200}


def test_a_process_that_stops_reports_it_and_closes_each_connection_with_its_response(
    replacement: Replacement,
) -> None:
    assert replacement.before == {READY}
    assert {each for each in replacement.during if "stopping" in each} == {STOPPING}


def test_the_kernel_buffers_little_of_an_unread_response(running: Serving) -> None:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", running.port))
        client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: builders.example\r\n\r\n")
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        wait_until(lambda: send_queue(running.port, client) > 100_000)
        assert send_queue(running.port, client) < 400_000  # of more than 700,000


def ask_until(is_over: threading.Event, port: int) -> list[int]:
    """Send requests over kept connections; return the statuses."""
    statuses = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)  # opens again after Connection: close
    with closing(connection):
        while not is_over.wait(0.01):
            connection.request("GET", "/livez")
            with connection.getresponse() as response:
                statuses.append(response.status)
                response.read()
    return statuses


def probe(connection: http.client.HTTPConnection) -> Probe:
    connection.request("GET", "/readyz")
    with connection.getresponse() as response:
        # Without the processes that were killed several times in these tests, such as the worker.
        detail = json.load(response)["detail"].partition(";")[0]
        return response.status, detail, response.getheader("Connection")


def look_up(running: Serving) -> bytes:
    """Return the reply of the look-up server to a foreign domain."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(running.data.parent / "lookup"))
        client.sendall(b"22:domain foreign.example,")
        return client.recv(100)


def greet(running: Serving) -> bytes:
    """Return the reply of the mail filter to LHLO (RFC 2033)."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(running.data.parent / "filter"))
        with client.makefile("rb") as replies:
            assert replies.readline().startswith(b"220 ")
            client.sendall(b"LHLO mx1.builders.example\r\n")
            return replies.readline()


def send_queue(port: int, client: socket.socket) -> int:
    """Return the bytes that the kernel holds for a client of the service (Linux, proc_net_tcp)."""
    server_end = f":{port:04X} 0100007F:{client.getsockname()[1]:04X} "
    (line,) = [each for each in Path("/proc/net/tcp").read_text().splitlines() if server_end in each]
    return int(line.split()[4].partition(":")[0], 16)


def statuses_while_held(running: Serving, process: psutil.Process) -> list[int]:
    """Return the statuses while one process is stopped; the processes share the port."""
    process.suspend()
    statuses = [running.status("/livez") for _ in range(5)]
    process.resume()
    return statuses


def is_whole_without(running: Serving, dead: psutil.Process) -> None:
    """Wait for all children, one of them new."""
    wait_until(lambda: running.is_whole(workers=2))
    assert dead not in [*running.children("http"), *running.children("worker")]
    running.wait()
