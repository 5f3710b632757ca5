"""Names, domains and catch-alls as a mail server reads them, through the views of the package."""

from operator import attrgetter

from builders.forwarding.records import MapEntry, Route
from builders.kit.db.queries import query

# A claimed name precedes the catch-all, whatever its state. A name in quarantine goes to the catch-all of its own
# account only: the mail of its former owner is not for the holder of the domain.
# LATERAL with LIMIT makes PostgreSQL find each row by its key, even if its estimates are bad.
list_routes = query("""
    SELECT asked.place, route.is_shared, route.destinations, route.unconfirmed_since, route.paused_since,
           route.paused_at, route.pause_until
    FROM unnest(%(domains)s::text[], %(names)s::text[], %(without_dots)s::text[], %(bare)s::text[])
         WITH ORDINALITY AS asked (domain, name, without_dots, bare, place)
    CROSS JOIN LATERAL (
        SELECT domain.is_shared,
               coalesce(alias.destinations, catch_all.destinations) AS destinations,
               coalesce(alias.unconfirmed_since, catch_all.unconfirmed_since) AS unconfirmed_since,
               coalesce(alias.paused_since, catch_all.paused_since) AS paused_since,
               alias.paused_at, alias.pause_until
        FROM forwarding_domains AS domain
        LEFT JOIN LATERAL (
            SELECT account_id, alias_id, is_claimed FROM forwarding_names
            WHERE domain = asked.domain AND key = CASE domain.separator_policy
                WHEN 'ignore_dots' THEN asked.without_dots WHEN 'ignore_all' THEN asked.bare ELSE asked.name END
            LIMIT 1
        ) AS name ON true
        LEFT JOIN LATERAL (
            SELECT destinations, unconfirmed_since, paused_since, paused_at, pause_until FROM forwarding_aliases
            WHERE account_id = name.account_id AND id = name.alias_id AND is_active LIMIT 1
        ) AS alias ON name.is_claimed
        LEFT JOIN LATERAL (
            SELECT destinations, unconfirmed_since, paused_since FROM forwarding_catch_alls
            WHERE domain = asked.domain
              AND (name.is_claimed IS NULL OR NOT name.is_claimed AND account_id = name.account_id) LIMIT 1
        ) AS catch_all ON true
        WHERE domain.domain = asked.domain LIMIT 1
    ) AS route
""").keyed(Route, by=attrgetter("place"))

# The oldest open transaction: the changes of all earlier ones are visible, or rolled back.
get_horizon = query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint").value(int)
list_active = query("""
    SELECT account_id, id, domain, key, local_part, destinations FROM forwarding_aliases
    WHERE is_active AND is_live AND (pause_until IS NULL OR pause_until <= %(now)s)
      AND (account_id, id) > (%(after_account)s, %(after_id)s)
    ORDER BY account_id, id LIMIT %(limit)s
""").all(MapEntry)
# If another alias has the name, only that one is listed: an entry of this one would remove it from the map.
list_changed = query("""
    SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part,
           CASE WHEN alias.is_active AND (alias.pause_until IS NULL OR alias.pause_until <= %(now)s)
                THEN alias.destinations ELSE '{}' END AS destinations,
           alias.changed_in::text, alias.serial
    FROM forwarding_aliases AS alias LEFT JOIN LATERAL (
        SELECT alias_id FROM forwarding_names
        WHERE domain = alias.domain AND key = alias.key AND is_claimed LIMIT 1
    ) AS name ON true
    WHERE (alias.changed_in, alias.serial) > (%(after_change)s::text::xid8, %(after_serial)s)
      AND alias.changed_in < %(horizon)s::text::xid8 AND alias.is_live
      AND (name.alias_id IS NULL OR name.alias_id = alias.id)
    ORDER BY alias.changed_in, alias.serial LIMIT %(limit)s
""").all(MapEntry)
list_catch_alls = query("""
    SELECT domain, destinations FROM forwarding_catch_alls WHERE cardinality(destinations) > 0 ORDER BY domain
""").pairs(str, list[str])
list_domains = query("""
    SELECT domain, separator_policy FROM forwarding_domains ORDER BY domain
""").pairs(str, str)

# The role of the look-up server: its name is in `role`, too.
_VIEWS = "forwarding_domains, forwarding_names, forwarding_aliases, forwarding_catch_alls"
# Look-up servers of several databases of a server may start at once.
lock_role = query("SELECT pg_advisory_xact_lock(hashtextextended('builders_lookup', 0))").run()
has_role = query("SELECT FROM pg_roles WHERE rolname = 'builders_lookup'").exists()
create_role = query("CREATE ROLE builders_lookup NOLOGIN").run()
join_role = query("GRANT builders_lookup TO CURRENT_USER").run()
set_role = query("SET LOCAL ROLE builders_lookup").run()
grant_views = query(f"GRANT SELECT ON {_VIEWS} TO builders_lookup").run()
list_missing_views = query(f"""
    SELECT name FROM regexp_split_to_table('{_VIEWS}', ', ') AS name
    WHERE NOT has_table_privilege('builders_lookup', name, 'SELECT')
""").scalars(str)
list_further_tables = query(f"""
    SELECT relname::text FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND relname::text <> ALL(regexp_split_to_array('{_VIEWS}', ', '))
      AND has_table_privilege('builders_lookup', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
    ORDER BY relname LIMIT 5
""").scalars(str)
