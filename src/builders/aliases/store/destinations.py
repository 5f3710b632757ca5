"""Destinations of aliases, and their confirmation: requested, admitted by the daily limit of the account, sent."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from uuid import UUID

from builders.aliases.records import AliasChange, AliasSpec, Destination
from builders.aliases.store.aliases import CHANGED, SERIAL
from builders.kit.db.connections import Conn
from builders.kit.db.queries import due_rows, query


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationLink:
    """The destination of a mailed link."""

    account_id: UUID
    email: str
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDestination:
    """A destination whose confirmation is requested, and waits for the account's daily limit."""

    account_id: UUID
    email: str
    is_used: bool  # an alias or a catch-all forwards there


@dataclass(frozen=True, slots=True, kw_only=True)
class DueConfirmation:
    """A destination whose confirmation is to be sent."""

    account_id: UUID
    email: str
    reader: str  # the address in lower case
    mailbox: str  # that receives its mail, as far as the address shows (MAILBOX)
    message_id: UUID | None  # of the previous confirmation
    alias: str | None  # an address that forwards there, `*@` for a catch-all; None if none does


DELETE_FORWARDS = """
    DELETE FROM aliases_forwards WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])"""
# Citus sends the rows of a CTE that another table gets to all nodes, so the addresses are a sub-select.
_NEW_DESTINATIONS = """
    -- 1. The addresses that are new to the account; a confirmation is requested for those without one.
    known AS (
        INSERT INTO aliases_destinations AS destination
            (account_id, email, created_at, verified_at, wanted_at, asks)
        SELECT %(account_id)s::uuid, email, %(now)s::timestamptz, verified_at,
               CASE WHEN verified_at IS NULL THEN %(wanted_at)s::timestamptz END,
               CASE WHEN verified_at IS NULL AND %(wanted_at)s::timestamptz IS NOT NULL
                    THEN ARRAY[%(wanted_at)s::timestamptz] ELSE '{}' END
        FROM (
            -- 2. Each address, and when it was confirmed: the account's own now; another one with any of its
            --    spellings, as case does not count; in a sandbox now. Not with a spelling of a paused one.
            SELECT DISTINCT wanted.email, CASE WHEN known.is_paused THEN NULL WHEN lower(wanted.email) = %(own)s
                THEN %(now)s ELSE coalesce(known.verified_at, %(verified_at)s::timestamptz) END AS verified_at
            FROM unnest(%(emails)s::text[]) AS wanted (email) CROSS JOIN LATERAL (
                SELECT min(verified_at) AS verified_at, bool_or(paused_at IS NOT NULL) AS is_paused
                FROM aliases_destinations
                WHERE account_id = %(account_id)s AND lower(email) = lower(wanted.email)
            ) AS known
        ) AS wanted ORDER BY email
        -- A known address whose request was cancelled before a message was sent is requested again.
        ON CONFLICT (account_id, email) DO UPDATE
        SET wanted_at = excluded.wanted_at,
            asks = destination.asks[cardinality(destination.asks) - 8:] || excluded.asks
        WHERE destination.verified_at IS NULL AND destination.ask_at IS NULL AND destination.wanted_at IS NULL
          AND destination.message_id IS NULL
    )
"""
INSERT_FORWARDS = f"""
    WITH {_NEW_DESTINATIONS}
    -- 3. The destinations of each alias, by position.
    INSERT INTO aliases_forwards (account_id, alias_id, position, email)
    SELECT %(account_id)s, alias_id, position, email
    FROM unnest(%(alias_ids)s::uuid[], %(positions)s::int[], %(emails)s::text[]) AS new (alias_id, position, email)
"""
INSERT_CATCH_ALLS = f"""
    WITH {_NEW_DESTINATIONS}
    -- 3. The destination of each domain.
    INSERT INTO aliases_catch_alls (account_id, domain, email)
    SELECT %(account_id)s, domain, email
    FROM unnest(%(domains)s::text[], %(emails)s::text[]) AS new (domain, email)
"""
_DESTINATIONS = """
    -- 1. The account's waiting destinations, numbered in the sequence of their requests.
    WITH line AS (
        SELECT email, row_number() OVER (ORDER BY wanted_at, email) AS place FROM aliases_destinations
        WHERE account_id = %(account_id)s AND wanted_at IS NOT NULL
    -- 2. The start of the account's current day, and how many confirmations are left in it.
    ), today AS (
        SELECT CASE WHEN since > %(day_ago)s THEN since ELSE date_bin('24 hours', %(now)s, since) END AS since,
               CASE WHEN since > %(day_ago)s THEN greatest(%(quota)s - asked, 0) ELSE %(quota)s END AS free
        FROM aliases_askers WHERE account_id = %(account_id)s
        UNION ALL SELECT %(now)s::timestamptz, %(quota)s ORDER BY free, since LIMIT 1
    )
    -- The newest of `asks` is in the future while the destination waits for another day.
    SELECT email, verified_at IS NOT NULL AND paused_at IS NULL AS verified, verified_at, paused_at,
           turn.at AS asking_at,
           asks[cardinality(asks) - CASE WHEN turn.at IS NULL THEN 0 ELSE 1 END] AS asked_at, created_at
    FROM aliases_destinations AS destination LEFT JOIN line USING (email) CROSS JOIN today CROSS JOIN LATERAL (
        -- 3. From both, when the destination is admitted; NULL for today.
        SELECT CASE WHEN line.place > today.free THEN
            today.since + interval '24 hours' * ((line.place - today.free + %(quota)s - 1) / %(quota)s)
        END AS at
    ) AS turn
    WHERE destination.account_id = %(account_id)s
"""
_FIND_LINK = """
    SELECT account_id, email, used_at FROM aliases_links
    WHERE digest = ANY(%(digests)s::bytea[]) AND expires_at > %(now)s
"""
# Aliases are locked before destinations, as in every change of aliases.
LOCK_ALIASES = """
    SELECT alias.id FROM aliases_destinations AS destination
    JOIN aliases_forwards AS forward
      ON forward.account_id = destination.account_id AND forward.email = destination.email
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    WHERE destination.account_id = %(account_id)s AND lower(destination.email) = lower(%(email)s)
      AND (destination.verified_at IS NULL OR destination.paused_at IS NOT NULL)
    ORDER BY alias.id FOR UPDATE OF alias
"""
# The entries of a mail server change, but not the versions: these count the changes of the owner.
VERIFY = f"""
    WITH verified AS (
        UPDATE aliases_destinations SET verified_at = %(now)s, paused_at = NULL, ask_at = NULL, wanted_at = NULL
        WHERE account_id = %(account_id)s AND lower(email) = lower(%(email)s)
          AND (verified_at IS NULL OR paused_at IS NOT NULL)
        RETURNING account_id, email
    ), forwarding AS (
        SELECT verified.email, alias.account_id, alias.id FROM verified
        JOIN aliases_forwards AS forward
          ON forward.account_id = %(account_id)s AND forward.email = verified.email
        JOIN aliases AS alias
          ON alias.account_id = %(account_id)s AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    ), new AS (
        SELECT id, {SERIAL} FROM (SELECT DISTINCT id FROM forwarding) AS found
    ), changed AS (
        UPDATE aliases AS alias SET {CHANGED} FROM new
        WHERE alias.account_id = %(account_id)s AND alias.id = new.id
    )
    SELECT verified.email, coalesce(array_agg(forwarding.id) FILTER (WHERE forwarding.id IS NOT NULL), '{{}}')
    FROM verified LEFT JOIN forwarding USING (email) GROUP BY 1
"""
# Most mail servers treat the text after a `+` as a tag, and some ignore dots. Two recipients with the same mailbox
# by this rule share only its limit.
MAILBOX = """
    replace(split_part(split_part(lower(destination.email), '@', 1), '+', 1), '.', '')
    || '@' || split_part(lower(destination.email), '@', 2)
"""
# The time of admission replaces the time of the request.
ADMIT = """
    UPDATE aliases_destinations AS destination
    SET wanted_at = NULL, ask_at = coalesce(ask_at, %(now)s),
        asks = asks[:cardinality(asks) - 1] || %(now)s::timestamptz
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS due (account_id, email)
    WHERE destination.account_id = ANY(%(account_ids)s::uuid[]) AND destination.account_id = due.account_id
      AND destination.email = due.email
"""
# Nothing forwards there, or mail to it bounced.
CANCEL = """
    UPDATE aliases_destinations AS destination SET wanted_at = NULL, ask_at = NULL
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS idle (account_id, email)
    WHERE destination.account_id = ANY(%(account_ids)s::uuid[]) AND destination.account_id = idle.account_id
      AND destination.email = idle.email
"""
POSTPONE = """
    WITH late AS (
        SELECT account_id, asked.email, greatest(%(soon)s, (
                SELECT max(at) FROM unnest(reader.asks) AS at
            ) + (%(soon)s::timestamptz - %(now)s::timestamptz)) AS ask_at
        FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(mailboxes)s::text[])
             AS asked (account_id, email, mailbox)
        JOIN aliases_readers AS reader ON reader.email = asked.mailbox
        WHERE reader.email = ANY(%(mailboxes)s::text[])
    )
    UPDATE aliases_destinations AS destination SET ask_at = late.ask_at FROM late
    WHERE destination.account_id = ANY(%(account_ids)s::uuid[]) AND destination.account_id = late.account_id
      AND destination.email = late.email
"""
REPLACE_LINKS = """
    INSERT INTO aliases_links (account_id, email, digest, expires_at)
    SELECT account_id, email, digest, %(expires_at)s
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(digests)s::bytea[])
         AS new (account_id, email, digest)
    ON CONFLICT (account_id, email) DO UPDATE
    SET digest = excluded.digest, expires_at = excluded.expires_at, used_at = NULL
"""
RECORD_SENT = """
    UPDATE aliases_destinations AS destination SET ask_at = NULL, message_id = asked.message_id,
        asks = CASE destination.asks WHEN '{}' THEN ARRAY[%(now)s::timestamptz] ELSE destination.asks END
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(message_ids)s::uuid[])
         AS asked (account_id, email, message_id)
    WHERE destination.account_id = ANY(%(account_ids)s::uuid[]) AND destination.account_id = asked.account_id
      AND destination.email = asked.email
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """When new destinations of an account count as confirmed, or are asked."""

    own: str | None  # the account's verified address, confirmed now
    verified_at: datetime | None  # of others
    wanted_at: datetime | None  # when their confirmation is requested
    now: datetime


async def replace(
    conn: Conn, *, account_id: UUID, forwards: Sequence[AliasSpec | AliasChange], terms: Terms
) -> None:
    """Replace the destinations of aliases."""
    rows = [(each.id, at, email) for each in forwards for at, email in enumerate(each.destinations)]
    ids, positions, emails = zip(*rows, strict=True) if rows else ((), (), ())
    if known := [each.id for each in forwards if not isinstance(each, AliasSpec) or each.continues]:
        await conn.execute(DELETE_FORWARDS, {"account_id": account_id, "alias_ids": known})
    columns = {"alias_ids": list(ids), "positions": list(positions), "emails": list(emails)}
    await conn.execute(INSERT_FORWARDS, {"account_id": account_id, **columns, **asdict(terms)})


delete_catch_alls = query("""
    DELETE FROM aliases_catch_alls WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[])
