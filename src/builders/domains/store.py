"""All SQL of account domains. A thousand domains need as many statements as one."""

from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from pydantic_core import to_json

from builders.domains.records import (
    AccountDomain,
    AccountDomainStatus,
    DkimKey,
    DnsHealth,
    DomainProof,
    DomainSource,
)
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, newest_rows, query, stale_rows
from builders.kit.values.conflicts import key_columns

_HEALTH = TypeAdapter(DnsHealth)

# The columns that change. An INSERT and an UPDATE read them from JSON, with the types of the table.
_WRITTEN = """
    source, status, proof, catch_all, default_destination, manifest, manifest_key, health, asked_at, lost_at,
    checks, next_check_at, verified_at, suspended_at, released_at, updated_at, version
"""
COLUMNS = f"account_id, id, realm, domain, token, added_at, {_WRITTEN}"
INSERT = f"""
    INSERT INTO domains_domains ({COLUMNS})
    SELECT {COLUMNS} FROM jsonb_populate_recordset(NULL::domains_domains, %(domains)s::jsonb)
    WHERE account_id = %(account_id)s
    ON CONFLICT (account_id, domain) WHERE status <> 'released' DO NOTHING
"""
UPDATE = f"""
    UPDATE domains_domains AS domain
    SET ({_WRITTEN}) = (SELECT {_WRITTEN} FROM (SELECT changed.*) AS new)
    FROM jsonb_populate_recordset(NULL::domains_domains, %(domains)s::jsonb) AS changed
    WHERE domain.account_id = %(account_id)s AND domain.id = changed.id
"""
_FIND = f"SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND id = %(domain_id)s"
_LIST_LIVE = f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND status = 'live'
      AND (domain = ANY(%(domains)s::text[]) OR manifest = %(manifest)s)
"""
# Serializes transactions that take keys of the same manifests: the unique key refuses none of them.
_lock_manifests = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('domains ' || %(account_id)s::text || manifest, 0))
    FROM (SELECT DISTINCT unnest(%(manifests)s::text[]) AS manifest ORDER BY manifest) AS wanted
""").run()
_list_taken_keys = query("""
    SELECT manifest, key FROM unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, key)
    WHERE EXISTS (
        SELECT FROM domains_domains AS other
        WHERE other.account_id = %(account_id)s AND other.manifest = wanted.manifest
          AND other.manifest_key = wanted.key AND other.id <> ALL(%(ids)s::uuid[])
    )
""").set_of(tuple[str, str])


def _record(
    *, source: str, status: str, proof: str, health: Mapping[str, object], **columns: Any
) -> AccountDomain:
    return AccountDomain(
        source=DomainSource(source),
        status=AccountDomainStatus(status),
        proof=DomainProof(proof),
        health=_HEALTH.validate_python(health),
        **columns,
    )


# The number of domains that is read under this lock stays valid until the commit.
lock_account = query("SELECT pg_advisory_xact_lock(hashtextextended('domains ' || %(account_id)s::text, 0))").run()
count_domains = query(
    "SELECT count(*) FROM domains_domains WHERE account_id = %(account_id)s AND status <> 'released'"
).value(int)


async def insert(conn: Conn, *, domain: AccountDomain) -> bool:
    """Insert a domain; return False when the account has it."""
    row = {"account_id": domain.account_id, "domains": to_json([domain]).decode()}
    return (await conn.execute(INSERT, row)).rowcount == 1


async def update(conn: Conn, *, account_id: UUID, domains: Sequence[AccountDomain]) -> None:
    """Write locked domains of the account."""
    row = {"account_id": account_id, "domains": to_json(domains).decode()}
    await conn.execute(UPDATE, row)


