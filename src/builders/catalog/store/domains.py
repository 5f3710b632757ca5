"""SQL of domains and categories."""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from builders.aliases.records import PriceInterval, Rules, SeparatorPolicy
from builders.catalog.records import (
    Asset,
    Assets,
    CatalogDomain,
    Category,
    DomainStatus,
    MailMode,
    Popularity,
    Price,
    PriceTier,
    ShortNamePrice,
)
from builders.kit.db.connections import Conn
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money

_NO_ASSETS = Assets()

# The columns that a file sets.
_LOADED = """
    title, tagline, description, categories, tags, status, mail_mode, catch_all,
    price_amount, price_currency, price_interval, price_tier, short_name_prices, min_local_length,
    separator_policy, featured, rank, logo, cover, icon
"""
COLUMNS = f"id, domain, {_LOADED}, popularity, serial, created_at, updated_at"
# Held until the end of each transaction that changes the catalog, so that serials commit in order.
LOCK = "SELECT pg_advisory_xact_lock(hashtext('catalog_serial'))"
VERSION = """
    SELECT greatest((SELECT max(serial) FROM catalog_domains), (SELECT max(serial) FROM catalog_categories))
"""
LIST_CATEGORIES = """
    SELECT slug, name, description, position, parent, serial FROM catalog_categories ORDER BY position, slug
"""
LIST_CHANGES = f"""
    SELECT {COLUMNS} FROM catalog_domains WHERE serial > %(after)s ORDER BY serial LIMIT %(limit)s
"""
FIND_DOMAINS = f"""
    SELECT {COLUMNS} FROM catalog_domains WHERE domain = ANY(%(domains)s::text[])
"""
# Another separator policy produces other keys, and claimed names would appear available: the policy is fixed as
# soon as names can be claimed.
LIST_FIXED_POLICIES = """
    SELECT old.domain, old.separator_policy
    FROM unnest(%(domains)s::text[], %(policies)s::text[]) AS new (domain, policy)
    JOIN catalog_domains AS old ON old.domain = new.domain
    WHERE old.separator_policy <> new.policy AND old.status <> 'coming_soon'
"""
LOAD = f"""
    -- The rows that create a domain or change one. An unchanged row gets no serial, so no process reads it again.
    WITH changed AS (
        SELECT new.id, new.domain, old.id AS old_id, merged.*
        FROM jsonb_to_recordset(%(rows)s) AS new (
            id uuid, domain text, title text, tagline text, description text, categories text[], tags text[],
            status text, mail_mode text, catch_all boolean,
            price_amount numeric(12, 3), price_currency char(3), price_interval text, price_tier text,
            short_name_prices jsonb, min_local_length smallint, separator_policy text,
            featured boolean, rank int, logo jsonb, cover jsonb, icon jsonb
        )
        LEFT JOIN catalog_domains AS old ON old.domain = new.domain
        -- Each column: the value of the row; else (null: the file does not have the column) the present value; for
        -- a new domain the default.
        CROSS JOIN LATERAL (
            SELECT coalesce(new.title, old.title, '') AS title,
                   coalesce(new.tagline, old.tagline, '') AS tagline,
                   coalesce(new.description, old.description, '') AS description,
                   coalesce(new.categories, old.categories, '{{}}') AS categories,
                   coalesce(new.tags, old.tags, '{{}}') AS tags,
                   coalesce(new.status, old.status, 'live') AS status,
                   coalesce(new.mail_mode, old.mail_mode, 'both') AS mail_mode,
                   coalesce(new.catch_all, old.catch_all, false) AS catch_all,
                   coalesce(new.price_amount, old.price_amount, 0) AS price_amount,
                   coalesce(new.price_currency, old.price_currency, 'USD') AS price_currency,
                   coalesce(new.price_interval, old.price_interval, 'year') AS price_interval,
                   coalesce(new.price_tier, old.price_tier, 'standard') AS price_tier,
                   coalesce(new.short_name_prices, old.short_name_prices, '[]') AS short_name_prices,
                   coalesce(new.min_local_length, old.min_local_length, 1::smallint) AS min_local_length,
                   coalesce(new.separator_policy, old.separator_policy, 'ignore_dots') AS separator_policy,
                   coalesce(new.featured, old.featured, false) AS featured,
                   coalesce(new.rank, old.rank, 0) AS rank,
                   coalesce(new.logo, old.logo, '{{}}') AS logo,
                   coalesce(new.cover, old.cover, '{{}}') AS cover,
                   coalesce(new.icon, old.icon, '{{}}') AS icon
        ) AS merged
        -- Without the columns that the file never sets: popularity, serial and times.
        WHERE merged IS DISTINCT FROM ROW(
            old.title, old.tagline, old.description, old.categories, old.tags, old.status, old.mail_mode,
            old.catch_all, old.price_amount, old.price_currency, old.price_interval, old.price_tier,
            old.short_name_prices, old.min_local_length, old.separator_policy, old.featured, old.rank,
            old.logo, old.cover, old.icon
        )
    ), written AS (
        -- New domains are inserted with the id of their row; a present domain keeps its id and created_at.
        INSERT INTO catalog_domains (id, domain, {_LOADED}, serial, created_at, updated_at)
        SELECT id, domain, {_LOADED}, nextval('catalog_serial'), %(now)s, %(now)s FROM changed
        ON CONFLICT (domain) DO UPDATE
        SET ({_LOADED}, serial, updated_at)
          = (excluded.title, excluded.tagline, excluded.description, excluded.categories, excluded.tags,
             excluded.status, excluded.mail_mode, excluded.catch_all,
             excluded.price_amount, excluded.price_currency, excluded.price_interval, excluded.price_tier,
             excluded.short_name_prices, excluded.min_local_length,
             excluded.separator_policy, excluded.featured, excluded.rank, excluded.logo, excluded.cover,
             excluded.icon, excluded.serial, excluded.updated_at)
    )
    -- The numbers of created and of updated domains.
    SELECT count(*) FILTER (WHERE old_id IS NULL), count(*) FILTER (WHERE old_id IS NOT NULL) FROM changed
"""


