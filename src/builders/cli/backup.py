"""`builders backup`: the embedded database and the files beside it, in a folder or bucket on another machine."""

import asyncio
import io
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import click

from builders.backup import archive, repositories, restores, seals
from builders.backup.records import Backup, Later, Opened
from builders.backup.repositories import Repository
from builders.cli import archiver, commands
from builders.cli.embedded import backups
from builders.cli.embedded.backups import PUBLIC, Chosen
from builders.cli.session import (
    alone,
    connected,
    fail,
    failing,
    note,
    on_database,
    read_keyring,
    read_settings,
)
from builders.erasure import execution
from builders.erasure.records import LIST
from builders.kit.db import known_keys
from builders.kit.db.connections import Conn, Database
from builders.kit.process import supervision
from builders.kit.process.files import written
from builders.kit.process.secret_keys import FILE as SECRET_KEYS
from builders.kit.process.settings import Settings
from builders.kit.values import clock

FAILURES = (*archiver.ERRORS, seals.Unreadable, ValueError)
Settle = Callable[[Conn], Awaitable[Mapping[str, int]]]
key_option = click.option(
    "--key-fd",
    type=int,
    required=True,
    help="The descriptor of the private key: 3 with 3<FILE.",
)
to_option = click.option("--to", "moment", help="Use what was committed until this time: 2026-11-27T04:00:00Z.")


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
    if settings.backup_to is not None:
        archiver.open_repository(settings, creates=True)
    private, public = seals.make_key()
    _write_public(settings, public)
    text = f"{private}\n# This is shown once. Without it no backup can be opened. The public key is in {path}."
    commands.show({"private_key": private, "public_key": public}, as_json=as_json, text=text)


@backup.command()
@click.option("--keys", type=click.Path(dir_okay=False, path_type=Path), help="Save only the secret keys, here.")
@commands.json_option
def create(*, keys: Path | None, as_json: bool) -> None:
    """Back up the database and the files of the data folder. The service can run; it does this each day."""
    settings = _read_embedded()
    public, repository = archiver.read_public(settings), archiver.open_repository(settings, creates=True)
    if keys is not None:
        _save_keys(settings, keys.absolute(), public, repository)
        commands.show({"keys": str(keys)}, as_json=as_json, text=f"The secret keys are in {keys}, sealed.")
        return
    made = archiver.back_up(settings, repository=repository, keeps_log=False)
    commands.show(made, as_json=as_json, text=f"Backup {made.id} of {_size(made):,} bytes in {repository.name}.")


@backup.command("list")
@commands.json_option
def list_command(*, as_json: bool) -> None:
    """List the complete backups, the newest first."""
    with failing(OSError):
        found = repositories.list_backups(archiver.open_repository(_read_embedded()))
    rows = [(each.id, each.release, each.postgresql, _size(each)) for each in found]
    text = commands.table(("ID", "RELEASE", "POSTGRESQL", "BYTES"), rows, empty="No backups.")
    commands.show(list(found), as_json=as_json, text=text)


@backup.command()
@click.option("--hours", type=click.IntRange(1, 24 * 366), default=26, show_default=True, help="Maximum age.")
@click.option(
    "--minutes", type=click.IntRange(1, 24 * 60), default=15, show_default=True, help="Maximum age of the log."
)
@click.option("--content", is_flag=True, help="Also open the newest backup and its log, by --key-fd.")
@click.option("--key-fd", type=int, help="The descriptor of the private key, for --content: 3 with 3<FILE.")
@commands.json_option
def verify(*, hours: int, minutes: int, content: bool, key_fd: int | None, as_json: bool) -> None:
    """Check digests and sizes, that no log is missing, and the age of both. It needs no private key."""
    if content != (key_fd is not None):
        raise click.UsageError("--content and --key-fd belong together.")
    repository, now = archiver.open_repository(_read_embedded()), clock.now()
    with failing(OSError):
        found = repositories.list_backups(repository)
        errors = [f"{each.id}: {error}" for each in found for error in repositories.verify(repository, each)]
        if not any(abs(now - each.made_at) <= timedelta(hours=hours) for each in found):
            errors.append(f"There is no backup of the last {hours} hours.")
        if found:
            errors += archive.verify(repository, found, after=now - timedelta(minutes=minutes))
        if found and key_fd is not None:
            chosen = Chosen(repository=repository, backup=found[0], private_key=_read_key(key_fd))
            errors += backups.open_all(chosen)
    text = "\n".join(errors) or f"{commands.counted(len(found), 'backup')} as recorded."
    commands.show({"backups": len(found), "errors": errors}, as_json=as_json, text=text)
    if errors:
        raise SystemExit(1)


