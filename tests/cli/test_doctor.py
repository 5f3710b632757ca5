import errno
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from builders.cli import doctor
from builders.cli.doctor import Finding
from builders.cli.embedded import directory
from builders.cli.embedded.server import EmbeddedServer
from builders.kit.db import migrations
from builders.kit.db.rights import Rights


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data directory with a database, which is not running."""
    folder = Path(tempfile.mkdtemp(prefix="builders-test-"))
    folder.chmod(0o755)
    with EmbeddedServer(folder / "data", durable=False):
        pass
    yield folder / "data"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def running(data: Path) -> Iterator[str]:
    with EmbeddedServer(data, durable=False) as embedded:
        yield embedded.conninfo


def test_the_embedded_database_passes_every_check(data: Path) -> None:
    port = _free_port()

    with EmbeddedServer(data, durable=False) as embedded:
        migrations.migrate(embedded.conninfo)
        findings = doctor.run_checks(data_dir=data, conninfo=None, host="127.0.0.1", port=port)

    assert [finding.check for finding in findings] == [
        *("data directory", "space", "port", "database", "version", "rights", "migrations")
    ]
    assert [finding for finding in findings if not finding.ok or finding.next_action] == []


def test_a_check_creates_no_database(tmp_path: Path) -> None:
    findings = doctor.run_checks(data_dir=tmp_path / "data", conninfo=None, host="127.0.0.1", port=0)

    assert findings[-1] == Finding(
        check="database", ok=True, detail="PostgreSQL 18 is installed; the first start creates the database."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    finding = doctor.check_data_dir(tmp_path / "file" / "data")

    assert not finding.ok
    assert "Not a directory" in finding.detail
    assert "BUILDERS_DATA_DIR" in (finding.next_action or "")


def test_a_nearly_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=511 * 2**20))
    low = doctor.check_disk_space(tmp_path / "data")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=512 * 2**20))
    enough = doctor.check_disk_space(tmp_path / "data")

    assert (low.ok, enough.ok) == (False, True)
    assert low.detail == f"511 MB are free for {tmp_path}."
    assert "512 MB" in (low.next_action or "")


def test_the_disk_of_a_moved_database_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "postgres").symlink_to(tmp_path / "elsewhere")
    full = {tmp_path / "data" / "postgres": usage._replace(free=0)}
    monkeypatch.setattr(shutil, "disk_usage", lambda place: full.get(place, usage))

    assert (
        doctor.check_disk_space(tmp_path / "data").detail == f"0 MB are free for {tmp_path / 'data' / 'postgres'}."
    )


def test_a_disk_that_cannot_be_checked_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(shutil, "disk_usage", refuse)

    assert "Input/output error" in doctor.check_disk_space(tmp_path).detail


def test_a_used_port_and_a_free_one_are_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finding = doctor.check_port("127.0.0.1", port)

    assert not finding.ok
    assert finding.detail == f"Cannot listen at 127.0.0.1 port {port}: Address already in use."
    assert "BUILDERS_PORT" in (finding.next_action or "")
    assert doctor.check_port("127.0.0.1", port).ok


@pytest.mark.parametrize("ours", [True, False])
def test_a_port_used_by_the_service_itself_passes(*, ours: bool) -> None:
    asked: list[tuple[str, int]] = []

    def is_ours(host: str, port: int) -> bool:
        asked.append((host, port))
        return ours

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        finding = doctor.check_port("127.0.0.1", port, is_ours)

    assert asked == [("127.0.0.1", port)]
    assert (finding.ok, finding.next_action is None) == (ours, ours)


def test_a_free_port_gets_no_request() -> None:
    def is_ours(host: str, port: int) -> bool:
        raise AssertionError((host, port))

    assert doctor.check_port("127.0.0.1", 0, is_ours).ok
    assert not doctor.check_port("203.0.113.1", 0, is_ours).ok


@pytest.mark.parametrize("host", ["203.0.113.1", "x" * 64])
def test_an_address_of_another_machine_is_reported(host: str) -> None:
    finding = doctor.check_port(host, 0)

    assert not finding.ok
    assert f"{host} port 0" in finding.detail


def test_an_unreachable_database_is_reported() -> None:
    [finding] = doctor.check_database(f"postgresql://someone:hidden@127.0.0.1:{_free_port()}/builders")

    assert not finding.ok
    assert "Connection refused" in finding.detail
    assert "Start the PostgreSQL server" in (finding.next_action or "")
    assert "hidden" not in repr(finding)


def test_a_server_that_never_responds_is_reported_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        conninfo = f"postgresql://someone@127.0.0.1:{mute.getsockname()[1]}/builders"
        [finding] = doctor.check_server(conninfo, connect_timeout_s=2)  # the minimum of libpq

    assert "timeout" in finding.detail


@pytest.mark.parametrize(
    ("wrong", "action"),
    [
        ({"host": "x" * 64}, "BUILDERS_DATABASE_URL"),
        ({"dbname": "nowhere"}, "createdb"),
        ({"user": "nobody-here", "password": "x"}, "user and the password"),
        ({"passfile": os.devnull}, "Put the password"),
    ],
)
def test_each_refusal_of_the_server_has_its_own_advice(running: str, wrong: dict[str, str], action: str) -> None:
    [finding] = doctor.check_database(make_conninfo(running, **wrong))

    assert not finding.ok
    assert action in (finding.next_action or "")


@pytest.mark.parametrize(
    "conninfo",
    [
        "postgresql://ada:pass@word@db.example/builders",
        "postgresql://ada:pass/word@db.example/builders",
        "host=db.example password=pass word",
    ],
)
def test_a_malformed_address_is_reported_without_its_password(conninfo: str) -> None:
    [finding] = doctor.check_database(conninfo)

    assert "is not a PostgreSQL connection string" in finding.detail
    assert "word" not in finding.detail + (finding.next_action or "").replace("password", "")


def test_an_old_server_is_reported() -> None:
    version = doctor._check_version(14)

    assert not version.ok
    assert version.detail == "PostgreSQL 14 is too old."
    assert "15 to 18" in (version.next_action or "")


def test_a_server_that_is_newer_than_the_tested_ones_is_named() -> None:
    version = doctor._check_version(19)

    assert version.ok
    assert version.detail == "PostgreSQL 19: the service is tested on 15 to 18 only."


def test_a_role_that_may_not_create_tables_is_reported(running: str) -> None:
    with psycopg.connect(running, autocommit=True) as conn:
        conn.execute("CREATE DATABASE empty")  # other tests may have migrated the one of the server
        conn.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        guest = make_conninfo(running, user="guest", password="guest", dbname="empty")
        rights = _find(doctor.check_database(guest), "rights")
        conn.execute("DROP DATABASE empty WITH (FORCE)")
        conn.execute("DROP ROLE guest")

    assert not rights.ok
    assert "GRANT CREATE" in (rights.next_action or "")


NOTHING: dict[str, list[str]] = {each: [] for each in ("http", "worker", "operator", "lookup")}


def test_a_read_only_replica_is_reported() -> None:
    replica = Rights("app", "public", True, True, None, True, lacked=NOTHING)
    assert "primary" in (doctor._check_rights(replica, is_own=True).next_action or "")


def test_the_processes_that_a_role_runs_are_named() -> None:
    lacked = {**NOTHING, "worker": ["SELECT on projects"]}
    found = doctor._check_rights(Rights("app", "public", False, False, "owner", False, lacked=lacked), is_own=True)

    assert found.ok
    assert found.detail == "The role app has the rights of http and operator, and not of the owner."


def test_a_role_that_runs_no_process_fails_with_what_it_lacks_for_the_nearest() -> None:
    lacked = {
        "http": ["INSERT on projects", "SELECT on projects"],
        "worker": ["SELECT on projects"],
        "operator": ["DELETE on projects", "SELECT on projects"],
        "lookup": [],
    }
    found = doctor._check_rights(Rights("app", "public", False, False, "owner", False, lacked=lacked), is_own=True)

    assert not found.ok
    assert found.detail == "The role app lacks rights of `worker`: SELECT on projects."
    assert (
        found.next_action
        == "Run `builders roles` as owner, and as an administrator: GRANT builders_worker TO app."
    )


@pytest.mark.parametrize("is_own", [True, False])
def test_the_owner_is_told_of_roles_except_in_the_embedded_database(*, is_own: bool) -> None:
    found = doctor._check_rights(Rights("app", "public", False, True, "app", True, lacked=NOTHING), is_own=is_own)

    assert found.ok
    assert ("`builders roles`" in (found.next_action or "")) is is_own


def test_many_pending_migrations_are_summarised(running: str) -> None:
    with psycopg.connect(running, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS kit_migrations, kit_releases")
    found = _find(doctor.check_database(running), "migrations")

    names = migrations.list_pending(running)
    assert found.detail == f"{len(names)} pending: {names[0]} to {names[-1]}."
    assert "builders migrate" in (found.next_action or "")


def test_unreadable_migrations_are_reported(running: str) -> None:
    with psycopg.connect(running, autocommit=True) as conn:
        conn.execute("DROP TABLE IF EXISTS kit_migrations")
        conn.execute("CREATE TABLE kit_migrations (other text)")
        found = _find(doctor.check_database(running), "migrations")
        conn.execute("DROP TABLE kit_migrations")

    assert not found.ok
    assert "does not exist" in found.detail


def test_a_failed_start_of_the_embedded_database_is_reported_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postgres").symlink_to(tmp_path / "gone")
    [lost] = doctor.check_embedded_database(tmp_path)
    monkeypatch.setitem(sys.modules, directory.PACKAGE, None)
    [bare] = doctor.check_embedded_database(tmp_path)

    assert not lost.ok
    assert "is missing" in lost.detail
    assert not bare.ok
    assert "is not installed" in bare.detail
    assert "BUILDERS_DATABASE_URL" in (bare.next_action or "")


def _find(findings: list[Finding], check: str) -> Finding:
    [found] = [finding for finding in findings if finding.check == check]
    return found


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
