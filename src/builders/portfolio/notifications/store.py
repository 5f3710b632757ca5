"""All SQL of a portfolio's notifications: notices, the keys that make each once, runs, and preferences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from builders.kit.db.connections import Conn
from builders.kit.db.queries import accounts_with, constructor, query
from builders.kit.values.money import Money
from builders.portfolio.notifications.records import NewNotice, Notice

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


_MARKED = """
    account_id = %(account_id)s AND member_id = %(member_id)s AND in_app
    AND (id = ANY(%(ids)s::uuid[]) OR id <= %(until)s::uuid)
"""


# Only one worker sends the emails of a portfolio, so that a member receives one.
lock_delivery = query("""
    SELECT pg_try_advisory_xact_lock(hashtextextended('portfolio_notices ' || %(account_id)s::uuid, 0))
""").value(bool)


Settings = Mapping[str, Any]  # a JSON object: what a member has set


_make = constructor(Notice)


def _notice(*, amount: Decimal | None, currency: str | None, **columns: Any) -> Notice:
    return _make(amount=None if amount is None or currency is None else Money(amount, currency), **columns)


async def insert_notices(conn: Conn, *, new: Sequence[NewNotice], now: datetime) -> frozenset[UUID]:
    """Add the notices whose keys are new or may be repeated today; return their ids.

    One statement for any number, and one for those that are repeated.
    """
    made: set[UUID] = set()
    for is_repeated in (False, True):
        rows = [
            asdict(each)
            | ({"amount": each.amount.amount, "currency": each.amount.currency} if each.amount else {})
            for each in new
            if each.is_repeated is is_repeated
        ]
        if rows:
            row = {"rows": to_json(rows).decode(), "now": now, "today": now.date(), "is_repeated": is_repeated}
            made.update(each for (each,) in await (await conn.execute(INSERT_NOTICES, row)).fetchall())
    return frozenset(made)


list_notices = query(f"""
    SELECT {NOTICE_COLUMNS} FROM portfolio_notifications_notices
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s AND in_app AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(_notice)
list_unread = query(f"""
    SELECT {NOTICE_COLUMNS} FROM portfolio_notifications_notices
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s AND in_app AND read_at IS NULL
      AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(_notice)


mark_read = query(f"""
    UPDATE portfolio_notifications_notices SET read_at = %(now)s WHERE {_MARKED} AND read_at IS NULL
""").count()
# Marks them as read, too. A key of an acknowledged notice is not used again.
acknowledge = query(f"""
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
""").count()


list_due_accounts = accounts_with("portfolio_notifications_notices", only="email_at <= %(now)s").scalars(
    UUID, limit=MAX_ACCOUNTS
)


# Marks those whose email is due as emailed.
take_due = query(f"""
    WITH due AS (
        SELECT id FROM portfolio_notifications_notices
        WHERE account_id = %(account_id)s AND email_at <= %(now)s
        ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE portfolio_notifications_notices SET emailed_at = %(now)s, email_at = NULL
    WHERE account_id = %(account_id)s AND id IN (SELECT id FROM due)
    RETURNING {NOTICE_COLUMNS}
""").all(_notice)


# Today is another day for each portfolio.
list_run = query("""
    SELECT run.account_id FROM portfolio_notifications_runs AS run
    JOIN unnest(%(account_ids)s::uuid[], %(days)s::date[]) AS portfolio (account_id, today)
      ON portfolio.account_id = run.account_id
    WHERE run.account_id = ANY(%(account_ids)s::uuid[]) AND run.run_on >= portfolio.today
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


find_settings = query("""
    SELECT settings FROM portfolio_notifications_preferences
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").scalar(dict)


list_settings = query("""
    SELECT account_id, member_id, settings FROM portfolio_notifications_preferences
    WHERE account_id = ANY(%(account_ids)s::uuid[])
""").all(tuple[UUID, UUID, dict[str, Any]])


# Afterwards the row exists and is locked, so that no concurrent patch is lost.
lock_settings = query("""
    INSERT INTO portfolio_notifications_preferences (account_id, member_id, settings, updated_at)
    VALUES (%(account_id)s, %(member_id)s, '{}', %(now)s)
    ON CONFLICT (account_id, member_id) DO UPDATE SET updated_at = excluded.updated_at
    RETURNING settings
""").value(dict)


# Needs the lock.
save_settings = query("""
    UPDATE portfolio_notifications_preferences SET settings = %(settings)s, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").run()
