"""All SQL of a portfolio's notifications: notices, the keys that make each once, runs, and preferences."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb
from pydantic_core import to_json

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.notifications.records import Mark, NewNotice, Notice, Severity, Suppression
from builders.portfolio.team.records import Access

PRUNE_BATCH = 5000
MAX_ACCOUNTS = 500  # for whom jobs are enqueued in one transaction

# The keys decide; two jobs insert them in the same order and so do not block each other.
INSERT_NOTICES = """
    WITH new AS (
        SELECT * FROM jsonb_to_recordset(%(rows)s::jsonb) AS row (
            account_id uuid, id uuid, member_id uuid, kind text, subject_id uuid, due_on date, days smallint,
            event text, severity text, in_app boolean, email_at timestamptz, held_by text, domain_id uuid,
            domain text, threshold_days smallint, expires_on date, auto_renew boolean, month date,
            amount numeric, currency text, title text
        )
    ), claimed AS (
        INSERT INTO portfolio_notifications_keys AS key (
            account_id, member_id, kind, subject_id, due_on, days, notified_on
        )
        SELECT account_id, member_id, kind, subject_id, due_on, days, %(today)s::date FROM new
        ORDER BY account_id, member_id, kind, subject_id, due_on, days
        ON CONFLICT (account_id, member_id, kind, subject_id, due_on, days) DO UPDATE
        SET notified_on = excluded.notified_on
        WHERE %(is_repeated)s AND key.acknowledged_at IS NULL
          AND key.notified_on < excluded.notified_on
        RETURNING account_id, member_id, kind, subject_id, due_on, days
    )
    INSERT INTO portfolio_notifications_notices (
        account_id, id, member_id, event, severity, domain_id, domain, threshold_days, expires_on, auto_renew,
        month, amount, currency, title, in_app, email_at, held_by, created_at
    )
    SELECT account_id, id, member_id, event, severity, domain_id, domain, threshold_days, expires_on,
           auto_renew, month, amount, currency, title, in_app, email_at, held_by, %(now)s
    FROM new JOIN claimed USING (account_id, member_id, kind, subject_id, due_on, days)
    RETURNING id
"""
NOTICE_COLUMNS = """
    id, member_id, event, severity, domain_id, domain, threshold_days, expires_on, auto_renew, month, amount,
    currency, title, held_by, email_at, emailed_at, created_at, read_at, acknowledged_at
