"""All SQL of the catalog. Its tables are reference data: no statement names an account."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic_core import to_json

from builders.aliases.records import PriceInterval, Rules, SeparatorPolicy
from builders.catalog.records import (
    Asset,
    Assets,
    CatalogDomain,
    Category,
    DomainStatus,
    FunnelLine,
    MailMode,
    Popularity,
    Price,
    PriceTier,
    ShortNamePrice,
    StoredEvent,
)
from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money

partitions.declare("catalog_events", retention=timedelta(days=90), setting="tracking_days")

_NO_ASSETS = Assets()

# The columns that a file sets.
_LOADED = """
    title, tagline, description, categories, tags, status, mail_mode, catch_all,
    price_amount, price_currency, price_interval, price_tier, short_name_prices, min_local_length,
    separator_policy, featured, rank, logo, cover, icon
"""
COLUMNS = f"id, domain, {_LOADED}, popularity, serial, created_at, updated_at"
FIND_DOMAINS = f"SELECT {COLUMNS} FROM catalog_domains WHERE domain = ANY(%(domains)s::text[])"
# Another separator policy produces other keys, and claimed names would appear available: the policy is fixed as
# soon as names can be claimed.
LIST_FIXED_POLICIES = """
    SELECT old.domain, old.separator_policy
    FROM unnest(%(domains)s::text[], %(policies)s::text[]) AS new (domain, policy)
    JOIN catalog_domains AS old ON old.domain = new.domain
    WHERE old.separator_policy <> new.policy AND old.status <> 'coming_soon'
"""
LOAD = f"""
    -- The rows that create a domain or change one. A column that a row lacks keeps the present value; a new domain
    -- has the default. An unchanged row gets no serial, so no process reads it again.
    WITH changed AS (
        SELECT old.id AS old_id, new.*
        FROM jsonb_array_elements(%(rows)s::jsonb) AS given
        LEFT JOIN catalog_domains AS old ON old.domain = given ->> 'domain'
        CROSS JOIN LATERAL jsonb_populate_record(
            old, CASE WHEN old.id IS NULL THEN %(defaults)s::jsonb || given ELSE given - 'id' END
        ) AS new
        WHERE new IS DISTINCT FROM old
    ), written AS (
        -- New domains are inserted with the id of their row; a present domain keeps its id and created_at.
        INSERT INTO catalog_domains (id, domain, {_LOADED}, serial, created_at, updated_at)
        SELECT id, domain, {_LOADED}, nextval('catalog_serial'), %(now)s, %(now)s FROM changed
        ON CONFLICT (domain) DO UPDATE
        SET ({_LOADED}, serial, updated_at) = (
            SELECT {_LOADED}, serial, updated_at FROM (SELECT excluded.*) AS new
        )
    )
    SELECT domain, separator_policy, old_id IS NULL FROM changed
"""
_EVENT = """
    id, created_at, occurred_at, kind, domain, local_part, category, result, session_id, referrer, utm, metadata,
    is_machine, agent, network
"""
# One JSON text for all rows takes less time than sixteen arrays.
INSERT_EVENTS = f"""
    WITH given AS (
        SELECT decode(key, 'hex') AS key, {_EVENT}
        FROM json_to_recordset(%(rows)s::json) AS given (
            id uuid, key text, created_at timestamptz, occurred_at timestamptz, kind text, domain text,
            local_part text, category text, result text, session_id text, referrer text, utm jsonb, metadata jsonb,
            is_machine boolean, agent text, network cidr
        )
    ), fresh AS (
        -- The events whose key is new. In the order of keys: batches that share keys wait and cannot deadlock.
        INSERT INTO catalog_event_keys (key, event_id, created_at)
        SELECT key, id, created_at FROM given WHERE key IS NOT NULL ORDER BY key, id
        ON CONFLICT (key) DO NOTHING
        RETURNING event_id
    )
    -- The events that are not repeats: without a key, or with a new one.
    INSERT INTO catalog_events ({_EVENT})
    SELECT {_EVENT} FROM given WHERE key IS NULL OR id IN (SELECT event_id FROM fresh)
