"""`builders backup`: the embedded database, sealed, in a folder that belongs on another disk or machine."""

import asyncio
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import IO

import click
import psycopg

from builders.backup import folders, restores, seals
from builders.backup.records import Backup, Opened
from builders.cli import commands
from builders.cli.embedded import copies, upgrade
from builders.cli.embedded.directory import MAJOR, SYSTEM_DIR, open_directory
from builders.cli.embedded.server import DATABASE
from builders.cli.embedded.system_user import EmbeddedServerError, choose_user
from builders.cli.session import alone, connected, conninfo_of, fail, on_database, read_keyring, read_settings
from builders.erasure import execution
from builders.kit.db import known_keys
from builders.kit.db.connections import Conn, Database
from builders.kit.process.files import written
from builders.kit.process.secret_keys import FILE as SECRET_KEYS
from builders.kit.process.settings import Settings
from builders.kit.process.version import VERSION
from builders.kit.values import clock

PUBLIC = "backup.pub"  # in the data folder
BASE, FILES, PASSWORD = "base.tar.gz.age", "files.tar.gz.age", "password"
# What is in the data folder and in no backup: the database is one by itself, keys are apart, mail is sent.
OMITTED = ("postgres", SECRET_KEYS, "outbox", PUBLIC, execution.LIST)
Settle = Callable[[Conn], Awaitable[Mapping[str, int]]]
key_option = click.option(
    "--key-fd",
    type=int,
    required=True,
    help="The descriptor of the private key: 3 with 3<FILE.",
)


@click.group()
def backup() -> None:
    """Back the embedded database up, and restore it."""


@backup.command()
@click.option("--replace", "again", is_flag=True, help="Use a new key. Earlier backups open by the former one.")
@commands.json_option
def init(*, again: bool, as_json: bool) -> None:
    """Make a key, and print its private part once. Keep it away from this machine: it opens the backups."""
    settings = _read_embedded()
    settings.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    path = settings.data_dir / PUBLIC
    if path.exists() and not again:
        fail(f"{path} has the public key of the backups. --replace makes another key.")
    private, public = seals.make_key()
    with written(path) as file:
        file.write(f"{public}\n")
    text = f"{private}\n\nThis is shown once. Without it no backup can be opened. The public key is in {path}."
    commands.show({"private_key": private, "public_key": public}, as_json=as_json, text=text)


@backup.command()
@click.option("--keys", type=click.Path(dir_okay=False, path_type=Path), help="Save only the secret keys, here.")
@commands.json_option
def create(*, keys: Path | None, as_json: bool) -> None:
    """Back up the database and the files of the data folder. The service can run."""
    settings = _read_embedded()
    public, folder = _read_public(settings), _folder(settings)
    if keys is not None:
        _save_keys(settings, keys.absolute(), public, folder)
        commands.show({"keys": str(keys)}, as_json=as_json, text=f"The secret keys are in {keys}, sealed.")
        return
    try:
        with alone(settings, "backup create"), connected(settings, migrated=False) as ready:
            made = asyncio.run(_create(ready, public, folder))
    except (EmbeddedServerError, OSError) as error:
        fail(f"There is no new backup: {error}")
    text = f"Backup {made.id} of {sum(each.size for each in made.parts.values()):,} bytes in {folder}."
    commands.show(made, as_json=as_json, text=text)


@backup.command("list")
@commands.json_option
def list_command(*, as_json: bool) -> None:
    """List the complete backups, the newest first."""
    found = folders.list_backups(_folder(_read_embedded()))
    rows = [(each.id, each.release, each.postgresql, sum(p.size for p in each.parts.values())) for each in found]
    text = commands.table(("ID", "RELEASE", "POSTGRESQL", "BYTES"), rows, empty="No backups.")
    commands.show(list(found), as_json=as_json, text=text)


@backup.command()
@click.option("--hours", type=click.IntRange(1, 24 * 366), default=26, show_default=True, help="Maximum age.")
@commands.json_option
def verify(*, hours: int, as_json: bool) -> None:
    """Check the digests and sizes of all backups, and the age of the newest. It needs no private key."""
    folder = _folder(_read_embedded())
    found = folders.list_backups(folder)
    errors = [f"{each.id}: {error}" for each in found for error in folders.verify(folder, each)]
    if not found or clock.now() - found[0].made_at > timedelta(hours=hours):
        errors.append(f"There is no backup of the last {hours} hours.")
    text = "\n".join(errors) or f"{commands.counted(len(found), 'backup')} as recorded."
    commands.show({"backups": len(found), "errors": errors}, as_json=as_json, text=text)
    if errors:
        raise SystemExit(1)