"""
LIST_NOTICES = f"""
    SELECT {NOTICE_COLUMNS} FROM portfolio_notifications_notices
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s AND in_app AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""
LIST_UNREAD = f"""
    SELECT {NOTICE_COLUMNS} FROM portfolio_notifications_notices
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s AND in_app AND read_at IS NULL
      AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
"""
_MARKED = """
    account_id = %(account_id)s AND member_id = %(member_id)s AND in_app
    AND (id = ANY(%(ids)s::uuid[]) OR id <= %(until)s::uuid)
"""
MARKS: Mapping[Mark, LiteralString] = {
    Mark.READ: f"""
        UPDATE portfolio_notifications_notices SET read_at = %(now)s WHERE {_MARKED} AND read_at IS NULL
        RETURNING id
    """,
    # A key of an acknowledged notice is not used again.
    Mark.ACKNOWLEDGED: f"""
        WITH notice AS (
            UPDATE portfolio_notifications_notices
            SET acknowledged_at = %(now)s, read_at = coalesce(read_at, %(now)s)
            WHERE {_MARKED} AND acknowledged_at IS NULL
            RETURNING id, domain_id, expires_on, threshold_days
        ), key AS (
            UPDATE portfolio_notifications_keys AS key SET acknowledged_at = %(now)s
            FROM (SELECT DISTINCT domain_id, expires_on, threshold_days FROM notice) AS about
            WHERE account_id = %(account_id)s AND member_id = %(member_id)s AND kind = 'expiry'
              AND subject_id = domain_id AND due_on = expires_on AND days = about.threshold_days
        )
        SELECT id FROM notice
    """,
}
# Only one worker sends the emails of a portfolio, so that a member receives one.
LOCK_DELIVERY = (
    "SELECT pg_try_advisory_xact_lock(hashtextextended('portfolio_notices ' || %(account_id)s::uuid, 0))"
)
TAKE_DUE = f"""
    WITH due AS (
        SELECT id FROM portfolio_notifications_notices
        WHERE account_id = %(account_id)s AND email_at <= %(now)s
        ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE portfolio_notifications_notices SET emailed_at = %(now)s, email_at = NULL
    WHERE account_id = %(account_id)s AND id IN (SELECT id FROM due)
    RETURNING {NOTICE_COLUMNS}
"""
PRUNE_NOTICES = """
    DELETE FROM portfolio_notifications_notices WHERE (account_id, id) IN (
        SELECT account_id, id FROM portfolio_notifications_notices
        WHERE created_at < %(before)s LIMIT %(batch)s
    )
"""
PRUNE_KEYS = """
    DELETE FROM portfolio_notifications_keys WHERE ctid IN (
        SELECT ctid FROM portfolio_notifications_keys WHERE due_on < %(before)s LIMIT %(batch)s
    )
"""
FIND_SETTINGS = """
    SELECT settings FROM portfolio_notifications_preferences
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
"""
LIST_SETTINGS = """
    SELECT account_id, member_id, settings FROM portfolio_notifications_preferences
    WHERE account_id = ANY(%(account_ids)s::uuid[])
"""
# Afterwards the row exists and is locked, so that no concurrent patch is lost.
LOCK_SETTINGS = """
    INSERT INTO portfolio_notifications_preferences (account_id, member_id, settings, updated_at)
    VALUES (%(account_id)s, %(member_id)s, '{}', %(now)s)
    ON CONFLICT (account_id, member_id) DO UPDATE SET updated_at = excluded.updated_at
    RETURNING settings
"""
SAVE_SETTINGS = """
    UPDATE portfolio_notifications_preferences SET settings = %(settings)s, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
"""

Settings = Mapping[str, Any]  # a JSON object: what a member has set


def _notice(
    *, severity: str, amount: Decimal | None, currency: str | None, held_by: str | None, **columns: Any
) -> Notice:
    return Notice(
        severity=Severity(severity),
        money=None if amount is None or currency is None else Money(amount, currency),
        held_by=None if held_by is None else Suppression(held_by),
        **columns,
    )


async def insert_notices(conn: Conn, *, new: Sequence[NewNotice], now: datetime) -> frozenset[UUID]:
    """Add the notices whose keys are new or may be repeated today; return their ids.

    One statement for any number, and one for those that are repeated.
    """
    made: set[UUID] = set()
    for is_repeated in (False, True):
        rows = [
            asdict(each) | ({"amount": each.money.amount, "currency": each.money.currency} if each.money else {})
            for each in new
            if each.is_repeated is is_repeated
        ]
        if rows:
            row = {"rows": to_json(rows).decode(), "now": now, "today": now.date(), "is_repeated": is_repeated}
            made.update(each for (each,) in await (await conn.execute(INSERT_NOTICES, row)).fetchall())
    return frozenset(made)


async def list_notices(
    conn: Conn, *, access: Access, is_unread: bool, before: UUID, limit: int
) -> Sequence[Notice]:
    """Return the caller's notices in the portfolio with smaller ids, newest first."""
    row = {"account_id": access.portfolio_id, "member_id": access.member_id, "before": before, "limit": limit}
    cursor = conn.cursor(row_factory=kwargs_row(_notice))
    return await (await cursor.execute(LIST_UNREAD if is_unread else LIST_NOTICES, row)).fetchall()