"""
SET_TIMEOUTS = "SELECT set_config('statement_timeout', '300s', true), set_config('lock_timeout', '300s', true)"
# One roll-up at a time: a concurrent one with an older snapshot could write last and lose the newer sums.
LOCK_SUMS = "LOCK TABLE catalog_daily IN SHARE ROW EXCLUSIVE MODE"
ROLL_UP = """
    -- The sums of a day replace those before.
    INSERT INTO catalog_daily (day, domain, kind, result, people, machines, sessions)
    SELECT %(day)s, domain, kind, result, sum(people), sum(machines),
           count(*) FILTER (WHERE people > 0 AND session_id IS NOT NULL)
    FROM (
        -- Grouped by session first: count(DISTINCT session_id) would sort every event. The bounds of created_at
        -- limit the search to the partitions that can have events of the day.
        SELECT coalesce(domain, '') AS domain, kind, coalesce(result, '') AS result, session_id,
               count(*) FILTER (WHERE NOT is_machine) AS people, count(*) FILTER (WHERE is_machine) AS machines
        FROM catalog_events
        WHERE occurred_at >= %(start)s AND occurred_at < %(end)s
          AND created_at >= %(received_from)s AND created_at < %(received_until)s
        GROUP BY coalesce(domain, ''), kind, coalesce(result, ''), session_id
    ) AS by_session
    GROUP BY domain, kind, result
    ON CONFLICT (day, domain, kind, result) DO UPDATE
    SET people = excluded.people, machines = excluded.machines, sessions = excluded.sessions
"""
# Held until the end of each transaction that changes the catalog, so that serials commit in order.
lock = query("SELECT pg_advisory_xact_lock(hashtext('catalog_serial'))").run()
# The serial of the last change; 0 before the first.
get_version = query("""
    SELECT coalesce(
        greatest((SELECT max(serial) FROM catalog_domains), (SELECT max(serial) FROM catalog_categories)), 0
    )
""").value(int)
list_categories = query("""
    SELECT slug, name, description, position, parent, serial FROM catalog_categories ORDER BY position, slug
""").all(Category)
# Rows, in the order of the serial: records take time to build.
list_changes = query(f"""
    SELECT {COLUMNS} FROM catalog_domains WHERE serial > %(after)s ORDER BY serial LIMIT %(limit)s
""").all(dict[str, Any])


async def load_domains(conn: Conn, *, domains: Iterable[str]) -> dict[str, CatalogDomain]:
    """Return those of the domains (A-labels) that are in the catalog, of any status, by name."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_DOMAINS, {"domains": sorted(set(domains))})
        return {row["domain"]: record(row) for row in await cursor.fetchall()}


