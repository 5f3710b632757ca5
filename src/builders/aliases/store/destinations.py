"""Destinations: whether their readers have agreed, and what they were asked."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.rows import Asked, Due, Link
from builders.kit.db.connections import Conn
from builders.kit.values.accounts import AccountSelection, selection_parameter

# Whose mail it is: most servers take what follows a `+` for a tag, and some count no dots. Two readers who are
# taken for one share what may be sent to them in a while, and that is all.
MAILBOX = """
    replace(split_part(split_part(lower(destination.email), '@', 1), '+', 1), '.', '')
    || '@' || split_part(lower(destination.email), '@', 2)
"""
# One statement decides: of two at once, the second finds that it was asked for. One whose mailbox has to wait for
# what others asked is noted like any: else the answer would tell of them.
ASK_AGAIN = """
    UPDATE aliases_destinations
    SET wanted_at = %(now)s,
        asks = ARRAY(SELECT at FROM unnest(asks) AS at WHERE at > %(day_ago)s ORDER BY at) || %(now)s::timestamptz
    WHERE account_id = %(account_id)s AND email = %(email)s AND verified_at IS NULL AND wanted_at IS NULL
      AND NOT EXISTS (SELECT FROM unnest(asks) AS at WHERE at > %(gap_ago)s)
      AND (SELECT count(*) FROM unnest(asks) AS at WHERE at > %(day_ago)s) < %(most)s
"""
LIST_ASKS = """
    SELECT at FROM aliases_destinations, unnest(asks) AS at
    WHERE account_id = %(account_id)s AND email = %(email)s AND at > %(day_ago)s ORDER BY at
"""
# Of one account, or of all. One who has no name forwarding there any more is not to be asked. OFFSET 0 has the few
# names of an address looked up by it: in the order of names PostgreSQL would walk through all of the account's.
# Not prepared: a plan for all accounts is none for one.
LIST_DUE = f"""
    SELECT destination.account_id, destination.email, {MAILBOX} AS mailbox, destination.message_id,
           named.address AS alias, EXISTS (
               SELECT FROM aliases_readers AS reader
               WHERE reader.email = lower(destination.email) AND reader.bounced_at > %(bounced_since)s
           ) AS bounced
    FROM aliases_destinations AS destination LEFT JOIN LATERAL (
        SELECT alias.local_part || '@' || alias.domain AS address
        FROM (
            SELECT account_id, alias_id FROM aliases_forwards
            WHERE account_id = destination.account_id AND email = destination.email OFFSET 0
        ) AS forward
        JOIN aliases AS alias
          ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        ORDER BY alias.id LIMIT 1
    ) AS named ON true
    WHERE destination.ask_at <= %(now)s
      AND (%(account_id)s::uuid IS NULL OR destination.account_id = %(account_id)s)
    ORDER BY destination.ask_at LIMIT %(limit)s FOR UPDATE OF destination SKIP LOCKED
"""  # noqa: S608 - of constants
# One mail to a mailbox in a while, over all accounts: who asks first gets it, the others wait.
RESERVE = """
    INSERT INTO aliases_readers AS reader (email, asks)
    SELECT DISTINCT mailbox, ARRAY[%(now)s::timestamptz] FROM unnest(%(mailboxes)s::text[]) AS due (mailbox)
    ORDER BY 1
    ON CONFLICT (email) DO UPDATE
    SET asks = ARRAY(SELECT at FROM unnest(reader.asks) AS at WHERE at > %(day_ago)s ORDER BY at) || excluded.asks
    WHERE NOT EXISTS (SELECT FROM unnest(reader.asks) AS at WHERE at > %(gap_ago)s)
      AND (SELECT count(*) FROM unnest(reader.asks) AS at WHERE at > %(day_ago)s) < %(most)s
    RETURNING email
"""
# Those who could not be asked now are asked later.
PUT_OFF = """
    UPDATE aliases_destinations AS destination
    SET ask_at = greatest(%(soon)s, (
            SELECT max(at) FROM unnest(reader.asks) AS at
        ) + (%(soon)s::timestamptz - %(now)s::timestamptz))
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(mailboxes)s::text[])
         AS late (account_id, email, mailbox)
    JOIN aliases_readers AS reader ON reader.email = late.mailbox
    WHERE destination.account_id = late.account_id AND destination.email = late.email