""").run()


async def insert_catch_alls(
    conn: Conn, *, account_id: UUID, destinations: Mapping[str, str], terms: Terms
) -> None:
    """Insert catch-alls, by domain."""
    columns = {"domains": list(destinations), "emails": list(destinations.values())}
    await conn.execute(INSERT_CATCH_ALLS, {"account_id": account_id, **columns, **asdict(terms)})


list_confirmed = query("""
    SELECT lower(email) FROM aliases_destinations
    WHERE account_id = %(account_id)s AND lower(email) = ANY(%(readers)s::text[]) AND verified_at IS NOT NULL
""").set_of(str)
list_unconfirmed = query("""
    SELECT DISTINCT forward.email
    FROM aliases_forwards AS forward
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    JOIN aliases_destinations AS destination
      ON destination.account_id = forward.account_id AND destination.email = forward.email
     AND (destination.verified_at IS NULL OR destination.paused_at IS NOT NULL)
    WHERE forward.account_id = %(account_id)s AND forward.alias_id = ANY(%(alias_ids)s::uuid[])
    ORDER BY forward.email LIMIT %(limit)s
""").scalars(str)
list_page = query(f"{_DESTINATIONS} AND email > %(after)s ORDER BY email LIMIT %(limit)s").all(Destination)
find = query(f"{_DESTINATIONS} AND email = %(email)s").one(Destination)


find_link = query(_FIND_LINK).one(ConfirmationLink)
lock_link = query(f"{_FIND_LINK} FOR UPDATE").one(ConfirmationLink)
use_link = query("""
    UPDATE aliases_links SET used_at = %(now)s WHERE account_id = %(account_id)s AND email = %(email)s