find = query(_FIND).one(_record)
lock = query(f"{_FIND} FOR UPDATE").one(_record)
find_named = query(f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND domain = %(domain)s AND status <> 'released' FOR UPDATE
""").one(_record)
list_page = query(f"""
    SELECT {COLUMNS} FROM domains_domains
    WHERE account_id = %(account_id)s AND status <> 'released' AND domain > %(after)s
      AND strpos(domain, %(q)s::text) > 0
    ORDER BY domain LIMIT %(limit)s
""").all(_record)


list_live = query(_LIST_LIVE).all(_record)
# In one order, so that transactions that lock some of the same domains cannot deadlock.
lock_live = query(f"{_LIST_LIVE} ORDER BY id FOR SHARE").all(_record)
list_claimable = query(f"""
    SELECT {COLUMNS} FROM domains_domains WHERE account_id = %(account_id)s AND status = 'live' AND NOT catch_all
""").all(_record)
list_newest = newest_rows("domains_domains", columns=COLUMNS, only="realm = %(realm)s").all(_record)
# Locked rows stay unchanged until the commit, so that an update applies to all domains or none.
lock_unchanged = query(f"""
    SELECT {COLUMNS} FROM domains_domains AS domain
    JOIN unnest(%(domain_ids)s::uuid[], %(versions)s::int[]) AS wanted (wanted_id, wanted_version)
      ON domain.id = wanted_id AND domain.version = wanted_version
    WHERE domain.account_id = %(account_id)s AND domain.status <> 'released'
    ORDER BY domain.id FOR UPDATE OF domain
""").all(_record)


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, domains: Sequence[AccountDomain]
) -> AbstractSet[tuple[str, str]]:
    """Return the keys (manifest, key) of these domains that others have; no other is taken until the commit."""
    manifests, keys, ids = key_columns(domains)
    await _lock_manifests(conn, account_id=account_id, manifests=manifests)
    # A second statement sees rows that were committed while the first one waited for the lock.
    return await _list_taken_keys(conn, account_id=account_id, manifests=manifests, keys=keys, ids=ids)


# False when another account holds it.
# The unique key decides: if two accounts prove a domain concurrently, the second one waits and is then refused.
set_holder = query("""
    INSERT INTO domains_holders (realm, domain, account_id, domain_id)
    VALUES (%(realm)s, %(domain)s, %(account_id)s, %(domain_id)s)
    ON CONFLICT (realm, domain) DO UPDATE SET domain_id = excluded.domain_id
    WHERE domains_holders.account_id = excluded.account_id
""").changes()
find_holder = query("""
    SELECT account_id, domain_id FROM domains_holders WHERE realm = %(realm)s AND domain = %(domain)s
""").one(tuple[UUID, UUID])
list_held = query("""
    SELECT domain FROM domains_holders WHERE realm = %(realm)s AND domain = ANY(%(domains)s::text[])
""").set_of(str)
delete_holder = query("""
    DELETE FROM domains_holders
    WHERE realm = %(realm)s AND domain = %(domain)s AND account_id = %(account_id)s
""").changes()
list_unreleased = query("""
    SELECT realm, domain, source <> 'catalog' FROM domains_domains
    WHERE account_id = %(account_id)s AND status <> 'released'
""").all(tuple[UUID, str, bool])
delete_keys = query("DELETE FROM domains_dkim_keys WHERE domain = ANY(%(domains)s::text[])").run()
# A lease: the domains of a killed worker are due again when it ends.
list_due = due_rows("domains_domains", by="next_check_at").all(tuple[UUID, UUID])
claim_due = query(f"""
    WITH due AS (
        SELECT id FROM domains_domains
        WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[]) AND next_check_at <= %(now)s
        FOR UPDATE SKIP LOCKED
    )
    UPDATE domains_domains SET next_check_at = %(leased_until)s
    WHERE account_id = %(account_id)s AND id IN (SELECT id FROM due)
    RETURNING {COLUMNS}
""").all(_record)
clear = query("""
    WITH holder AS (
        DELETE FROM domains_holders WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), deleted AS (
        DELETE FROM domains_domains WHERE account_id = %(account_id)s RETURNING status
    )
    SELECT count(*) FROM deleted WHERE status <> 'released'
""").value(int)


# Keys of domains (DKIM).
list_holders = query("""
    SELECT account_id, domain_id FROM domains_holders
    WHERE realm = '00000000-0000-0000-0000-000000000000' AND domain = ANY(%(domains)s::text[])
""").all(tuple[UUID, UUID])
check_now = query("""
    UPDATE domains_domains AS domain SET next_check_at = %(now)s
    FROM unnest(%(account_ids)s::uuid[], %(ids)s::uuid[]) AS held (account_id, id)
    WHERE domain.account_id = ANY(%(account_ids)s::uuid[]) AND domain.account_id = held.account_id
      AND domain.id = held.id AND domain.next_check_at > %(now)s
""").run()
_KEY = "domain, selector, private_key, public_key, created_at, published_at"
find_signing_key = query(f"""
    SELECT {_KEY} FROM domains_dkim_keys WHERE domain = %(domain)s AND published_at IS NOT NULL
    ORDER BY created_at DESC LIMIT 1
""").one(DkimKey)
list_keys = query(f"""
    SELECT {_KEY} FROM domains_dkim_keys WHERE domain = ANY(%(domains)s::text[]) ORDER BY domain, created_at DESC
""").all(DkimKey)
add_key = query("""
    INSERT INTO domains_dkim_keys (domain, selector, private_key, public_key, created_at, next_check_at)
    VALUES (%(domain)s, %(selector)s, %(private_key)s, %(public_key)s, %(now)s, %(now)s)
    ON CONFLICT DO NOTHING
""").run()
list_due_keys = due_rows("domains_dkim_keys", by="next_check_at", columns="domain, selector").all(tuple[str, str])
# Those that no other worker has claimed meanwhile.
claim_keys = query(f"""
    UPDATE domains_dkim_keys AS key SET next_check_at = %(next_check_at)s
    FROM unnest(%(domains)s::text[], %(selectors)s::text[]) AS due (domain, selector)
    WHERE key.domain = ANY(%(domains)s::text[]) AND key.domain = due.domain AND key.selector = due.selector
      AND key.next_check_at <= %(now)s
    RETURNING {", ".join(f"key.{name}" for name in _KEY.split(", "))}
""").all(DkimKey)
record_key = query("""
    UPDATE domains_dkim_keys SET checked_at = %(now)s, next_check_at = %(next_check_at)s,
        published_at = CASE WHEN %(is_published)s THEN coalesce(published_at, %(now)s) END
    WHERE domain = %(domain)s AND selector = %(selector)s
""").run()
delete_replaced_keys = query("""
    DELETE FROM domains_dkim_keys AS old USING domains_dkim_keys AS newer
    WHERE newer.domain = old.domain AND newer.created_at > old.created_at AND newer.published_at < %(before)s
""").run()
list_stale_keys = stale_rows(
    "domains_dkim_keys",
    sealed="private_key",
    key="domain, selector",
    after="%(after_domain)s, %(after_selector)s",
    columns=_KEY,
).all(DkimKey)
replace_private_key = query("""
    UPDATE domains_dkim_keys SET private_key = %(after)s
    WHERE domain = %(domain)s AND selector = %(selector)s AND private_key = %(before)s
""").changes()
