"""Backups in a bucket of an object store, over HTTP, with transfers that break."""

import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from builders.backup import repositories, seals
from builders.backup.records import Backup, Part
from builders.backup.repositories import Repository
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cli.archives import Machine, running
from tests.cli.embedded.servers import wait_until
from tests.cli.serving import free_port, refusing_port

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif("MOTO" not in os.environ, reason="tests/backup/system/check installs moto"),
]
CHANGES = re.compile(rb"^(DELETE|POST [^ ]*\?delete)", re.MULTILINE)
LARGE = 20 << 20  # bytes, in three parts


class Network:
    """Passes connections on to a server, keeps the requests, and can break off."""

    def __init__(self, port: int) -> None:
        self._to, self._listener = port, socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.sent = bytearray()  # what clients sent
        self.breaks_after: int | None = None  # bytes of the next connection; then once no more
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Refuse connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                limit, self.breaks_after = self.breaks_after, None
                threading.Thread(target=self._serve, args=(client, server, limit), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket, limit: int | None) -> None:
        with client, server:
            back = threading.Thread(target=self._pass, args=(server, client, None), daemon=True)
            back.start()
            self._pass(client, server, limit)
            back.join()

    def _pass(self, source: socket.socket, to: socket.socket, limit: int | None) -> None:
        passed = 0
        with suppress(OSError):
            while part := source.recv(65536):
                passed += len(part)
                if to.getpeername()[1] == self._to:
                    self.sent += part
                if limit is not None and passed > limit:
                    break
                to.sendall(part)
        for each in (source, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def store() -> Iterator[int]:
    """Return the port of an object store with a bucket."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": os.environ["MOTO"]}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:

        def is_made() -> bool:
            try:
                return httpx.put(f"http://127.0.0.1:{port}/vault", timeout=5).status_code == 200
            except httpx.HTTPError:
                return False

        try:
            wait_until(is_made)
            yield port
        finally:
            server.kill()


@pytest.fixture
def network(store: int) -> Iterator[Network]:
    found = Network(store)
    yield found
    found.close()


def environment_of(port: int, prefix: str) -> dict[str, str]:
    return {
        "BUILDERS_BACKUP_TO": f"s3://vault/{prefix}",
        "BUILDERS_BACKUP_S3_ENDPOINT": f"http://127.0.0.1:{port}",
        "BUILDERS_BACKUP_S3_KEY_ID": "adds",
        "BUILDERS_BACKUP_S3_SECRET": "of-these-tests",
    }


def bucket_at(port: int) -> Repository:
    own = {name.removeprefix("BUILDERS_").lower(): each for name, each in environment_of(port, "one").items()}
    found = repositories.opened(Settings(data_dir=Path("unused"), **own))  # type: ignore[arg-type] # it validates
    assert found is not None
    return found


@pytest.fixture
def repository(network: Network) -> Repository:
    found = bucket_at(network.port)
    found.delete([*found.list()])
    return found


def save_large(repository: Repository) -> Part:
    random = io.BytesIO(os.urandom(LARGE))  # it cannot be compressed
    return repository.seal("1-1/a/large", random, public_key=seals.make_key()[1])


def test_a_large_file_is_saved_in_parts_with_checksums(repository: Repository, network: Network) -> None:
    saved = save_large(repository)
    assert {path: file.size for path, file in repository.list().items()} == {"1-1/a/large": saved.size}
    assert network.sent.lower().count(b"x-amz-checksum-sha256:") >= LARGE // repositories.PART_BYTES


def test_a_large_file_is_read_in_parts_of_which_each_has_its_time(
    repository: Repository, network: Network
) -> None:
    saved = save_large(repository)
    with repository.opened("1-1/a/large") as file:
        assert sum(len(part) for part in iter(file.read, b"")) == saved.size
    assert network.sent.lower().count(b"\r\nrange: bytes=") == 3


def test_a_transfer_that_breaks_is_repeated(repository: Repository, network: Network) -> None:
    network.breaks_after = 100_000
    saved = save_large(repository)
    with repository.opened("1-1/a/large") as file:
        assert sum(len(part) for part in iter(file.read, b"")) == saved.size


def test_a_store_that_is_away_is_an_error_in_one_line() -> None:
    with refusing_port() as port, pytest.raises(OSError, match="s3://vault/one: ") as raised:
        bucket_at(port).write("1-1/a/small", b"1")
    assert "\n" not in str(raised.value)


def test_a_changed_object_is_found(repository: Repository) -> None:
    digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"  # of `1`
    made = Backup(
        id="a",
        system_id="1",
        timeline=1,
        log_from="000000010000000000000001",
        made_at=clock.now(),
        postgresql=18,
        release="1.0.0",
        parts={"base": Part(size=1, sha256=digest)},
    )
    repositories.record(repository, made)
    repository.write("1-1/a/base", b"1")
    assert repositories.verify(repository, made) == []
    repository.write("1-1/a/base", b"2")
    assert repositories.verify(repository, made) == ["base was changed: its SHA-256 differs."]


def test_a_database_is_restored_from_a_bucket(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="builders-test-") as folder:
        Path(folder).chmod(0o755)
        for name, value in environment_of(network.port, "two").items():
            monkeypatch.setenv(name, value)
        machine = Machine(Path(folder, "data"), Path(folder), bucket="s3://vault/two")
        machine.read("accounts", "create", "--email", "ada@shop.example")
        private = machine.read("backup", "init")["private_key"]
        with running(machine) as service:
            service.archive()
            with psycopg.connect(service.conninfo, autocommit=True) as conn:
                conn.execute("CREATE TABLE kept AS SELECT 1")
            service.archive()
        assert CHANGES.search(bytes(network.sent)) is None  # the key may only add

        other = Machine(Path(folder, "other"), Path(folder), bucket="s3://vault/two")
        said = json.dumps(other.read("backup", "restore", key=private))

        assert "new_backup" in said
        with running(other) as service, psycopg.connect(service.conninfo) as conn:
            assert conn.execute("SELECT count(*) FROM kept").fetchall() == [(1,)]