async def mark(
    conn: Conn, *, access: Access, mark: Mark, notice_ids: Collection[UUID], until: UUID | None, now: datetime
) -> int:
    """Mark notices of the caller: those with the ids, and all up to `until`; return how many were not marked.

    Acknowledged notices are marked as read too, and not repeated.
    """
    row = {"account_id": access.portfolio_id, "member_id": access.member_id, "now": now}
    row |= {"ids": list(notice_ids), "until": until or ids.NIL}
    return (await conn.execute(MARKS[mark], row)).rowcount


list_due_accounts = query("""
    SELECT DISTINCT account_id FROM portfolio_notifications_notices
    WHERE email_at <= %(now)s AND account_id > %(after)s ORDER BY account_id LIMIT %(limit)s
""").scalars(UUID, limit=MAX_ACCOUNTS)


async def take_due(conn: Conn, *, account_id: UUID, now: datetime, limit: int) -> Sequence[Notice]:
    """Mark notices of a portfolio as emailed whose email is due; return them; none while another one does."""
    [(is_locked,)] = await (await conn.execute(LOCK_DELIVERY, {"account_id": account_id})).fetchall()
    if not is_locked:
        return ()
    cursor = conn.cursor(row_factory=kwargs_row(_notice))
    row = {"account_id": account_id, "now": now, "limit": limit}
    return await (await cursor.execute(TAKE_DUE, row)).fetchall()


# Today is another day for each portfolio.
list_run = query("""
    SELECT run.account_id FROM portfolio_notifications_runs AS run
    JOIN unnest(%(account_ids)s::uuid[], %(days)s::date[]) AS portfolio (account_id, today)
      ON portfolio.account_id = run.account_id
    WHERE run.run_on >= portfolio.today
""").set_of(UUID)
record_run = query("""
    INSERT INTO portfolio_notifications_runs (account_id, run_on) VALUES (%(account_id)s, %(today)s)
    ON CONFLICT (account_id) DO UPDATE SET run_on = greatest(
        portfolio_notifications_runs.run_on, excluded.run_on
    )
""").run()
delete_member = query("""
    WITH preferences AS (
        DELETE FROM portfolio_notifications_preferences
        WHERE account_id = %(account_id)s AND member_id = %(member_id)s
    )
    DELETE FROM portfolio_notifications_notices
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").run()


async def prune(conn: Conn, *, created_before: datetime, due_before: date) -> bool:
    """Delete a batch of old notices and keys; return whether there may be more."""
    notices = await conn.execute(PRUNE_NOTICES, {"before": created_before, "batch": PRUNE_BATCH})
    keys = await conn.execute(PRUNE_KEYS, {"before": due_before, "batch": PRUNE_BATCH})
    return max(notices.rowcount, keys.rowcount) >= PRUNE_BATCH


async def get_settings(conn: Conn, *, access: Access) -> Settings:
    """Return the settings of the caller in the portfolio."""
    row = {"account_id": access.portfolio_id, "member_id": access.member_id}
    found = await (await conn.execute(FIND_SETTINGS, row)).fetchone()
    return {} if found is None else found[0]


async def list_settings(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[tuple[UUID, UUID], Settings]:
    """Return what members have set, by the account of the portfolio and the member."""
    found = await conn.execute(LIST_SETTINGS, {"account_ids": list(account_ids)})
    return {(account_id, member_id): settings async for account_id, member_id, settings in found}


async def lock_settings(conn: Conn, *, access: Access, now: datetime) -> Settings:
    """Return the settings of the caller; the row is locked until the transaction ends."""
    row = {"account_id": access.portfolio_id, "member_id": access.member_id, "now": now}
    stored: Settings
    [(stored,)] = await (await conn.execute(LOCK_SETTINGS, row)).fetchall()
    return stored


async def save_settings(conn: Conn, *, access: Access, settings: Settings, now: datetime) -> None:
    """Store the settings of the caller; needs the lock."""
    row = {"account_id": access.portfolio_id, "member_id": access.member_id, "now": now}
    await conn.execute(SAVE_SETTINGS, {**row, "settings": Jsonb(settings)})
