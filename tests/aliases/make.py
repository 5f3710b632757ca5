"""Names and aliases for the tests of the room, made through its door."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import LIVE, Alias, AliasChange, AliasSpec, Name, Wanted
from builders.kit import clock, ids
from builders.kit.db import Conn, Database
from builders.kit.money import Money

QUARANTINE = timedelta(days=90)


def fresh(label: str = "harbour") -> str:
    """A domain that no other test has; the registry asks no catalog."""
    return f"{label}-{ids.new().hex[16:]}.example"


def wish(local_part: str, domain: str) -> Wanted:
    """A name to look up or to hold."""
    verdict = aliases.judge(local_part, domain=domain)
    assert verdict.is_ok, verdict.message
    return Wanted(domain=domain, key=verdict.key, skeleton=verdict.skeleton, alias_id=ids.new())


def spec(local_part: str, domain: str, *destinations: str, **members: Any) -> AliasSpec:
    """A name to claim; under the manifest `acme-mail`, unless said otherwise, with the local part as its key."""
    wanted = wish(local_part, domain)
    given: dict[str, Any] = {
        "enabled": True,
        "note": None,
        "labels": {},
        "manifest": "acme-mail",
        "manifest_key": local_part,
        "price": Money.of("12.00", "USD"),
        "interval": "year",
        **members,
    }
    return AliasSpec(
        id=ids.new(),
        domain=domain,
        local_part=local_part,
        key=wanted.key,
        skeleton=wanted.skeleton,
        destinations=destinations or ("ada@example.net",),
        **given,
    )


def change(alias: Alias, **members: Any) -> AliasChange:
    """An alias as it is, but for the members given."""
    given: dict[str, Any] = {
        "version": alias.version,
        "destinations": alias.destinations,
        "enabled": alias.enabled,
        "note": alias.note,
        "labels": alias.labels,
        "manifest": alias.manifest,
        "manifest_key": alias.manifest_key,
        **members,
    }
    return AliasChange(id=alias.id, **given)


class Owner:
    """An account that claims and gives up names, each call in a transaction of its own."""

    def __init__(self, database: Database, *, realm: UUID = LIVE) -> None:
        self.database, self.realm, self.account_id = database, realm, ids.new()

    async def claim(self, *specs: AliasSpec) -> Sequence[UUID]:
        """Claims names, all or none."""
        async with self.database.transaction() as conn:
            await aliases.create(conn, realm=self.realm, account_id=self.account_id, specs=specs)
        return [each.id for each in specs]

    async def hold(self, *wanted: Wanted, for_: timedelta = timedelta(minutes=15)) -> None:
        """Holds names, all or none."""
        async with self.database.transaction() as conn:
            until = clock.now() + for_
            await aliases.hold(conn, realm=self.realm, account_id=self.account_id, wanted=wanted, until=until)

    async def update(self, *changes: AliasChange) -> None:
        """Changes aliases, all or none."""
        async with self.database.transaction() as conn:
            await aliases.update(conn, account_id=self.account_id, changes=changes)

    async def release(self, *gone: Alias, quarantine: timedelta = QUARANTINE) -> None:
        """Gives up aliases, all or none."""
        async with self.database.transaction() as conn:
            await aliases.release(
                conn,
                realm=self.realm,
                account_id=self.account_id,
                versions={alias.id: alias.version for alias in gone},
                quarantine=quarantine,
            )

    async def aliases(self, manifest: str = "acme-mail") -> dict[str, Alias]:
        """What a manifest manages, by local part."""
        async with self.database.reading() as conn:
            found = await aliases.list_aliases(conn, account_id=self.account_id, manifest=manifest)
        return {alias.local_part: alias for alias in found}

    async def sees(self, *wanted: Wanted) -> dict[str, str]:
        """Why names are not free for this account, by key; free ones are absent."""
        async with self.database.reading() as conn:
            found = await aliases.look_up(conn, realm=self.realm, wanted=wanted, account_id=self.account_id)
        return {name.key: standing.reason.value for name, standing in found.items()}


async def prune(database: Database) -> int:
    """Frees all names whose time is over."""
    async with database.transaction() as conn:
        return await aliases.prune(conn)


async def registry(conn: Conn, domain: str) -> dict[Name, str]:
    """Every name of the domain in any realm, and its state; checks that looks are counted right."""
    rows = await (
        await conn.execute("SELECT realm, skeleton, key, state FROM aliases_names WHERE domain = %s", [domain])
    ).fetchall()
    looks = await (
        await conn.execute(
            "SELECT realm, skeleton, names FROM aliases_skeletons WHERE domain = %s AND names > 0", [domain]
        )
    ).fetchall()
    assert {(row[0], row[1]): row[2] for row in looks} == Counter((row[0], row[1]) for row in rows)
    return {Name(domain, row[2]): row[3] for row in rows}
