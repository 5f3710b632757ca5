"""Destinations that refused mail: paused until their recipients confirm again."""

from uuid import UUID

from builders.aliases.store.aliases import CHANGED, SERIAL
from builders.kit.db.queries import query

# Confirmed destinations, in all their spellings. Aliases are locked before them, as in every change of aliases.
_BOUNCED = """
    destination.account_id = %(account_id)s
    AND destination.verified_at IS NOT NULL AND destination.paused_at IS NULL
    AND lower(destination.email) IN (SELECT lower(bounced) FROM unnest(%(emails)s::text[]) AS bounced)
"""
lock_bounced = query(f"""
    SELECT alias.id FROM aliases_destinations AS destination
    JOIN aliases_forwards AS forward
      ON forward.account_id = destination.account_id AND forward.email = destination.email
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    WHERE {_BOUNCED}
    ORDER BY alias.id FOR UPDATE OF alias
""").run()
# Returns the aliases that forward there, by destination.
pause = query(f"""
    WITH paused AS (
        UPDATE aliases_destinations AS destination SET paused_at = %(now)s, ask_at = NULL, wanted_at = NULL
        WHERE {_BOUNCED}
        RETURNING account_id, email
    ), forwarding AS (
        SELECT paused.email, alias.id FROM paused
        JOIN aliases_forwards AS forward
          ON forward.account_id = %(account_id)s AND forward.email = paused.email
        JOIN aliases AS alias
          ON alias.account_id = %(account_id)s AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    ), new AS (
        SELECT id, {SERIAL} FROM (SELECT DISTINCT id FROM forwarding) AS found
    ), changed AS (
        UPDATE aliases AS alias SET {CHANGED} FROM new
        WHERE alias.account_id = %(account_id)s AND alias.id = new.id
    )
    SELECT paused.email,
           coalesce(array_agg(forwarding.id) FILTER (WHERE forwarding.id IS NOT NULL), '{{}}')
    FROM paused LEFT JOIN forwarding USING (email) GROUP BY 1 ORDER BY 1
""").pairs(str, list[UUID])
