"""Bring up a service of several machines on this one, and run tests/deployed against it.

    script/soak deployment [pytest arguments]

A primary and its standby, of which each commit waits for the second; PgBouncer in transaction mode in front of the
primary; two machines with HTTP, two with a worker; nginx in front of the first two, with the configuration of
docs/how-to/restart-without-failed-requests.md. Debian's programs are unpacked, not installed.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.pgbouncer import pgbouncer
from bench.pooler import set_parameters
from builders.kit.db import migrations
from soak.replicas import free_port, replicated
from soak.restarts import Machine, balanced

SESSIONS = 20  # of PgBouncer
STOP_S = 60


@contextmanager
def deployed(folder: Path) -> Iterator[dict[str, str]]:
    """Run all processes; yield the environment of tests/deployed."""
    with ExitStack() as stack:
        servers = stack.enter_context(replicated())
        direct = servers.conninfo("postgres")
        migrations.migrate(direct)
        set_parameters(servers.primary.conninfo)
        pooled = stack.enter_context(
            pgbouncer(folder, servers.primary.conninfo, mode="transaction", sessions=SESSIONS)
        )
        port, receiver = free_port(), f"127.0.0.1:{free_port()}"
        environment = {
            **os.environ,
            "BUILDERS_DATABASE_URL": pooled,
            "BUILDERS_DATABASE_POOLED": "true",
            "BUILDERS_DATABASE_DIRECT_URL": direct,
            "BUILDERS_DATA_DIR": str(folder / "data"),  # secret keys and images, which all machines have
            "BUILDERS_BASE_URL": f"http://127.0.0.1:{port}",
            "BUILDERS_TRUSTED_PROXIES": "127.0.0.1",
            "BUILDERS_OUTBOUND_ALLOW": receiver,
            "BUILDERS_LIMITS": "off",
            "BUILDERS_LOG_LEVEL": "error",
        }
        program = [sys.executable, "-P", "-m", "builders"]
        subprocess.run([*program, "demo"], env=environment, check=True, stdout=subprocess.DEVNULL)
        for number in (1, 2):
            stack.enter_context(
                _working([*program, "serve", "--worker-only", "--no-migrate"], environment, number)
            )
        machines = [
            Machine(free_port(), ["--http-only"], environment, folder / f"http-{number}.log") for number in (1, 2)
        ]
        for machine in machines:
            stack.callback(machine.stop)
            machine.start()
        stack.enter_context(balanced("nginx", machines, folder, port=port))
        deployment = {"URL": environment["BUILDERS_BASE_URL"], "COMMAND": " ".join(program), "RECEIVER": receiver}
        yield environment | {f"BUILDERS_DEPLOYED_{name}": value for name, value in deployment.items()}


@contextmanager
def _working(command: list[str], environment: dict[str, str], number: int) -> Iterator[None]:
    with Path(environment["BUILDERS_DATA_DIR"]).with_name(f"worker-{number}.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(STOP_S)


def main() -> None:
    """Run the tests; exit with their status."""
    with tempfile.TemporaryDirectory(prefix="builders-deployment-") as name:
        folder = Path(name)
        folder.chmod(0o777)  # PgBouncer runs as a user of its own
        with deployed(folder) as environment:
            tests = [sys.executable, "-m", "pytest", "tests/deployed", *sys.argv[1:]]
            status = subprocess.run(tests, env=environment, check=False).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
