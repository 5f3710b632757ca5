"""What a mail server is told (`aliases_lookups`): rows of names, domains and reverse addresses, by domain."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, LiteralString
from uuid import UUID

from builders.aliases.records import Route
from builders.kit.db.queries import query

# The columns that an alias sets; the last three are those of a catch-all, too.
_OF_ALIAS: Sequence[LiteralString] = (
    *("account_id", "alias_id", "is_claimed", "block", "replies", "receives", "paused_at", "pause_until"),
    *("destinations", "unconfirmed_since", "paused_since"),
)
_OF_CATCH_ALL: Sequence[LiteralString] = ("leads_to", *_OF_ALIAS[-3:])
_EXCLUDED = ", ".join(f"{name} = excluded.{name}" for name in _OF_ALIAS)
_IS_CONFIRMED = "destination.verified_at IS NOT NULL AND destination.paused_at IS NULL"
# The aliases are locked, so that the last transaction that changes an answer writes it. A released one has a name
# in quarantine.
write_names = query(f"""
    INSERT INTO aliases_lookups (domain, name, {", ".join(_OF_ALIAS)})
    SELECT alias.domain, alias.key, alias.account_id, alias.id, alias.status <> 'deleted',
           CASE WHEN alias.status <> 'deleted' THEN alias.block END, active.*
    FROM aliases AS alias LEFT JOIN LATERAL (
        SELECT alias.reply, alias.receives, alias.paused_at, alias.pause_until,
               coalesce(array_agg(forward.email ORDER BY forward.position) FILTER (WHERE {_IS_CONFIRMED}), '{{}}'),
               max(greatest(alias.claimed_at, destination.created_at)) FILTER (
                   WHERE destination.verified_at IS NULL
               ),
               max(destination.paused_at)
        FROM aliases_forwards AS forward JOIN aliases_destinations AS destination
          ON destination.account_id = %(account_id)s AND destination.email = forward.email
        WHERE forward.account_id = %(account_id)s AND forward.alias_id = alias.id
    ) AS active ON alias.status = 'active'
    WHERE alias.account_id = %(account_id)s AND alias.id = ANY(%(alias_ids)s::uuid[])
    ORDER BY alias.domain, alias.key
    ON CONFLICT (domain, name) DO UPDATE SET {_EXCLUDED}
""").run()
# As rows of JSON, with the columns that `write_catch_alls` reads.
load_catch_alls = query(f"""
    SELECT catch_all.domain, split_part(catch_all.email, '@', 2) AS leads_to,
           CASE WHEN {_IS_CONFIRMED} THEN ARRAY[catch_all.email] ELSE '{{}}' END AS destinations,
           CASE WHEN destination.verified_at IS NULL THEN destination.created_at END AS unconfirmed_since,
           destination.paused_at AS paused_since
    FROM aliases_catch_alls AS catch_all JOIN aliases_destinations AS destination
      ON destination.account_id = catch_all.account_id AND destination.email = catch_all.email
    WHERE catch_all.account_id = %(account_id)s AND catch_all.domain = ANY(%(domains)s::text[])
""").keyed(dict[str, Any], by=lambda row: row["domain"])
# Of the domains that the account holds.
write_catch_alls = query(f"""
    UPDATE aliases_lookups AS known SET {", ".join(f"{name} = new.{name}" for name in _OF_CATCH_ALL)}
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (
        domain text, leads_to text, destinations text[], unconfirmed_since timestamptz, paused_since timestamptz
    )
    WHERE known.domain = ANY(%(domains)s::text[]) AND known.domain = new.domain AND known.name = ''
      AND known.account_id = %(account_id)s
""").run()
lock_catch_alls = query("""
    SELECT domain FROM aliases_catch_alls WHERE account_id = %(account_id)s AND email = ANY(%(emails)s::text[])
    ORDER BY domain FOR UPDATE
""").scalars(str)
hold = query("""
    INSERT INTO aliases_lookups (domain, name, account_id, is_shared, separator_policy)
    VALUES (%(domain)s, '', %(account_id)s, false, 'ignore_dots')
    ON CONFLICT (domain, name) DO UPDATE SET account_id = excluded.account_id