@backup.command()
@click.option(
    "--days", type=click.IntRange(1, 3660), default=35, show_default=True, help="Keep so many days with a backup."
)
@commands.json_option
def prune(*, days: int, as_json: bool) -> None:
    """Delete old backups and the log that no backup needs. Days without a backup do not count."""
    with failing(OSError):
        ids = backups.prune(archiver.open_repository(_read_embedded()), days=days)
    commands.show({"deleted": ids}, as_json=as_json, text=f"{commands.counted(len(ids), 'backup')} deleted.")


@backup.command()
def run() -> None:
    """Archive the log, and make a backup each day, until it is stopped; `serve` runs this."""
    settings = read_settings() if supervision.is_followed() else _read_embedded()  # `serve` names its database
    with connected(settings, migrated=False) as ready, alone(settings, "backup run"):
        asyncio.run(archiver.main(ready))


@backup.command()
@click.argument("backup_id", required=False)
@key_option
@to_option
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
    moment: str | None,
    keep_keys: bool,
    last_invoice: str | None,
    secret_keys: Path | None,
    as_json: bool,
) -> None:
    """Restore a backup and the log after it into a data folder without a database, and make a new backup.

    By default all of the log after the newest one. With --to, the names, invoices and payments after the time are
    listed. The service only reads until `builders backup accept`.
    """
    settings = _read_embedded()
    chosen = _choose(settings, backup_id, moment, key_fd)
    with failing(*FAILURES, says="Nothing was restored: "):
        if backup_id is None:
            _require_one_log(chosen)
        if last_invoice is not None:
            restores.read_number(last_invoice)
        keys = None if secret_keys is None else _open_keys(secret_keys, chosen.private_key)
        settle = partial(restores.begin, target=chosen.to, keeps_keys=keep_keys, last_invoice=last_invoice)
        lines = _restore(settings, chosen, settle, keys)
    later = _list_later(settings, chosen)
    made = archiver.back_up(settings, repository=chosen.repository, keeps_log=True)
    rows = [(each.at.isoformat(), each.kind, each.account_id, each.what) for each in later]
    lines = [*lines, commands.table(("AFTER THAT TIME", "KIND", "ACCOUNT", "WHAT"), rows, empty="")]
    shown = {"backup": chosen.backup.id, "text": lines, "later": list(later), "new_backup": made.id}
    commands.show(shown, as_json=as_json, text="\n".join(lines))


@backup.command()
@click.argument("backup_id", required=False)
@key_option
@to_option
@commands.json_option
def drill(*, backup_id: str | None, key_fd: int, moment: str | None, as_json: bool) -> None:
    """Restore a backup into a folder of its own, count what it has, and remove it. Nothing is sent or changed."""
    settings, began = _read_embedded(), clock.monotonic()
    chosen = _choose(settings, backup_id, moment, key_fd)
    settings.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    settle = partial(restores.begin, target=chosen.to, keeps_keys=False, last_invoice=None)
    with (
        failing(*FAILURES, says="The drill failed: "),
        backups.scratch(settings.data_dir) as folder,
        backups.recovered(folder, chosen) as found,
    ):
        asyncio.run(_settle(found.conninfo, settings.model_copy(update={"data_dir": folder}), settle, []))
        counted = asyncio.run(restores.count_rows(found.conninfo))
    seconds = round(clock.monotonic() - began, 1)
    shown = {"backup": chosen.backup.id, "seconds": seconds, "segments": found.segments, **asdict(counted)}
    rows = [(str(value), name.replace("_", " ")) for name, value in shown.items()]
    text = "\n".join([commands.table(("VALUE", "WHAT"), rows, empty=""), *found.notes])
    commands.show({**shown, "notes": found.notes}, as_json=as_json, text=text)


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


def _size(made: Backup) -> int:
    return sum(each.size for each in made.parts.values())


def _read_embedded() -> Settings:
    settings = read_settings()
    if settings.database_url is not None:
        fail("BUILDERS_DATABASE_URL names a server, which is backed up by its own means, such as pgBackRest.")
    return settings


def _write_public(settings: Settings, public: str) -> None:
    with written(settings.data_dir / PUBLIC) as file:
        file.write(f"{public}\n")