@backup.command()
@click.option("--days", type=click.IntRange(1, 3660), default=35, show_default=True, help="Keep so many days.")
@commands.json_option
def prune(*, days: int, as_json: bool) -> None:
    """Delete old backups; the newest stays."""
    folder = _folder(_read_embedded())
    before = clock.now() - timedelta(days=days)
    old = [each for each in folders.list_backups(folder)[1:] if each.made_at < before]
    for each in old:
        (folders.path_of(folder, each) / folders.FILE).unlink()  # first: what is deleted in part is no backup
        shutil.rmtree(folders.path_of(folder, each))
    ids = [each.id for each in old]
    commands.show({"deleted": ids}, as_json=as_json, text=f"{commands.counted(len(ids), 'backup')} deleted.")


@backup.command()
@click.argument("backup_id", required=False)
@key_option
@click.option("--keep-keys", is_flag=True, help="No API key was revoked since the backup: all keep working.")
@click.option("--last-invoice", help="The last invoice that was sent, as INV-2026-000123.")
@click.option(
    "--secret-keys",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The secret keys of the service, as `create --keys` saved them.",
)
@commands.json_option
def restore(
    *,
    backup_id: str | None,
    key_fd: int,
    keep_keys: bool,
    last_invoice: str | None,
    secret_keys: Path | None,
    as_json: bool,
) -> None:
    """Restore a backup, by default the newest, into a data folder without a database.

    The service only reads until `builders backup accept`.
    """
    settings = _read_embedded()
    folder = _folder(settings)
    chosen = [each for each in folders.list_backups(folder) if backup_id in {None, each.id}]
    if not chosen:
        fail(f"There is no such backup in {folder}. List them: `builders backup list`.")
    try:
        if last_invoice is not None:
            restores.read_number(last_invoice)
        with os.fdopen(key_fd) as file:
            private = "".join(line for line in file.read().splitlines() if not line.startswith("#"))
        if secret_keys is not None:
            _open_keys(settings, secret_keys, private)
        settle = partial(restores.begin, target=None, keeps_keys=keep_keys, last_invoice=last_invoice)
        lines = _restore(settings, folder, chosen[0], private, settle)
    except (EmbeddedServerError, seals.Unreadable, OSError, ValueError, psycopg.Error) as error:
        fail(f"Nothing was restored: {error}")
    commands.show({"backup": chosen[0].id, "text": lines}, as_json=as_json, text="\n".join(lines))


@backup.command()
@click.option("--yes", is_flag=True, help="Accept; without it, only show what goes on then.")
@commands.writes
async def accept(session: commands.Session, *, yes: bool) -> commands.Output:
    """Let a restored service send, promote, renew and claim again. It shows what goes on then."""
    opened = await restores.count_open(session.conn)
    done = yes and await restores.accept(session.conn)
    text = "The service sends and changes again." if done else "Nothing was changed."
    if not yes:
        text = "Run it with --yes to accept."
    return commands.Output({**asdict(opened), "accepted": done}, f"{_describe(opened)}\n{text}")


def _describe(opened: Opened) -> str:
    rows = ((number, name.replace("_", " ")) for name, number in asdict(opened).items())
    return commands.table(("OPEN", "WHAT"), rows, empty="")


def _read_embedded() -> Settings:
    settings = read_settings()
    if settings.database_url is not None:
        fail("BUILDERS_DATABASE_URL names a server, which is backed up by its own means, such as pgBackRest.")
    return settings


def _folder(settings: Settings) -> Path:
    if settings.backup_to is None:
        fail("Set BUILDERS_BACKUP_TO to the folder of the backups, on another disk or machine.")
    return settings.backup_to.absolute()


def _read_public(settings: Settings) -> str:
    try:
        return (settings.data_dir / PUBLIC).read_text().strip()
    except FileNotFoundError:
        fail("There is no key that seals backups. Make one: `builders backup init`.")


def _save_keys(settings: Settings, path: Path, public: str, folder: Path) -> None:
    """Seal the secret keys into a file of their own, which must not be beside the backups."""
    if path.is_relative_to(folder):
        fail(f"The secret keys do not belong in {folder}: who gets both reads everything.")
    ring = read_keyring(settings)
    given = [each.get_secret_value() for each in settings.secret_keys]
    text = "\n".join(given) if given else (settings.data_dir / SECRET_KEYS).read_text()
    folders.save(
        path.parent, path.name, lambda write: seals.seal(io.BytesIO(text.encode()), write, public_key=public)
    )
    with connected(settings, migrated=False) as ready:
        on_database(ready, partial(known_keys.note_saved, keyring=ring))