""").run()


async def verify(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> dict[str, list[UUID]]:
    """Mark the address as confirmed, in all its spellings; return the aliases of each new one."""
    row = {"account_id": account_id, "email": email, "now": now}
    await conn.execute(LOCK_ALIASES, row)
    return dict(await (await conn.execute(VERIFY, row)).fetchall())


# False if the limits of the address refuse it.
# One statement decides, so that a concurrent request finds the first one. It ignores the limit of the mailbox,
# which other accounts share: the result would reveal their requests.
request = query("""
    UPDATE aliases_destinations
    SET wanted_at = %(now)s,
        asks = ARRAY(SELECT at FROM unnest(asks) AS at WHERE at > %(day_ago)s ORDER BY at) || %(now)s::timestamptz
    WHERE account_id = %(account_id)s AND email = %(email)s AND (verified_at IS NULL OR paused_at IS NOT NULL)
      AND wanted_at IS NULL
      AND NOT EXISTS (SELECT FROM unnest(asks) AS at WHERE at > %(gap_ago)s)
      AND (SELECT count(*) FROM unnest(asks) AS at WHERE at > %(day_ago)s) < %(quota)s
""").changes()
# Of the last day.
list_requests = query("""
    SELECT at FROM aliases_destinations, unnest(asks) AS at
    WHERE account_id = %(account_id)s AND email = %(email)s AND at > %(day_ago)s ORDER BY at