"""
DROP = """
    UPDATE aliases_destinations AS destination SET ask_at = NULL
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS idle (account_id, email)
    WHERE destination.account_id = idle.account_id AND destination.email = idle.email
"""
PUT_LINKS = """
    INSERT INTO aliases_links (account_id, email, digest, expires_at)
    SELECT account_id, email, digest, %(expires_at)s
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(digests)s::bytea[])
         AS new (account_id, email, digest)
    ON CONFLICT (account_id, email) DO UPDATE
    SET digest = excluded.digest, expires_at = excluded.expires_at, used_at = NULL
"""
NOTE_ASKED = """
    UPDATE aliases_destinations AS destination SET ask_at = NULL, message_id = asked.message_id,
        asks = CASE destination.asks WHEN '{}' THEN ARRAY[%(now)s::timestamptz] ELSE destination.asks END
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(message_ids)s::uuid[])
         AS asked (account_id, email, message_id)
    WHERE destination.account_id = asked.account_id AND destination.email = asked.email
"""
FIND_LINK = """
    SELECT account_id, email, used_at FROM aliases_links
    WHERE digest = ANY(%(digests)s::bytea[]) AND expires_at > %(now)s
"""
USE_LINK = """
    UPDATE aliases_links SET used_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND used_at IS NULL
"""
# Names before destinations, as whoever changes names locks them.
LOCK_NAMES = """
    SELECT alias.id FROM aliases_destinations AS destination
    JOIN aliases_forwards AS forward
      ON forward.account_id = destination.account_id AND forward.email = destination.email
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    WHERE destination.account_id = %(account_id)s AND lower(destination.email) = lower(%(email)s)
      AND destination.verified_at IS NULL
    ORDER BY alias.id FOR UPDATE OF alias
"""
VERIFY = """
    UPDATE aliases_destinations SET verified_at = %(now)s, ask_at = NULL, wanted_at = NULL
    WHERE account_id = %(account_id)s AND lower(email) = lower(%(email)s) AND verified_at IS NULL
    RETURNING email
"""
# The names that forward there: what a mail server knows of them changes, though not their version.
TOUCH = """
    WITH found AS (
        SELECT alias.id FROM aliases_forwards AS forward JOIN aliases AS alias
          ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        WHERE forward.account_id = %(account_id)s AND forward.email = ANY(%(emails)s::text[])
        ORDER BY alias.id FOR UPDATE OF alias
    )
    UPDATE aliases AS alias SET serial = nextval('aliases_serial'), changed_in = pg_current_xact_id()
    WHERE alias.account_id = %(account_id)s AND alias.id IN (SELECT id FROM found)
"""
NOTE_BOUNCED = """
    INSERT INTO aliases_readers AS reader (email, bounced_at)
    SELECT lower(email), %(now)s FROM aliases_destinations
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s
    ON CONFLICT (email) DO UPDATE SET bounced_at = excluded.bounced_at
"""
PRUNE_LINKS = """
    DELETE FROM aliases_links WHERE digest = ANY(ARRAY(
        SELECT digest FROM aliases_links WHERE expires_at <= %(before)s LIMIT %(limit)s
    ))
"""
PRUNE_READERS = """
    DELETE FROM aliases_readers WHERE email = ANY(ARRAY(
        SELECT email FROM aliases_readers
        WHERE bounced_at IS NULL AND asks[cardinality(asks)] <= %(before)s LIMIT %(limit)s
    ))
