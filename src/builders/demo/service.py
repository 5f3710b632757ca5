"""The door of the demo: a catalog to look at, and accounts with keys to try things."""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import as_file
from pathlib import Path

from builders.catalog import service as catalog
from builders.demo import images
from builders.demo.catalog import demo_csv, list_titles
from builders.demo.records import DemoKey
from builders.identity import service as identity
from builders.identity.records import KeyKind, Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import OPERATOR
from builders.kit.http.credentials import Credential, CredentialsInvalid

ACCOUNTS = {"developer@builders.example": Preset.DEVELOPER_FULL, "domainer@builders.example": Preset.DOMAINER_FULL}


async def set_up(database: Database, *, data_dir: Path) -> Sequence[DemoKey]:
    """Has the demo catalog and accounts there; the keys are kept in `demo-keys.json`, for their owner only.

    While the kept keys are good for this database, it looks no further.
    """
    kept = _place(data_dir)
    if await _are_good(database, keys := _read(kept)):
        return keys
    await _load_catalog(database, data_dir)
    async with database.transaction() as conn:
        keys = [
            await _make_key(conn, email, preset, kind) for email, preset in ACCOUNTS.items() for kind in KeyKind
        ]
    _write(kept, keys)
    return keys


async def _load_catalog(database: Database, data_dir: Path) -> None:
    """Loads the demo's domains with their images, which take a while to draw, where they are missing."""
    titles, assets = list_titles(), data_dir / "assets"
    async with database.connection() as conn:
        there = await catalog.find_domains(conn, domains=[domain for domain, _ in titles])
    if len(there) == len(titles) and assets.exists():
        return
    with tempfile.TemporaryDirectory(dir=data_dir) as folder, as_file(demo_csv()) as path:
        images.write_images(Path(folder), titles)
        await catalog.load(database, path=path, images=Path(folder), assets=assets)


async def _are_good(database: Database, keys: Sequence[DemoKey]) -> bool:
    authenticate = identity.Authenticator(database, cache_s=0)
    try:
        for key in keys:
            await authenticate(Credential("api_key", key.key), fresh=True)
    except CredentialsInvalid:  # revoked by a visitor, or of another database
        return False
    return bool(keys)


async def _make_key(conn: Conn, email: str, preset: Preset, kind: KeyKind) -> DemoKey:
    account = await identity.ensure_account(conn, email=email, verified=True)
    new = await identity.create_key(
        conn,
        account_id=account.id,
        label=f"demo {kind}",
        kind=kind,
        preset=preset,
        minted_by=KeyKind.LIVE,
        actor=OPERATOR,
    )
    return DemoKey(account=email, preset=preset, kind=kind, key=new.secret)


def _place(data_dir: Path) -> Path:
    """Where the keys are kept. The folder is there when the database is our own, else perhaps not yet."""
    data_dir.mkdir(parents=True, exist_ok=True)
    return data_dir / "demo-keys.json"


def _read(kept: Path) -> Sequence[DemoKey]:
    """The keys of an earlier start; none when there was none, or what is there cannot be read as such."""
    try:
        return [DemoKey(**each) for each in json.loads(kept.read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError, TypeError):
        return []


def _write(kept: Path, keys: Sequence[DemoKey]) -> None:
    """Keeps the keys: the file is whole at each moment, and private from the first."""
    descriptor, draft = tempfile.mkstemp(dir=kept.parent, prefix=f".{kept.name}.")  # mkstemp makes it 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump([asdict(key) for key in keys], file, indent=2)
    Path(draft).replace(kept)