""").run()
# A domain of the catalog stays one.
let_go = query(f"""
    WITH gone AS (
        DELETE FROM aliases_lookups
        WHERE domain = %(domain)s AND name = '' AND account_id = %(account_id)s AND NOT is_shared
    )
    UPDATE aliases_lookups SET account_id = NULL, {", ".join(f"{name} = NULL" for name in _OF_CATCH_ALL)}
    WHERE domain = %(domain)s AND name = '' AND account_id = %(account_id)s AND is_shared
""").run()
share = query("""
    INSERT INTO aliases_lookups (domain, name, is_shared, separator_policy)
    SELECT domain, '', true, policy FROM unnest(%(domains)s::text[], %(policies)s::text[]) AS new (domain, policy)
    ORDER BY domain
    ON CONFLICT (domain, name) DO UPDATE SET is_shared = true, separator_policy = excluded.separator_policy
""").run()
add_reverse_address = query("""
    INSERT INTO aliases_lookups (domain, name, account_id, alias_id, reverse_of)
    VALUES (%(domain)s, %(name)s, %(account_id)s, %(alias_id)s, %(key)s)
""").run()
delete_reverse_addresses = query("""
    DELETE FROM aliases_lookups AS known
    USING unnest(%(domains)s::text[], %(names)s::text[]) AS gone (domain, name)
    WHERE known.domain = ANY(%(domains)s::text[]) AND known.domain = gone.domain AND known.name = gone.name
      AND known.reverse_of IS NOT NULL
""").run()

# A claimed name precedes the catch-all, whatever its state. A name in quarantine goes to the catch-all of its own
# account only: the mail of its former owner is not for the holder of the domain.
_IS_OTHER = "(name.is_claimed IS NULL OR NOT name.is_claimed AND name.account_id = domain.account_id)"
_DESTINATIONS = ", ".join(
    f"CASE WHEN {_IS_OTHER} THEN domain.{name} ELSE name.{name} END AS {name}" for name in _OF_ALIAS[-3:]
)
# Each item of `entries` has those of a list that would block the sender, with spaces between. LATERAL with LIMIT
# makes PostgreSQL find a name by its key, even if its estimates are bad. The conditions on all domains let a
# sharded database ask only their shards.
list_routes = query(f"""
    SELECT domain.place, domain.is_shared, name.is_claimed, name.alias_id, name.reverse_of,
           CASE WHEN name.is_claimed THEN name.account_id
                WHEN {_IS_OTHER} AND domain.leads_to IS NOT NULL THEN domain.account_id END AS account_id,
           {_DESTINATIONS},
           CASE WHEN {_IS_OTHER} THEN domain.leads_to END AS leads_to,
           name.paused_at, name.pause_until, name.replies, name.receives,
           domain.entries <> '' AND name.block && string_to_array(domain.entries, ' ') AS is_refused
    FROM (
        SELECT asked.place, asked.entries, known.domain, known.is_shared, known.account_id, known.leads_to,
               known.destinations, known.unconfirmed_since, known.paused_since,
               CASE known.separator_policy WHEN 'ignore_dots' THEN asked.without_dots
                    WHEN 'ignore_all' THEN asked.bare ELSE asked.name END AS key
        FROM unnest(%(domains)s::text[], %(names)s::text[], %(without_dots)s::text[], %(bare)s::text[],
                    %(entries)s::text[])
             WITH ORDINALITY AS asked (domain, name, without_dots, bare, entries, place)
        JOIN aliases_lookups AS known ON known.domain = asked.domain AND known.name = ''
        WHERE known.domain = ANY(%(domains)s::text[])
    ) AS domain LEFT JOIN LATERAL (
        SELECT * FROM aliases_lookups AS known
        WHERE known.domain = domain.domain AND known.name = domain.key AND known.domain = ANY(%(domains)s::text[])
        LIMIT 1
    ) AS name ON true
""").keyed(Route, by=attrgetter("place"))
list_claimed = query("""
    SELECT known.domain, known.name, known.alias_id
    FROM unnest(%(domains)s::text[], %(names)s::text[]) AS asked (domain, name)
    JOIN aliases_lookups AS known ON known.domain = asked.domain AND known.name = asked.name AND known.is_claimed
    WHERE known.domain = ANY(%(domains)s::text[])
""").all(tuple[str, str, UUID])
# With the domains that their catch-alls lead to.
list_domains = query("""
    SELECT domain, separator_policy, leads_to, destinations FROM aliases_lookups WHERE name = '' ORDER BY domain
""").all(tuple[str, str, str | None, list[str]])
