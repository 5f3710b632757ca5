"""Destinations that refused mail: paused until their recipients confirm again."""

from dataclasses import dataclass
from uuid import UUID

from builders.aliases.store.aliases import CHANGED
from builders.kit.db.queries import query


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedDestination:
    """A destination that was paused."""

    account_id: UUID
    email: str
    aliases: int  # that forward there


# Confirmed destinations, in all their spellings. Aliases are locked before them, as in every change of aliases.
_BOUNCED = """
    unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS bounced (account_id, email)
    JOIN aliases_destinations AS destination
      ON destination.account_id = bounced.account_id AND lower(destination.email) = lower(bounced.email)
     AND destination.verified_at IS NOT NULL AND destination.paused_at IS NULL
"""
lock_bounced = query(f"""
    SELECT alias.id FROM {_BOUNCED}
    JOIN aliases_forwards AS forward
      ON forward.account_id = destination.account_id AND forward.email = destination.email
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    ORDER BY alias.account_id, alias.id FOR UPDATE OF alias
""").run()
pause = query(f"""
    WITH paused AS (
        UPDATE aliases_destinations AS changing SET paused_at = %(now)s, ask_at = NULL, wanted_at = NULL
        FROM {_BOUNCED}
        WHERE changing.account_id = destination.account_id AND changing.email = destination.email
          AND changing.paused_at IS NULL
        RETURNING changing.account_id, changing.email
    ), forwarding AS (
        SELECT paused.account_id, paused.email, alias.id FROM paused
        JOIN aliases_forwards AS forward USING (account_id, email)
        JOIN aliases AS alias ON alias.account_id = forward.account_id AND alias.id = forward.alias_id
         AND alias.status <> 'deleted'
    ), changed AS (
        UPDATE aliases AS alias SET {CHANGED} FROM (SELECT DISTINCT account_id, id FROM forwarding) AS found
        WHERE alias.account_id = found.account_id AND alias.id = found.id
    )
    SELECT paused.account_id, paused.email, count(forwarding.id) AS aliases
    FROM paused LEFT JOIN forwarding USING (account_id, email) GROUP BY 1, 2 ORDER BY 1, 2
""").all(PausedDestination)
