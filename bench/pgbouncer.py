"""Debian's PgBouncer in front of the server of the tests."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from builders.cli.embedded.system_user import choose_user

UNPACKED = os.environ.get("BUILDERS_PGBOUNCER")
START_S = 10.0
MAX_CLIENTS = 500


@contextmanager
def pgbouncer(folder: Path, conninfo: str, *, mode: str, sessions: int = 5, ignored: str = "") -> Iterator[str]:
    """Run PgBouncer with a number of sessions in front of a database; yield its conninfo."""
    unpacked = UNPACKED or ""  # an installed one
    parts = conninfo_to_dict(conninfo)
    with psycopg.connect(conninfo) as conn:
        place: dict[str, str | int | None] = {
            "host": conn.info.host,
            "port": conn.info.port,
            "dbname": conn.info.dbname,
            "user": conn.info.user,
        }
        password = conn.info.password or parts.get("password") or None  # it refuses an empty one
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    target = make_conninfo("", **place, password=password)
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\nbehind = {target}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = {sessions}\n"
        f"max_client_conn = {MAX_CLIENTS}\nignore_startup_parameters = {ignored}\n"
    )
    user = choose_user()
    with (folder / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(
            [f"{unpacked}/usr/sbin/pgbouncer", str(config)],
            env={"LD_LIBRARY_PATH": f"{unpacked}/usr/lib/x86_64-linux-gnu"},
            stdout=log,
            stderr=log,
            user=user.uid if user.must_switch else None,
            group=user.gid if user.must_switch else None,
        )
    through = f"host=127.0.0.1 port={port} user=behind dbname=behind"
    try:
        _wait_until_ready(through)
        yield through
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(conninfo: str) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(conninfo).close()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
