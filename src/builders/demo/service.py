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
from builders.kit.db import Conn, Database

ACCOUNTS = {"developer@builders.example": Preset.DEVELOPER_FULL, "domainer@builders.example": Preset.DOMAINER_FULL}


async def set_up(database: Database, *, data_dir: Path) -> Sequence[DemoKey]:
    """Loads the demo catalog and accounts, once; the keys are kept in `demo-keys.json`, for their owner only."""
    kept = data_dir / "demo-keys.json"
    if kept.exists():
        return [DemoKey(**each) for each in json.loads(kept.read_text())]
    with tempfile.TemporaryDirectory(dir=data_dir) as folder, as_file(demo_csv()) as path:
        images.write_images(Path(folder), list_titles())
        await catalog.load(database, path=path, images=Path(folder), assets=data_dir / "assets")
    async with database.transaction() as conn:
        keys = [
            await _make_key(conn, email, preset, kind) for email, preset in ACCOUNTS.items() for kind in KeyKind
        ]
    descriptor = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump([asdict(key) for key in keys], file, indent=2)
    return keys


async def _make_key(conn: Conn, email: str, preset: Preset, kind: KeyKind) -> DemoKey:
    account = await identity.find_account(conn, email=email)
    if account is None:
        account = await identity.create_account(conn, email=email, verified=True)
    new = await identity.create_key(
        conn,
        account_id=account.id,
        label=f"demo {kind}",
        kind=kind,
        preset=preset,
        minted_by=KeyKind.LIVE,
        created_by="demo",
    )
    return DemoKey(account=email, preset=preset, kind=kind, key=new.secret)