"""


async def ask_again(
    conn: Conn, *, account_id: UUID, email: str, now: datetime, gap_ago: datetime, day_ago: datetime, most: int
) -> bool:
    """Whether its reader may be asked again; they then will be."""
    row = {"account_id": account_id, "email": email, "now": now}
    limits = {"gap_ago": gap_ago, "day_ago": day_ago, "most": most}
    return (await conn.execute(ASK_AGAIN, row | limits)).rowcount == 1


async def list_asks(conn: Conn, *, account_id: UUID, email: str, day_ago: datetime) -> list[datetime]:
    """When its reader was asked in a day, oldest first."""
    row = {"account_id": account_id, "email": email, "day_ago": day_ago}
    return [each[0] for each in await (await conn.execute(LIST_ASKS, row)).fetchall()]


async def list_due(
    conn: Conn, *, account_id: AccountSelection, now: datetime, bounced_since: datetime, limit: int
) -> list[Due]:
    """Whose readers are to be asked now, locked."""
    owner = selection_parameter(account_id)
    row = {"account_id": owner, "now": now, "bounced_since": bounced_since, "limit": limit}
    async with conn.cursor(row_factory=class_row(Due)) as cursor:
        await cursor.execute(LIST_DUE, row, prepare=False)
        return await cursor.fetchall()


async def reserve(
    conn: Conn, *, mailboxes: Collection[str], now: datetime, gap_ago: datetime, day_ago: datetime, most: int
) -> set[str]:
    """Those of the mailboxes that may get a mail now; it then counts as sent."""
    row = {"mailboxes": list(mailboxes), "now": now, "gap_ago": gap_ago, "day_ago": day_ago, "most": most}
    return {each[0] for each in await (await conn.execute(RESERVE, row)).fetchall()}


async def put_off(conn: Conn, *, late: Sequence[Due], now: datetime, soon: datetime) -> None:
    """Has their readers asked `soon`, or as long after the last mail to the mailbox."""
    mailboxes = [each.mailbox for each in late]
    await conn.execute(PUT_OFF, {**_keys(late), "mailboxes": mailboxes, "now": now, "soon": soon})


async def drop(conn: Conn, *, idle: Sequence[Due]) -> None:
    """Their readers are not asked."""
    await conn.execute(DROP, _keys(idle))


async def put_links(conn: Conn, *, due: Sequence[Due], digests: Sequence[bytes], expires_at: datetime) -> None:
    """Keeps a new link for each, in the place of the one before."""
    await conn.execute(PUT_LINKS, {**_keys(due), "digests": list(digests), "expires_at": expires_at})


async def note_asked(conn: Conn, *, asked: Sequence[Asked], now: datetime) -> None:
    """Notes the messages that were written; their time for those that were never noted as to be asked."""
    row = _keys([each.due for each in asked])
    await conn.execute(NOTE_ASKED, {**row, "message_ids": [each.message_id for each in asked], "now": now})


async def find_link(conn: Conn, *, digests: Sequence[bytes], now: datetime) -> Link | None:
    """The link with one of these digests, unless it has expired."""
    async with conn.cursor(row_factory=class_row(Link)) as cursor:
        await cursor.execute(FIND_LINK, {"digests": list(digests), "now": now})
        return await cursor.fetchone()


async def use_link(conn: Conn, *, account_id: UUID, digests: Sequence[bytes], now: datetime) -> bool:
    """Whether the link was there and not yet used."""
    row = {"account_id": account_id, "digests": list(digests), "now": now}
    return (await conn.execute(USE_LINK, row)).rowcount == 1


async def verify(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> list[str]:
    """Marks the address, in whatever case it is kept; those forms that were not verified before."""
    row = {"account_id": account_id, "email": email, "now": now}
    await conn.execute(LOCK_NAMES, row)
    cursor = await conn.execute(VERIFY, row)
    return [each[0] for each in await cursor.fetchall()]


async def touch(conn: Conn, *, account_id: UUID, emails: Sequence[str]) -> int:
    """Has a mail server hear of the names that forward to the addresses; their number."""
    return (await conn.execute(TOUCH, {"account_id": account_id, "emails": list(emails)})).rowcount


async def note_bounced(conn: Conn, *, account_id: UUID, message_id: UUID, now: datetime) -> None:
    """Notes that this mail to a reader came back."""
    await conn.execute(NOTE_BOUNCED, {"account_id": account_id, "message_id": message_id, "now": now})


async def prune(conn: Conn, *, links_before: datetime, asks_before: datetime, limit: int) -> bool:
    """Forgets links that expired, and readers that were asked, before then; whether there may be more."""
    links = await conn.execute(PRUNE_LINKS, {"before": links_before, "limit": limit})
    readers = await conn.execute(PRUNE_READERS, {"before": asks_before, "limit": limit})
    return max(links.rowcount, readers.rowcount) == limit


def _keys(due: Sequence[Due]) -> dict[str, list[object]]:
    return {"account_ids": [each.account_id for each in due], "emails": [each.email for each in due]}
