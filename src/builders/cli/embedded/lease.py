"""One host uses a database folder, although others may have its disk, too.

The locks of server.py are those of one kernel: of the processes of a host, and of its containers. Its users also
renew the file `postgres.lease`. A start that finds the file of another boot watches it for a while and refuses if
it changes; this needs no equal clocks. A clean stop removes the file, so only the start after a crash watches.
"""

import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from builders.cli.embedded.system_user import EmbeddedServerError

FILE = "postgres.lease"
RENEWALS = 4  # that a watcher waits for
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # the same in all containers of a host (Linux, random(4))
# Their locks and flushes are not what PostgreSQL needs, and another host may write there.
NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2"),
    *("gfs2", "9p", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.blobfuse2"),
}


class Lease:
    """The lease of a database folder. `boot` names the running kernel."""

    def __init__(self, data_dir: Path, *, renew_s: float, boot: str | None = None) -> None:
        self._path, self._renew_s = data_dir / FILE, renew_s
        self._boot = boot or (BOOT_ID.read_text().strip() if BOOT_ID.exists() else socket.gethostname())

    def take(self) -> None:
        """Take the lease; watch one of another boot first. Raise EmbeddedServerError if that one is renewed."""
        found = self._read_other()
        for _ in range(RENEWALS if found else 0):
            time.sleep(self._renew_s)
            if (now := self._read_other()) and now != found:
                raise EmbeddedServerError(
                    f"The host {now.split()[1]} uses the embedded PostgreSQL in {self._path.parent}. "
                    "Stop the service there, or set BUILDERS_DATABASE_URL to a server that several can share."
                )
        self._write()

    def renew(self) -> bool:
        """Renew the lease; return False if another boot has taken it while this one was suspended."""
        if self._read_other():
            return False
        self._write()
        return True

    def release(self) -> None:
        """Remove the file."""
        self._path.unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the lease, renew it during the block, and release it."""
        self.take()
        left = threading.Event()

        def renew() -> None:
            while not left.wait(self._renew_s):
                with suppress(OSError):  # a full disk
                    self.renew()

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            left.set()
            thread.join()
            self.release()

    def _write(self) -> None:
        draft = self._path.with_name(f"{FILE}.{os.getpid()}")
        draft.write_text(f"{self._boot} {socket.gethostname()} {time.time_ns()}\n", encoding="utf-8")
        draft.replace(self._path)

    def _read_other(self) -> str:
        """Return the text of another boot; empty without one."""
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        return "" if text.startswith(f"{self._boot} ") else text


def require_local(folder: Path, mounts: Iterable[tuple[str, str]] | None = None) -> None:
    """Raise EmbeddedServerError if the folder is on a network file system. `mounts`: folders and types."""
    if mounts is None:
        mounts = ((each.mountpoint, each.fstype) for each in psutil.disk_partitions(all=True))
    place = folder.resolve()
    _, kind = max(((len(where), kind) for where, kind in mounts if place.is_relative_to(where)), default=(0, ""))
    if kind in NETWORK:
        raise EmbeddedServerError(
            f"{folder} is on a network file system ({kind}), where a database is not safe. Choose a folder of a "
            "local disk by BUILDERS_DATA_DIR, or set BUILDERS_DATABASE_URL."
        )