def _save_keys(settings: Settings, path: Path, public: str, repository: Repository) -> None:
    """Seal the secret keys into a file of their own, which must not be beside the backups."""
    for folder in filter(None, [repository.folder, settings.data_dir]):  # each backup has the files of the latter
        if path.resolve().is_relative_to(folder.resolve()):
            fail(f"The secret keys do not belong in {folder}: who gets them with a backup reads everything.")
    ring = read_keyring(settings)
    given = [each.get_secret_value() for each in settings.secret_keys]
    text = "\n".join(given) if given else (settings.data_dir / SECRET_KEYS).read_text()
    repositories.in_folder(path.parent, creates=True).seal(path.name, io.BytesIO(text.encode()), public_key=public)
    with connected(settings, migrated=False) as ready:
        on_database(ready, partial(known_keys.note_saved, keyring=ring))


def _open_keys(sealed: Path, private: str) -> str:
    """Return the secret keys. Raise Unreadable."""
    content = io.BytesIO()
    with sealed.open("rb") as source:
        seals.unseal(source, content.write, private_key=private)
    return content.getvalue().decode()


def _read_key(descriptor: int) -> str:
    try:
        with os.fdopen(descriptor) as file:
            return "".join(line for line in file.read().splitlines() if not line.startswith("#"))
    except OSError as error:
        fail(f"The private key cannot be read from descriptor {descriptor}: {error.strerror}.")


def _choose(settings: Settings, backup_id: str | None, moment: str | None, key_fd: int) -> Chosen:
    """Return the named backup, or the newest one of before a moment; end the command if there is none."""
    repository, private = archiver.open_repository(settings), _read_key(key_fd)
    try:
        to = None if moment is None else datetime.fromisoformat(moment)
    except ValueError:
        fail("--to is a time as 2026-11-27T04:00:00Z.")
    if to is not None and to.tzinfo is None:
        to = to.replace(tzinfo=UTC)
    with failing(OSError):
        found = repositories.list_backups(repository)
    chosen = [each for each in found if backup_id in {None, each.id} and (to is None or each.made_at <= to)]
    if not chosen:
        fail(f"There is no such backup in {repository.name}. List them: `builders backup list`.")
    return Chosen(repository=repository, backup=chosen[0], private_key=private, to=to)


def _require_one_log(chosen: Chosen) -> None:
    """End the command if the newest backup may be of another service than the one that is to be restored."""
    found = [
        each
        for each in repositories.list_backups(chosen.repository)
        if chosen.to is None or each.made_at <= chosen.to
    ]
    if rivals := archive.list_rivals(chosen.repository, found):
        ends = (f"{name} has log until {end:%Y-%m-%dT%H:%M:%SZ}" for name, end in sorted(rivals.items()))
        fail(f"Several services archived here. Name the backup to restore: {'; '.join(ends)}.")


def _list_later(settings: Settings, chosen: Chosen) -> Sequence[Later]:
    """Return what the newest backup has after the moment: names, invoices and payments."""
    if chosen.to is None:
        return []
    newest = repositories.list_backups(chosen.repository)[0]
    whole = Chosen(repository=chosen.repository, backup=newest, private_key=chosen.private_key)
    try:
        with backups.scratch(settings.data_dir) as folder, backups.recovered(folder, whole) as found:
            return asyncio.run(restores.list_later(found.conninfo, after=chosen.to))
    except FAILURES as error:
        note(f"What is lost cannot be listed: {error}")
        return []


def _restore(settings: Settings, chosen: Chosen, settle: Settle, keys: str | None) -> Sequence[str]:
    """Restore a backup beside the place of the database, end what could be revoked, and use it."""
    with backups.recovered(settings.data_dir, chosen) as found:
        if keys is not None:
            with written(settings.data_dir / SECRET_KEYS) as file:
                file.write(keys)
        erased = repositories.merge_erasures(chosen.repository, settings.data_dir / LIST)
        lines = asyncio.run(_settle(found.conninfo, settings, settle, list(erased.values())))
        found.use()
    _write_public(settings, seals.public_of(chosen.private_key))
    return [*found.notes, *lines]


async def _settle(conninfo: str, settings: Settings, settle: Settle, erased: Sequence[str]) -> Sequence[str]:
    async with Database(conninfo, settings) as database:
        async with database.transaction() as conn:
            ended = await settle(conn)
        again = await execution.repeat(database, settings=settings, account_ids=execution.read_list(erased))
        async with database.connection() as conn:
            opened = await restores.count_open(conn)
    table = commands.table(("ENDED", "WHAT"), [(number, what) for what, number in ended.items()], empty="")
    return [
        table,
        f"{commands.counted(len(again), 'account')} erased again.",
        "",
        _describe(opened),
        "Start the service: it only reads. `builders backup accept` lets it send and change again.",
    ]
