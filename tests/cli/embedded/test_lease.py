"""The lease of the database folder, and the file systems on which none is kept."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from builders.cli.embedded import lease
from builders.cli.embedded.lease import FILE, Lease
from builders.cli.embedded.server import EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError
from tests.cli.embedded.servers import QUICK, ask, processes, wait_until

TIMING = replace(QUICK, renew_lease_s=0.1)
OTHER = "9f0c1f6e-0000-4000-8000-000000000000"


@contextmanager
def another_host(data: Path) -> Iterator[None]:
    """Let another host use the folder: it renews its lease."""
    holder, left = Lease(data, renew_s=0.02, boot=OTHER), threading.Event()
    data.mkdir(exist_ok=True)

    def hold() -> None:
        while not left.wait(0.02):
            holder._write()

    holder._write()
    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()


def test_a_second_host_is_refused(data: Path) -> None:
    with (
        another_host(data),
        pytest.raises(EmbeddedServerError, match=r"The host \S+ uses the embedded PostgreSQL in"),
    ):
        EmbeddedServer(data, durable=False, timing=TIMING).start()
    assert processes(data) == []


def test_the_lease_of_a_host_that_crashed_is_taken(data: Path) -> None:
    with another_host(data):
        pass
    with EmbeddedServer(data, durable=False, timing=TIMING) as embedded:
        assert ask(embedded.conninfo, "SELECT 1") == 1
        assert not (data / FILE).read_text().startswith(OTHER)


def test_the_lease_is_renewed_and_removed_by_the_last_user(data: Path) -> None:
    with EmbeddedServer(data, durable=False, timing=TIMING):
        first = (data / FILE).read_text()
        wait_until(lambda: (data / FILE).read_text() != first)
        with EmbeddedServer(data, durable=False, timing=TIMING):
            pass
        assert (data / FILE).exists()
    assert not (data / FILE).exists()


def test_a_host_that_lost_the_lease_stops_its_server(data: Path) -> None:
    with EmbeddedServer(data, durable=False, timing=TIMING), another_host(data):
        wait_until(lambda: not processes(data))


def test_no_database_is_kept_on_a_network_file_system(data: Path) -> None:
    mounts = [("/", "ext4"), (str(data.parent), "nfs4"), (str(data / "postgres" / "cluster"), "ext4")]
    with pytest.raises(EmbeddedServerError, match=r"is on a network file system \(nfs4\)"):
        lease.require_local(data / "postgres", mounts)
    lease.require_local(data / "postgres" / "cluster", mounts)
    lease.require_local(Path("/nowhere"), mounts)