""").scalars(datetime)
has_waiting = query("""
    SELECT FROM aliases_destinations
    WHERE account_id = ANY(%(account_ids)s::uuid[]) AND wanted_at IS NOT NULL LIMIT 1
""").exists()
# Accounts below their daily limit with waiting destinations; of the oldest request first, an account for each.
list_waiting = query("""
    SELECT destination.account_id
    FROM aliases_destinations AS destination LEFT JOIN aliases_askers AS asker USING (account_id)
    WHERE destination.wanted_at IS NOT NULL
      AND (asker.since IS NULL OR asker.since <= %(day_ago)s OR asker.asked < %(quota)s)
    ORDER BY destination.wanted_at, destination.email LIMIT %(limit)s
""").scalars(UUID)
# Without those that another worker has locked.
lock_waiting = query("""
    SELECT destination.account_id, destination.email, EXISTS (
        SELECT FROM aliases_forwards AS forward JOIN aliases AS alias
          ON alias.account_id = %(account_id)s AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        WHERE forward.account_id = %(account_id)s AND forward.email = destination.email
    ) OR EXISTS (
        SELECT FROM aliases_catch_alls AS catch_all
        WHERE catch_all.account_id = %(account_id)s AND catch_all.email = destination.email
    ) AS is_used
    FROM aliases_destinations AS destination LEFT JOIN aliases_askers AS asker ON asker.account_id = %(account_id)s
    WHERE destination.account_id = %(account_id)s AND destination.wanted_at IS NOT NULL
      AND (asker.since IS NULL OR asker.since <= %(day_ago)s OR asker.asked < %(quota)s)
    ORDER BY destination.wanted_at, destination.email LIMIT %(limit)s FOR UPDATE OF destination SKIP LOCKED
""").all(WaitingDestination)
# The wanted confirmations of an account, up to its daily limit; returns how many are granted.
# One statement decides, so that concurrent transactions stay below the limit. Each day of an account starts at a
# multiple of 24 hours after its first one, so that a date which the account has read stays true.
take_quota = query("""
    INSERT INTO aliases_askers AS asker (account_id, since, asked, granted)
    VALUES (%(account_id)s, %(now)s, least(%(wanted)s::int, %(quota)s), least(%(wanted)s::int, %(quota)s))
    ON CONFLICT (account_id) DO UPDATE SET
        since = CASE WHEN asker.since > %(day_ago)s THEN asker.since
                     ELSE date_bin('24 hours', %(now)s, asker.since) END,
        asked = CASE WHEN asker.since > %(day_ago)s
                     THEN greatest(asker.asked, least(asker.asked + excluded.asked, %(quota)s))
                     ELSE excluded.asked END,
        granted = CASE WHEN asker.since > %(day_ago)s
                       THEN least(excluded.asked, greatest(%(quota)s - asker.asked, 0)) ELSE excluded.asked END
    RETURNING granted
