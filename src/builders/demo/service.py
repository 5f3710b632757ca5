"""The public interface of the demo: a catalog, accounts with keys, and the portfolio of one of them."""

import csv
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from io import StringIO
from pathlib import Path

from builders.catalog import availability
from builders.catalog.catalog_file import loader
from builders.demo import images
from builders.demo.portfolio import add_decisions, add_portfolio, find_start
from builders.identity import accounts, keys as identity_keys
from builders.identity.authenticator import Authenticator
from builders.identity.errors import AccountNotFound
from builders.identity.records import KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Credential, CredentialsInvalid
from builders.kit.process.files import written
from builders.portfolio.notifications import runs
from builders.portfolio.team import members
from builders.portfolio.team.records import Access, TeamRole

_KEYS = "demo-keys.json"
DOMAINER = "domainer@builders.example"
ACCOUNTS = {"developer@builders.example": Preset.DEVELOPER_FULL, DOMAINER: Preset.DOMAINER_FULL}

# Of the domainer's team. They have no keys: `builders keys create` makes one.
MEMBERS = {"manager@builders.example": TeamRole.MANAGER, "accountant@builders.example": TeamRole.ACCOUNTANT}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoKey:
    """A key of a demo account."""

    account: str  # its email address
    preset: str
    kind: str
    key: str = field(repr=False)


async def set_up(database: Database, *, data_dir: Path) -> Sequence[DemoKey]:
    """Load the demo catalog, accounts and portfolio, and return the keys. Repeated, it changes nothing.

    Test keys have the portfolio without its costs: the bills of the demo's registrars bring these.
    `demo-keys.json` stores the keys, readable by its owner only. While they are valid in this database, only a
    missing portfolio is added.
    """
    stored = _keys_file(data_dir)
    if not await _are_valid(database, keys := read_keys(data_dir)):
        await _load_catalog(database, data_dir)
        async with database.transaction() as conn:
            keys = [
                await _make_key(conn, email, preset, kind)
                for email, preset in ACCOUNTS.items()
                for kind in KeyKind
            ]
        with written(stored) as file:
            json.dump([asdict(key) for key in keys], file, indent=2)
    async with database.transaction() as conn:
        domainer = await accounts.ensure_account(conn, email=DOMAINER)
        is_added = await add_portfolio(conn, account_id=domainer.id)
        await add_portfolio(conn, account_id=domainer.sandbox_id, has_costs=False)
        if is_added:
            await add_decisions(conn, account_id=domainer.id)
            for email, role in MEMBERS.items():
                member = await accounts.ensure_account(conn, email=email)
                access = Access(
                    portfolio_id=domainer.id, owner_id=domainer.id, member_id=member.id, role=role, actor=OPERATOR
                )
                await members.add_member(conn, access=access)
    if is_added:  # the daily job makes the notices of later days
        await runs.run(database, account_id=domainer.id)
    return keys


async def find_day(database: Database) -> date | None:
    """Return the day that the dates of the demo portfolio of test keys are relative to; None without one."""
    async with database.connection() as conn:
        try:
            domainer = await accounts.get_account_by_email(conn, email=DOMAINER)
        except AccountNotFound:
            return None
        return await find_start(conn, account_id=domainer.sandbox_id)


def read_keys(data_dir: Path) -> Sequence[DemoKey]:
    """Return the stored keys; none when there is no file, or none that can be read."""
    try:
        return [DemoKey(**each) for each in json.loads((data_dir / _KEYS).read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError, TypeError):
        return []


async def _load_catalog(database: Database, data_dir: Path) -> None:
    """Load the demo domains with their images, unless they are present. Drawing the images takes seconds."""
    titles, assets = list_titles(), data_dir / "assets"
    async with database.connection() as conn:
        present = await availability.load_domains(conn, domains=[domain for domain, _ in titles])
    if len(present) == len(titles) and assets.exists():
        return
    with tempfile.TemporaryDirectory(dir=data_dir) as folder, as_file(demo_csv()) as path:
        await images.draw(Path(folder), titles)
        await loader.load(database, path=path, images=Path(folder), assets=assets)


async def _are_valid(database: Database, keys: Sequence[DemoKey]) -> bool:
    authenticate = Authenticator(database, cache_s=0)
    try:
        for key in keys:
            await authenticate(Credential("api_key", key.key), fresh=True)
    except CredentialsInvalid:  # revoked, or of another database
        return False
    return bool(keys)


async def _make_key(conn: Conn, email: str, preset: Preset, kind: KeyKind) -> DemoKey:
    account = await accounts.ensure_account(conn, email=email)
    new = await identity_keys.create_key(
        conn,
        account_id=account.id,
        label=f"demo {kind}",
        key_kind=kind,
        preset=preset,
        minted_by=KeyKind.LIVE,
        actor=OPERATOR,
    )
    return DemoKey(account=email, preset=preset, kind=kind, key=new.secret)


def _keys_file(data_dir: Path) -> Path:
    """Return the path of the stored keys; create its folder."""
    data_dir.mkdir(parents=True, exist_ok=True)
    return data_dir / _KEYS


def demo_csv() -> Traversable:
    """Return the catalog file: UTF-8, with the columns of `builders catalog load`.

    `importlib.resources.as_file` returns its path.
    """
    return files("builders.demo") / "catalog.csv"


def list_titles() -> list[tuple[str, str]]:
    """Return the (A-label, title) of each demo domain in the order of the file, for `write_images`."""
    text = demo_csv().read_text(encoding="utf-8")
    return [(row["domain"], row["title"]) for row in csv.DictReader(StringIO(text, newline=""))]
