"""SQL of runs and their parts. Most functions take the parameters of their statement by name, as `row`."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter
from pydantic_core import to_json

from builders.kit.db.columns import columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.portfolio.runs.records import MAX_DETAILS, Part, Run

PART_COLUMNS = columns_of(Part)
_PARTS, _RUNS = TypeAdapter(Part), TypeAdapter(Run)


def _part(**columns: Any) -> Part:
    return _PARTS.validate_python(columns)


def _run(**columns: Any) -> Run:
    return _RUNS.validate_python(columns)


# One order for all, so that concurrent starts do not deadlock.
INSERT_PARTS = """
    INSERT INTO portfolio_runs_parts (
        account_id, run_id, kind, subject_id, provider, state, claim, error, created_at, started_at, advanced_at,
        finished_at
    )
    SELECT %(account_id)s, %(run_id)s, %(kind)s, subject_id, provider, state, %(claim)s, error, %(now)s,
        CASE WHEN state = 'running' THEN %(now)s::timestamptz END, %(now)s,
        CASE WHEN state NOT IN ('queued', 'running') THEN %(now)s::timestamptz END
    FROM jsonb_to_recordset(%(parts)s::jsonb) AS new (subject_id uuid, provider text, state text, error jsonb)
    ORDER BY subject_id
    ON CONFLICT DO NOTHING
    RETURNING subject_id
"""


start = query("""
    UPDATE portfolio_runs SET state = 'running'
    WHERE account_id = %(account_id)s AND id = %(run_id)s AND state = 'queued'
""").run()
_CLAIMED = """
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s AND kind = %(kind)s AND subject_id = %(subject_id)s
      AND state = 'running' AND claim = %(claim)s
"""


_RUN = """
    run.*, coalesce((
        SELECT jsonb_agg(to_jsonb(part) ORDER BY part.provider, part.subject_id) FROM portfolio_runs_parts AS part
        WHERE part.account_id = %(account_id)s AND part.run_id = run.id
    ), '[]') AS parts
    FROM portfolio_runs AS run
"""


insert = query("""
    INSERT INTO portfolio_runs (account_id, id, kind, options, state, created_by, created_at)
    VALUES (%(account_id)s, %(run_id)s, %(kind)s, %(options)s, 'queued', %(created_by)s, %(now)s)
""").run()


async def insert_parts(conn: Conn, *, parts: Sequence[Mapping[str, Any]], **row: Any) -> frozenset[UUID]:
    """Add parts, but for those whose connection has an open one; return the subjects of the added ones."""
    found = await conn.execute(INSERT_PARTS, {**row, "parts": to_json(parts).decode()})
    return frozenset([subject_id for (subject_id,) in await found.fetchall()])


# None if it is there and has not failed.
# Also again after it failed: it continues with its counts.
add_part = query(f"""
    INSERT INTO portfolio_runs_parts AS present (
        account_id, run_id, kind, subject_id, state, claim, created_at, advanced_at
    )
    VALUES (%(account_id)s, %(run_id)s, %(kind)s, %(subject_id)s, %(state)s, %(claim)s, %(now)s, %(now)s)
    ON CONFLICT (account_id, run_id, kind, subject_id) DO UPDATE
    SET state = excluded.state, claim = excluded.claim, attempts = 0, error = NULL,
        unread = '[]', advanced_at = excluded.advanced_at, finished_at = NULL
    WHERE present.state = 'failed'
    RETURNING {PART_COLUMNS}
""").one(_part)
delete = query("DELETE FROM portfolio_runs WHERE account_id = %(account_id)s AND id = %(run_id)s").run()


# The run of the open part of each subject that has one, of the oldest part first.
list_open = query("""
    SELECT subject_id, run_id FROM portfolio_runs_parts
    WHERE account_id = %(account_id)s AND kind = %(kind)s AND subject_id = ANY(%(subject_ids)s::uuid[])
      AND state IN ('queued', 'running')
    ORDER BY run_id
""").pairs(UUID, UUID)


# The oldest open part of a subject, if it is in one of the `states`.
claim = query(f"""
    UPDATE portfolio_runs_parts
    SET state = 'running', claim = %(claim)s, attempts = attempts + 1, started_at = coalesce(started_at, %(now)s),
        advanced_at = %(now)s
    WHERE account_id = %(account_id)s AND kind = %(kind)s AND subject_id = %(subject_id)s
      AND state = ANY(%(states)s::text[]) AND run_id = (
        SELECT run_id FROM portfolio_runs_parts
        WHERE account_id = %(account_id)s AND kind = %(kind)s AND subject_id = %(subject_id)s
          AND state IN ('queued', 'running')
        ORDER BY run_id LIMIT 1
    )
    RETURNING {PART_COLUMNS}
""").one(_part)


# The counts are added to those that are there; of the details, the first ones are kept.
advance = query(f"""
    UPDATE portfolio_runs_parts
    SET advanced_at = %(now)s, counts = counts || (
            SELECT coalesce(jsonb_object_agg(name, value::bigint + coalesce((counts ->> name)::bigint, 0)), '{{}}')
            FROM jsonb_each_text(%(counts)s::jsonb) AS more (name, value)
        ), details = CASE WHEN %(details)s::jsonb = '[]' OR jsonb_array_length(details) >= %(max_details)s
            THEN details
            ELSE jsonb_path_query_array(details || %(details)s::jsonb, '$[0 to $last]', %(bounds)s::jsonb) END
    {_CLAIMED}
    RETURNING {PART_COLUMNS}