""").value(int)


async def admit(conn: Conn, *, due: Sequence[WaitingDestination], now: datetime) -> None:
    """Mark confirmations as due."""
    await conn.execute(ADMIT, {**_keys(due), "now": now})


async def cancel(conn: Conn, *, idle: Sequence[WaitingDestination | DueConfirmation]) -> None:
    """Cancel confirmations."""
    await conn.execute(CANCEL, _keys(idle))


# The accounts of the oldest ones.
list_due = due_rows("aliases_destinations", by="ask_at", columns="account_id").scalars(UUID)
# Without those that another worker has locked. OFFSET 0 makes PostgreSQL read the few aliases of an address: by id
# it would read all aliases of the account.
lock_due = query(f"""
    SELECT destination.account_id, destination.email, lower(destination.email) AS reader, {MAILBOX} AS mailbox,
           destination.message_id,
           coalesce(named.address, (
               SELECT min('*@' || domain) FROM aliases_catch_alls AS catch_all
               WHERE catch_all.account_id = %(account_id)s AND catch_all.email = destination.email
           )) AS alias
    -- The first alias that forwards to the destination.
    FROM aliases_destinations AS destination LEFT JOIN LATERAL (
        SELECT alias.local_part || '@' || alias.domain AS address
        FROM (
            SELECT alias_id FROM aliases_forwards
            WHERE account_id = %(account_id)s AND email = destination.email OFFSET 0
        ) AS forward
        JOIN aliases AS alias
          ON alias.account_id = %(account_id)s AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        ORDER BY alias.id LIMIT 1
    ) AS named ON true
    WHERE destination.account_id = %(account_id)s AND destination.ask_at <= %(now)s
    ORDER BY destination.ask_at LIMIT %(limit)s FOR UPDATE OF destination SKIP LOCKED
""").all(DueConfirmation)
list_bounced = query("""
    SELECT email FROM aliases_readers WHERE email = ANY(%(readers)s::text[]) AND bounced_at > %(since)s
""").set_of(str)
# Counts a confirmation for a mailbox that is below its limits, which count the confirmations of all accounts.
reserve_mailbox = query("""
    INSERT INTO aliases_readers AS reader (email, asks) VALUES (%(mailbox)s, ARRAY[%(now)s::timestamptz])
    ON CONFLICT (email) DO UPDATE SET asks = kit_after(reader.asks, %(day_ago)s) || excluded.asks
    WHERE cardinality(kit_after(reader.asks, %(gap_ago)s)) = 0
      AND cardinality(kit_after(reader.asks, %(day_ago)s)) < %(quota)s
""").changes()


async def postpone(conn: Conn, *, late: Sequence[DueConfirmation], now: datetime, soon: datetime) -> None:
    """Postpone confirmations to `soon`, or to the same interval after the last mail to the mailbox."""
    mailboxes = [each.mailbox for each in late]
    await conn.execute(POSTPONE, {**_keys(late), "mailboxes": mailboxes, "now": now, "soon": soon})


async def replace_links(
    conn: Conn, *, due: Sequence[DueConfirmation], digests: Sequence[bytes], expires_at: datetime
) -> None:
    """Store a new link for each destination, in place of the previous one."""
    await conn.execute(REPLACE_LINKS, {**_keys(due), "digests": list(digests), "expires_at": expires_at})


async def record_sent(
    conn: Conn, *, sent: Sequence[DueConfirmation], message_ids: Sequence[UUID], now: datetime
) -> None:
    """Record the messages of confirmations, and the time of those that were never requested."""
    await conn.execute(RECORD_SENT, {**_keys(sent), "message_ids": list(message_ids), "now": now})


record_bounce = query("""
    INSERT INTO aliases_readers AS reader (email, bounced_at)
    SELECT lower(email), %(now)s FROM aliases_destinations
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s
    ON CONFLICT (email) DO UPDATE SET bounced_at = excluded.bounced_at
""").run()


def _keys(found: Sequence[WaitingDestination | DueConfirmation]) -> dict[str, list[object]]:
    return {"account_ids": [each.account_id for each in found], "emails": [each.email for each in found]}


list_emails = query("SELECT email FROM aliases_destinations WHERE account_id = %(account_id)s").scalars(str)
delete_readers = query("DELETE FROM aliases_readers WHERE email = ANY(%(emails)s::text[])").count()
