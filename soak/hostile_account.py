"""The account of the attacker: its keys and a portfolio of 100,000 domains."""

from decimal import Decimal
from pathlib import Path
from uuid import UUID

from bench import portfolio
from builders.identity import keys as identity_keys
from builders.identity.records import KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import EntryKind, EntrySource, NewEntry
from builders.portfolio.renewals import calendars
from builders.portfolio.team.records import Access, TeamRole
from soak.scenario import HostileAccount

KEYS = 3  # of each preset: more would exceed the rate limit of the account
YEARS = 2  # of entries of each domain
WIDE_ENTRIES = 4_900  # of one domain, close to the maximum

WIDE = "SELECT id FROM portfolio_domains WHERE account_id = %(account_id)s ORDER BY id LIMIT 1"


async def make(data_dir: Path, conninfo: str, *, domains: int) -> HostileAccount:
    """Create the account with a portfolio of so many domains."""
    settings = Settings.model_validate({"data_dir": data_dir, "database_url": conninfo})
    _, account_id = await portfolio.fill(data_dir, conninfo, count=domains, years=YEARS)
    database = Database(conninfo, settings)
    await database.open()
    try:
        async with database.transaction() as conn:
            keys = {
                preset: [await _key(conn, account_id, KeyKind.LIVE, preset) for _ in range(KEYS)]
                for preset in Preset
            }
            test_key = await _key(conn, account_id, KeyKind.TEST, Preset.DEVELOPER_FULL)
            access = Access(
                portfolio_id=account_id,
                owner_id=account_id,
                member_id=account_id,
                role=TeamRole.OWNER,
                actor=OPERATOR,
            )
            token, _ = await calendars.make_calendar(conn, access=access, keyring=keyring_of(settings))
            row = await (await conn.execute(WIDE, {"account_id": account_id})).fetchone()
            assert row is not None
            await _widen(conn, account_id, row[0])
    finally:
        await database.close()
    return HostileAccount(
        developer_keys=keys[Preset.DEVELOPER_FULL],
        domainer_keys=keys[Preset.DOMAINER_FULL],
        test_key=test_key,
        calendar_token=token,
        wide_domain=str(row[0]),
    )


async def _key(conn: Conn, account_id: UUID, kind: KeyKind, preset: Preset) -> str:
    made = await identity_keys.create_key(
        conn,
        account_id=account_id,
        label=f"{kind} {preset}",
        key_kind=kind,
        preset=preset,
        minted_by=KeyKind.LIVE,
        actor=OPERATOR,
    )
    return made.secret


async def _widen(conn: Conn, account_id: UUID, domain_id: UUID) -> None:
    """Add entries to one domain."""
    entries = [
        NewEntry(
            domain_id=domain_id,
            kind=EntryKind.OTHER_COST if n % 2 else EntryKind.OTHER_INCOME,
            money=Money(Decimal("1.25"), "USD"),
            occurred_on=clock.now().date(),
            source=EntrySource.MANUAL,
        )
        for n in range(WIDE_ENTRIES)
    ]
    await ledger_entries.post_entries(conn, account_id=account_id, entries=entries)