async def list_fixed_policies(conn: Conn, *, rows: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Return the domain and its policy for each row that would change a fixed policy."""
    given = {str(row["domain"]): row.get("separator_policy") for row in rows if row.get("separator_policy")}
    row = {"domains": list(given), "policies": list(given.values())}
    return dict(await (await conn.execute(LIST_FIXED_POLICIES, row)).fetchall())


async def load(
    conn: Conn, *, rows: Iterable[Mapping[str, object]], defaults: Mapping[str, object], now: datetime
) -> Sequence[tuple[str, SeparatorPolicy, bool]]:
    """Write the changes of the rows, under the lock; return each domain, its policy, and whether it is new."""
    row = {"rows": Jsonb(list(rows)), "defaults": Jsonb(defaults), "now": now}
    return [
        (domain, SeparatorPolicy(policy), is_new)
        for domain, policy, is_new in await (await conn.execute(LOAD, row)).fetchall()
    ]


def record(row: Mapping[str, Any]) -> CatalogDomain:
    """Return the record of a row. Values that many of the 100,000 domains share are one object."""
    names = ("id", "domain", "title", "tagline", "description", "catch_all", "featured", "rank", "serial")
    unicode_domain = unicode_of(row["domain"])
    images = {kind: row[kind] for kind in ("logo", "cover", "icon") if row[kind]}
    alt = row["title"] or unicode_domain
    return CatalogDomain(
        **{name: row[name] for name in (*names, "created_at", "updated_at")},
        unicode_domain=unicode_domain,
        categories=_shared(tuple(row["categories"])),
        tags=_shared(tuple(row["tags"])),
        status=DomainStatus(row["status"]),
        mail_mode=MailMode(row["mail_mode"]),
        price=_price(row["price_amount"], row["price_currency"], row["price_interval"], row["price_tier"]),
        short_name_prices=tuple(
            ShortNamePrice(max_len=band["max_len"], money=Money.of(band["amount"], row["price_currency"]))
            for band in row["short_name_prices"]
        ),
        rules=_rules(row["min_local_length"], row["separator_policy"]),
        assets=Assets(**{kind: Asset(**image, alt=f"{alt} {kind}") for kind, image in images.items()})
        if images
        else _NO_ASSETS,
        popularity=Popularity(row["popularity"]),
    )


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


async def insert_events(conn: Conn, *, events: Sequence[StoredEvent], event_ids: Sequence[UUID]) -> int:
    """Write the events that are not repeats; return their number."""
    rows = [
        {
            **event._asdict(),  # members without a column in `given` are ignored
            "kind": str(event.kind),  # to_json takes a µs for each enum
            "result": event.result and str(event.result),
            "id": event_id,
            "key": key and key.hex(),
            "created_at": at,
            "occurred_at": occurred_at,
            "is_machine": visitor.machine is not None,
            "agent": str(visitor.agent),
            "network": visitor.network,
        }
        for (key, at, occurred_at, event, visitor), event_id in zip(events, event_ids, strict=True)
    ]
    return (await conn.execute(INSERT_EVENTS, {"rows": to_json(rows).decode()})).rowcount


load_keys = query("SELECT key, event_id FROM catalog_event_keys WHERE key = ANY(%(keys)s)").pairs(bytes, UUID)
# The last day up to today that has sums; without any sums, the day of the first event.
find_last_day = query("""
    SELECT coalesce(
        (SELECT max(day) FROM catalog_daily WHERE day <= %(today)s),
        (SELECT (min(created_at) AT TIME ZONE 'UTC')::date FROM catalog_events)
    )
""").scalar(date)


async def roll_up(
    conn: Conn, *, day: date, start: datetime, end: datetime, late: timedelta, early: timedelta
) -> None:
    """Sum up a day again; its events arrive between `early` before and `late` after their time."""
    await conn.execute(SET_TIMEOUTS)
    await conn.execute(LOCK_SUMS)
    row = {"day": day, "start": start, "end": end, "received_from": start - early, "received_until": end + late}
    await conn.execute(ROLL_UP, row)


# The number of changes.
rank = query("""
    -- The points of each domain with visitors: its sessions, or its events without sessions, by the weight of the
    -- step.
    WITH points AS (
        SELECT domain, sum(
            CASE WHEN sessions > 0 THEN sessions ELSE people END * CASE kind
                WHEN 'claim' THEN 10 WHEN 'check' THEN 3 ELSE 1 END
        ) AS points
        FROM catalog_daily WHERE day >= %(since)s AND domain <> '' GROUP BY domain
    ), placed AS (
        -- The share of domains with at most as many points.
        SELECT domain, points, cume_dist() OVER (ORDER BY points) AS place FROM points
    ), wanted AS (
        -- The popularity of every domain of the catalog, by the least points and the share of domains below.
        SELECT known.domain, CASE
            WHEN points >= %(high_from)s AND place > %(high_above)s THEN 'high'
            WHEN points >= %(medium_from)s AND place > %(medium_above)s THEN 'medium'
            ELSE 'low' END AS popularity
        FROM catalog_domains AS known LEFT JOIN placed ON placed.domain = known.domain
    ), changed AS (
        -- Only a change takes a new serial: each process reads the domains with newer serials again.
        SELECT wanted.domain, wanted.popularity, nextval('catalog_serial') AS serial
        FROM wanted JOIN catalog_domains AS known ON known.domain = wanted.domain
        WHERE wanted.popularity <> known.popularity
    )
    UPDATE catalog_domains AS known SET popularity = changed.popularity, serial = changed.serial
    FROM changed WHERE changed.domain = known.domain
""").count()
# Not prepared: one domain and all domains need different plans.
report = query("""
    SELECT domain,
           coalesce(sum(people) FILTER (WHERE kind = 'view'), 0)::bigint AS views,
           coalesce(sum(people) FILTER (WHERE kind = 'check'), 0)::bigint AS checks,
           coalesce(sum(people) FILTER (WHERE kind = 'check' AND result = 'available'), 0)::bigint AS available,
           coalesce(sum(people) FILTER (WHERE kind = 'claim'), 0)::bigint AS claims,
           coalesce(sum(people) FILTER (WHERE kind = 'claim' AND result = 'completed'), 0)::bigint AS completed,
           sum(sessions)::bigint AS sessions,
           sum(machines)::bigint AS machines
    FROM catalog_daily
    WHERE day >= %(since)s AND (%(domain)s::text IS NULL OR domain = %(domain)s)
    GROUP BY domain ORDER BY views DESC, checks DESC, domain LIMIT %(limit)s
""").unprepared.all(FunnelLine)
