"""Names, domains and catch-alls as a mail server reads them, through the views of the package."""

from operator import attrgetter

from builders.forwarding.records import MapEntry, Route
from builders.kit.db.queries import query

# A claimed name precedes the catch-all, whatever its state. A name in quarantine goes to the catch-all of its own
# account only: the mail of its former owner is not for the holder of the domain.
# LATERAL with LIMIT makes PostgreSQL find each row by its key, even if its estimates are bad.
list_routes = query("""
    SELECT asked.place, route.is_shared, route.destinations, route.unconfirmed_since, route.paused_since
    FROM unnest(%(domains)s::text[], %(names)s::text[], %(without_dots)s::text[], %(bare)s::text[])
         WITH ORDINALITY AS asked (domain, name, without_dots, bare, place)
    CROSS JOIN LATERAL (
        SELECT domain.is_shared,
               coalesce(alias.destinations, catch_all.destinations) AS destinations,
               coalesce(alias.unconfirmed_since, catch_all.unconfirmed_since) AS unconfirmed_since,
               coalesce(alias.paused_since, catch_all.paused_since) AS paused_since
        FROM forwarding_domains AS domain
        LEFT JOIN forwarding_names AS name ON name.domain = domain.domain
         AND name.key = CASE domain.separator_policy WHEN 'ignore_dots' THEN asked.without_dots
                             WHEN 'ignore_all' THEN asked.bare ELSE asked.name END
        LEFT JOIN forwarding_aliases AS alias ON name.is_claimed
         AND alias.account_id = name.account_id AND alias.id = name.alias_id AND alias.is_active
        LEFT JOIN forwarding_catch_alls AS catch_all ON catch_all.domain = domain.domain
         AND (name.key IS NULL OR NOT name.is_claimed AND name.account_id = catch_all.account_id)
        WHERE domain.domain = asked.domain LIMIT 1
    ) AS route
""").keyed(Route, by=attrgetter("place"))

# The oldest open transaction: the changes of all earlier ones are visible, or rolled back.
get_horizon = query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint").value(int)
list_active = query("""
    SELECT account_id, id, domain, key, local_part, destinations FROM forwarding_aliases
    WHERE is_active AND is_live AND (account_id, id) > (%(after_account)s, %(after_id)s)
    ORDER BY account_id, id LIMIT %(limit)s
""").all(MapEntry)
# If another alias has the name, only that one is listed: an entry of this one would remove it from the map.
list_changed = query("""
    SELECT account_id, id, domain, key, local_part,
           CASE WHEN is_active THEN destinations ELSE '{}' END AS destinations, changed_in::text, serial
    FROM forwarding_aliases AS alias
    WHERE (changed_in, serial) > (%(after_change)s::text::xid8, %(after_serial)s)
      AND changed_in < %(horizon)s::text::xid8 AND is_live
      AND NOT EXISTS (
          SELECT FROM forwarding_names AS name
          WHERE name.domain = alias.domain AND name.key = alias.key AND name.is_claimed
            AND name.alias_id <> alias.id
      )
    ORDER BY changed_in, serial LIMIT %(limit)s
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
