"""Names and aliases for the tests of the room, made through its door."""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import LIVE, Alias, AliasChange, AliasName, AliasSpec, Name, PriceInterval
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from tests.cast import Client, Person
from tests.profile.make import Office as ProfileOffice, text

ALIASES, DESTINATIONS = "/v1/aliases", "/v1/aliases/destinations"
RESEND, CONFIRM = f"{DESTINATIONS}/resend", f"{DESTINATIONS}/confirm"
QUARANTINE = timedelta(days=90)
Json = dict[str, Any]
PROGRAM = {"Accept": "application/json"}
_LINK = re.compile(rf"https?://\S+{CONFIRM}\?token=([\w-]+)")


def fresh(label: str = "harbour") -> str:
    """A domain that no other test has; the registry asks no catalog."""
    return f"{label}-{ids.new().hex[16:]}.example"


def wish(local_part: str, domain: str) -> AliasName:
    """A name to look up or to hold."""
    verdict = aliases.validate_local_part(local_part, domain=domain)
    assert verdict.is_ok, verdict.message
    return AliasName(domain=domain, key=verdict.key, skeleton=verdict.skeleton, alias_id=ids.new())


FREE = Money.of("0.00", "USD")  # nothing is billed, so a name that is claimed again continues no paid period


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
        "interval": PriceInterval.YEAR,
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

    def __init__(self, database: Database, *, realm: UUID = LIVE, account_id: UUID | None = None) -> None:
        self.database, self.realm, self.account_id = database, realm, account_id or ids.new()

    @classmethod
    def of(cls, database: Database, person: Person) -> Self:
        """A person's live account."""
        return cls(database, account_id=person.account.id)

    @classmethod
    def twin_of(cls, database: Database, person: Person) -> Self:
        """A person's sandbox."""
        twin = person.account.sandbox_id
        return cls(database, realm=twin, account_id=twin)

    async def claim(self, *specs: AliasSpec) -> Sequence[UUID]:
        """Claims names, all or none."""
        async with self.database.transaction() as conn:
            await aliases.create_aliases(conn, realm=self.realm, account_id=self.account_id, specs=specs)
        return [each.id for each in specs]

    async def claim_one(self, local_part: str, domain: str, *destinations: str, **members: Any) -> UUID:
        """Claims a name; its id."""
        return (await self.claim(spec(local_part, domain, *destinations, **members)))[0]

    async def let_go(self, *names: Name) -> None:
        """Ends holds."""
        async with self.database.transaction() as conn:
            await aliases.release_reservations(conn, realm=self.realm, account_id=self.account_id, names=names)

    async def hold(self, *wanted: AliasName, for_: timedelta = timedelta(minutes=15)) -> None:
        """Holds names, all or none."""
        async with self.database.transaction() as conn:
            until = clock.now() + for_
            await aliases.reserve_names(
                conn, realm=self.realm, account_id=self.account_id, wanted=wanted, until=until
            )

    async def update(self, *changes: AliasChange) -> None:
        """Changes aliases, all or none."""
        async with self.database.transaction() as conn:
            await aliases.update_aliases(conn, account_id=self.account_id, changes=changes)

    async def release(self, *gone: Alias, quarantine: timedelta = QUARANTINE) -> None:
        """Gives up aliases, all or none."""
        async with self.database.transaction() as conn:
            versions = {alias.id: alias.version for alias in gone}
            await aliases.release_aliases(
                conn, realm=self.realm, account_id=self.account_id, versions=versions, quarantine=quarantine
            )
            await aliases.withdraw_charges(conn, account_id=self.account_id, alias_ids=versions)

    async def aliases(self, manifest: str = "acme-mail") -> dict[str, Alias]:
        """What a manifest manages, by local part."""
        async with self.database.connection() as conn:
            found = await aliases.list_aliases(conn, account_id=self.account_id, manifest=manifest)
        return {alias.local_part: alias for alias in found}

    async def sees(self, *wanted: AliasName) -> dict[str, str]:
        """Why names are not free for this account, by key; free ones are absent."""
        async with self.database.connection() as conn:
            found = await aliases.check_availability(
                conn, realm=self.realm, wanted=wanted, account_id=self.account_id
            )
        return {name.key: standing.reason.value for name, standing in found.items()}


async def prune(database: Database) -> int:
    """Frees all names whose time is over."""
    async with database.transaction() as conn:
        return await aliases.prune_names(conn)


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


class Office(ProfileOffice):
    """Has the news told and the jobs done, and finds what readers of destinations were mailed."""

    async def tokens(self, address: str) -> list[str]:
        """The tokens of the links that the address got, oldest first."""
        found = [_LINK.search(text(each)) for each in await self.letters(address)]
        return [each[1] for each in found if each is not None]


def somebody(name: str = "reader") -> str:
    """An address that no other test has."""
    return f"{name}-{ids.new().hex}@example.net"


async def told(conn: Conn, account_id: UUID, name: str = "alias.%") -> list[tuple[str, Json]]:
    """What was told of the account's names, in order: event and data."""
    cursor = await conn.execute(
        "SELECT name, data::jsonb FROM kit_outbox WHERE account_id = %s AND name LIKE %s ORDER BY id",
        [account_id, name],
    )
    return [(row[0], row[1]) for row in await cursor.fetchall()]


async def overtake(database: Database) -> None:
    """Until all transactions of the server that began before now have ended, those of other tests too."""
    async with database.connection() as conn:
        row = await (await conn.execute("SELECT pg_current_xact_id()::text::bigint")).fetchone()
        while row is not None and await aliases.get_horizon(conn, since=0) <= row[0]:
            pass


async def destinations(client: Client) -> dict[str, Json]:
    """The readers of an account, by address."""
    answer = await client.get(DESTINATIONS)
    assert answer.status_code == 200, answer.text
    return {each["email"]: each for each in answer.json()["items"]}


async def verified(client: Client, email: str) -> bool:
    """Whether the reader has agreed."""
    return bool((await destinations(client))[email]["verified"])