class Row(NamedTuple):
    """A stored domain."""

    id: UUID
    domain: str
    title: str
    tagline: str
    description: str
    categories: list[str]
    tags: list[str]
    status: str
    mail_mode: str
    catch_all: bool
    price_amount: Decimal
    price_currency: str
    price_interval: str
    price_tier: str
    short_name_prices: list[dict[str, Any]]  # as catalog_file.columns reads them
    min_local_length: int
    separator_policy: str
    featured: bool
    rank: int
    logo: dict[str, Any]
    cover: dict[str, Any]
    icon: dict[str, Any]
    popularity: str
    serial: int
    created_at: datetime
    updated_at: datetime


async def lock(conn: Conn) -> None:
    """Wait until no other transaction changes the catalog; exclude others until this one ends."""
    await conn.execute(LOCK)


async def get_version(conn: Conn) -> int:
    """Return the serial of the last change; 0 before the first."""
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(VERSION)
        return int(await cursor.fetchone() or 0)


async def list_categories(conn: Conn) -> list[Category]:
    """Return all categories."""
    async with conn.cursor(row_factory=class_row(Category)) as cursor:
        await cursor.execute(LIST_CATEGORIES)
        return await cursor.fetchall()


async def list_changes(conn: Conn, *, after: int, limit: int) -> list[Row]:
    """Return the domains that changed after a serial, in that order, as rows: records take time to build."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(LIST_CHANGES, {"after": after, "limit": limit})
        return await cursor.fetchall()


async def find_domains(conn: Conn, *, domains: Iterable[str]) -> dict[str, CatalogDomain]:
    """Return those of the domains (A-labels) that are in the catalog, of any status, by name.

    Names can be claimed on a `claimable` domain only. One statement.
    """
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(FIND_DOMAINS, {"domains": sorted(set(domains))})
        return {row.domain: record(row) for row in await cursor.fetchall()}


async def list_fixed_policies(conn: Conn, *, rows: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Return the domain and its policy for each row that would change a fixed policy."""
    given = {str(row["domain"]): row.get("separator_policy") for row in rows if row.get("separator_policy")}
    row = {"domains": list(given), "policies": list(given.values())}
    return dict(await (await conn.execute(LIST_FIXED_POLICIES, row)).fetchall())


async def load(conn: Conn, *, rows: Iterable[Mapping[str, object]], now: datetime) -> tuple[int, int]:
    """Write the changes of the rows, under the lock; return the numbers of created and updated domains."""
    cursor = await conn.execute(LOAD, {"rows": Jsonb(list(rows)), "now": now})
    created, updated = await cursor.fetchone() or (0, 0)
    return created, updated


def record(row: Row) -> CatalogDomain:
    """Return the record of a row. Values that many of the 100,000 domains share are one object."""
    unicode_domain = unicode_of(row.domain)
    return CatalogDomain(
        id=row.id,
        domain=row.domain,
        unicode_domain=unicode_domain,
        title=row.title,
        tagline=row.tagline,
        description=row.description,
        categories=_shared(tuple(row.categories)),
        tags=_shared(tuple(row.tags)),
        status=DomainStatus(row.status),
        mail_mode=MailMode(row.mail_mode),
        catch_all=row.catch_all,
        price=_price(row.price_amount, row.price_currency, row.price_interval, row.price_tier),
        short_name_prices=tuple(
            ShortNamePrice(max_len=band["max_len"], money=Money.of(band["amount"], row.price_currency))
            for band in row.short_name_prices
        ),
        rules=_rules(row.min_local_length, row.separator_policy),
        featured=row.featured,
        rank=row.rank,
        assets=_assets(row, row.title or unicode_domain),
        popularity=Popularity(row.popularity),
        serial=row.serial,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _assets(row: Row, title: str) -> Assets:
    if not (row.logo or row.cover or row.icon):
        return _NO_ASSETS
    named = {"logo": row.logo, "cover": row.cover, "icon": row.icon}
    return Assets(**{kind: Asset(**image, alt=f"{title} {kind}") for kind, image in named.items() if image})


@lru_cache(maxsize=50_000)
def _shared(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(sys.intern, words))


@lru_cache(maxsize=10_000)
def _price(amount: Decimal, currency: str, interval: str, tier: str) -> Price:
    money = Money(amount, currency).quantized()
    return Price(money=money, interval=PriceInterval(interval), tier=PriceTier(tier))


@lru_cache
def _rules(min_length: int, policy: str) -> Rules:
    return Rules(min_length=min_length, separator_policy=SeparatorPolicy(policy))