""").one(_part, max_details=MAX_DETAILS, bounds=Jsonb({"last": MAX_DETAILS - 1}))


release = query(f"""
    UPDATE portfolio_runs_parts SET attempts = 0
    {_CLAIMED}
""").run()


finish_part = query(f"""
    UPDATE portfolio_runs_parts
    SET state = %(state)s, error = %(error)s, unread = %(unread)s, advanced_at = %(now)s, finished_at = %(now)s
    {_CLAIMED}
""").changes()


# Whether it ended now: not with an open part.
finish = query("""
    UPDATE portfolio_runs AS run
    SET finished_at = %(now)s, state = (
            SELECT CASE WHEN count(*) FILTER (WHERE state = 'failed') > 0
                         AND count(*) FILTER (WHERE state = 'completed') = 0 THEN 'failed' ELSE 'completed' END
            FROM portfolio_runs_parts WHERE account_id = %(account_id)s AND run_id = %(run_id)s
        )
    WHERE account_id = %(account_id)s AND id = %(run_id)s AND finished_at IS NULL AND NOT EXISTS (
        SELECT FROM portfolio_runs_parts
        WHERE account_id = %(account_id)s AND run_id = %(run_id)s AND state IN ('queued', 'running')
    )
""").changes()
# Lets only one part of the run end at a time.
lock = query("SELECT FROM portfolio_runs WHERE account_id = %(account_id)s AND id = %(run_id)s FOR UPDATE").run()
find = query(f"""
    SELECT {_RUN}
    WHERE run.account_id = %(account_id)s AND run.id = %(run_id)s AND run.kind = ANY(%(kinds)s::text[])
""").one(_run)
list_page = query(f"""
    SELECT {_RUN} WHERE run.account_id = %(account_id)s AND run.kind = %(kind)s AND run.id < %(before)s
    ORDER BY run.id DESC LIMIT %(limit)s
""").all(_run)
# The last part of a subject that ended regularly, among those created before a time.
load_earlier = query(f"""
    SELECT {PART_COLUMNS} FROM portfolio_runs_parts
    WHERE account_id = %(account_id)s AND subject_id = %(subject_id)s AND kind = %(kind)s
      AND created_at < %(before)s AND state IN ('completed', 'failed')
    ORDER BY created_at DESC LIMIT 1
""").one(_part)
# Locks the number of runs of a kind until the transaction ends.
lock_starts = query("""
    SELECT pg_advisory_xact_lock(
        hashtextextended('portfolio_runs ' || %(kind)s::text || ' ' || %(account_id)s::uuid, 0)
    )
""").run()
count_open = query("""
    SELECT count(*) FROM portfolio_runs_parts
    WHERE account_id = %(account_id)s AND kind = ANY(%(kinds)s::text[]) AND state IN ('queued', 'running')
""").value(int)
# An open part without this count has `unknown`.
# From the primary key: ids are in the order of time.
sum_counts = query("""
    SELECT coalesce(sum(coalesce(
        (counts ->> %(name)s)::bigint, CASE WHEN state IN ('queued', 'running') THEN %(unknown)s::bigint END
    )), 0)
    FROM portfolio_runs_parts WHERE account_id = %(account_id)s AND run_id >= %(since)s AND kind = %(kind)s
""").value(int)
# Account, kind and subject of open parts without progress since a time.
list_idle = query("""
    SELECT DISTINCT account_id, kind, subject_id FROM portfolio_runs_parts
    WHERE (account_id, kind, subject_id) > (%(account_id)s, %(kind)s, %(subject_id)s) AND advanced_at < %(before)s
      AND state IN ('queued', 'running')
    ORDER BY account_id, kind, subject_id LIMIT %(limit)s
""").all(tuple[UUID, str, UUID])
# Those that have ended, and that newer runs with more than this sum of a count follow.
prune_oldest = query("""
    DELETE FROM portfolio_runs WHERE (account_id, id) IN (
        SELECT account_id, id FROM (
            SELECT run.account_id, run.id, run.finished_at, sum((part.counts ->> %(name)s)::bigint) OVER (
                PARTITION BY run.account_id ORDER BY run.id DESC ROWS UNBOUNDED PRECEDING
            ) AS total
            FROM portfolio_runs AS run
            JOIN portfolio_runs_parts AS part
              ON part.account_id = run.account_id AND part.run_id = run.id AND part.kind = run.kind
            WHERE run.kind = %(kind)s AND run.account_id IN (
                SELECT account_id FROM portfolio_runs_parts WHERE kind = %(kind)s
                GROUP BY account_id HAVING sum((counts ->> %(name)s)::bigint) > %(most)s
            )
        ) AS numbered
        WHERE total > %(most)s AND finished_at < %(before)s AND NOT EXISTS (
            SELECT FROM portfolio_runs_parts AS part
            WHERE part.account_id = numbered.account_id AND part.run_id = numbered.id
              AND part.state IN ('queued', 'running')
        )
        LIMIT %(limit)s
    )
""").count()