def _open_keys(settings: Settings, sealed: Path, private: str) -> None:
    """Put the secret keys into the data folder."""
    content = io.BytesIO()
    with sealed.open("rb") as source:
        seals.unseal(source, content.write, private_key=private)
    settings.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    with written(settings.data_dir / SECRET_KEYS) as file:
        file.write(content.getvalue().decode())


async def _create(settings: Settings, public: str, folder: Path) -> Backup:
    now = clock.now()
    async with restores.holding_log(conninfo_of(settings)) as (system_id, timeline):
        made = Backup(
            id=f"{now:%Y%m%dT%H%M%SZ}",
            system_id=system_id,
            timeline=timeline,
            made_at=now,
            postgresql=MAJOR,
            release=VERSION,
            parts={},
        )
        place = folders.path_of(folder, made)
        with copies.base_backup(settings.data_dir) as source:
            base = folders.save(place, BASE, lambda write: seals.seal(source, write, public_key=public))
    with tempfile.TemporaryFile(dir=settings.data_dir) as packed:
        _pack(settings.data_dir, packed)
        files = folders.save(place, FILES, lambda write: seals.seal(packed, write, public_key=public))
    folders.merge_erasures(folder, settings.data_dir / execution.LIST)
    made = replace(made, parts={BASE: base, FILES: files})
    folders.record(folder, made)
    return made


def _pack(data_dir: Path, packed: IO[bytes]) -> None:
    """Write the files of the data folder, and the password of the database, which its roles know."""
    user = choose_user(data_dir / "postgres", data_dir)
    directory = open_directory(data_dir, user, SYSTEM_DIR)
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(data_dir.iterdir()):
            if not path.name.startswith(OMITTED) and not path.name.endswith(".lock") and not path.is_socket():
                tar.add(path, path.name)
        tar.add(directory.password, PASSWORD)
    packed.seek(0)


def _restore(
    settings: Settings,
    folder: Path,
    chosen: Backup,
    private: str,
    settle: Settle,
) -> Sequence[str]:
    """Restore a backup beside the place of the database, end what could be revoked, and use it."""
    if chosen.postgresql != MAJOR:
        raise EmbeddedServerError(f"It is of PostgreSQL {chosen.postgresql}: use the release {chosen.release}.")
    copies.prepare(settings.data_dir)
    with upgrade.opened(settings.data_dir) as place:
        if place.directory.cluster.exists():
            raise EmbeddedServerError(f"{place.directory.cluster} exists. Move it away, or choose another folder.")
        with copies.unpacking(place) as (stream, staging), _open(folder, chosen, BASE) as sealed:
            seals.unseal(sealed, stream.write, private_key=private)
        with tempfile.TemporaryFile(dir=settings.data_dir) as packed:
            with _open(folder, chosen, FILES) as sealed:
                seals.unseal(sealed, packed.write, private_key=private)
            packed.seek(0)
            with tarfile.open(fileobj=packed) as tar:
                password = tar.extractfile(PASSWORD)
                text = "" if password is None else password.read().decode()
                members = [each for each in tar if each.name != PASSWORD]
                tar.extractall(settings.data_dir, members, filter="data")
        place.user.shell('cat >"$1"', staging.password, text=text)
        server = copies.cluster_of(place, staging)
        server.start()
        try:
            erased = folders.merge_erasures(folder, settings.data_dir / execution.LIST)
            lines = asyncio.run(_settle(staging.conninfo(DATABASE), settings, settle, list(erased.values())))
        finally:
            server.stop()
        copies.use(place, staging)
    return lines


def _open(folder: Path, chosen: Backup, name: str) -> io.BufferedReader:
    return (folders.path_of(folder, chosen) / name).open("rb")


async def _settle(
    conninfo: str,
    settings: Settings,
    settle: Settle,
    erased: Sequence[str],
) -> Sequence[str]:
    database = Database(conninfo, settings)
    await database.open()
    try:
        async with database.transaction() as conn:
            ended = await settle(conn)
        ids = execution.read_list(erased)
        again = await execution.repeat(database, settings=settings, account_ids=ids)
        async with database.connection() as conn:
            opened = await restores.count_open(conn)
    finally:
        await database.close()
    table = commands.table(("ENDED", "WHAT"), [(number, what) for what, number in ended.items()], empty="")
    return [
        table,
        f"{commands.counted(len(again), 'account')} erased again.",
        "",
        _describe(opened),
        "Start the service: it only reads. `builders backup accept` lets it send and change again.",
    ]
