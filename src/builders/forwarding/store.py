"""All SQL of forwarding: exports through views, correspondents, received mail, the log, and the role's rights."""

from datetime import date
from operator import attrgetter
from uuid import UUID

from builders.aliases.lookups import TABLE, TOLD
from builders.forwarding.records import (
    AnswerCounts,
    Bounces,
    Correspondent,
    DueAnswer,
    LookupKey,
    MailAnswer,
    MailDay,
    MailResult,
    MapEntry,
    Part,
    Position,
    Reception,
    ReturnedMail,
    StoredMessage,
    StoredSummary,
)
from builders.kit.db.columns import columns_of
from builders.kit.db.queries import account_lock, due_rows, query, stale_rows

# The oldest open transaction: the changes of all earlier ones are visible, or rolled back.
get_horizon = query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint").value(int)
list_active = query("""
    SELECT account_id, id, domain, key, local_part, destinations FROM forwarding_aliases
    WHERE is_active AND is_live AND (pause_until IS NULL OR pause_until <= %(now)s)
      AND (account_id, id) > (%(after_account)s, %(after_id)s)
    ORDER BY account_id, id LIMIT %(limit)s
""").all(MapEntry)
list_changed = query("""
    SELECT account_id, id, domain, key, local_part,
           CASE WHEN is_active AND (pause_until IS NULL OR pause_until <= %(now)s)
                THEN destinations ELSE '{}' END AS destinations,
           changed_in::text, serial
    FROM forwarding_aliases AS alias
    WHERE (changed_in, serial) > (%(after_change)s::text::xid8, %(after_serial)s)
      AND changed_in < %(horizon)s::text::xid8 AND is_live
    ORDER BY alias.changed_in, serial LIMIT %(limit)s
""").all(MapEntry)

# The role of the look-up server: its name is in `role`, too.
# Look-up servers of several databases of a server may start at once.
lock_role = query("SELECT pg_advisory_xact_lock(hashtextextended('builders_lookup', 0))").run()
has_role = query("SELECT FROM pg_roles WHERE rolname = 'builders_lookup'").exists()
create_role = query("CREATE ROLE builders_lookup NOLOGIN").run()
# The nodes of a sharded database check it as that of a session.
is_sharded = query("SELECT WHERE to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL").exists()
create_login_role = query("CREATE ROLE builders_lookup LOGIN").run()
join_role = query("GRANT builders_lookup TO CURRENT_USER").run()
set_role = query("SET LOCAL ROLE builders_lookup").run()
grant_table = query(f"GRANT SELECT ON {TABLE} TO builders_lookup").run()
may_read = query(f"SELECT WHERE has_table_privilege('builders_lookup', '{TABLE}', 'SELECT')").exists()
list_further_tables = query(f"""
    SELECT relname::text FROM pg_class
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND relname::text NOT IN ('{TABLE}', 'kit_restores') -- the latter has no data of customers
      AND has_table_privilege('builders_lookup', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e') -- of an extension
    ORDER BY relname LIMIT 5
""").scalars(str)

# What mail servers must be told of keys, from the tables that own the facts, and what they are told. Each table is
# read by itself: a sharded database has them in different places. When a pause began is of no use after its end.
_TOLD = ", ".join(TOLD)
_ACTIVE = ("replies", "receives", "destinations", "unconfirmed_since", "paused_since")
_TRUTH = f"""
    asked AS MATERIALIZED (
        SELECT DISTINCT domain, name FROM unnest(%(domains)s::text[], %(names)s::text[]) AS asked (domain, name)
    ), asked_domain AS MATERIALIZED (
        SELECT domain FROM asked WHERE name = ''
    ), holder AS MATERIALIZED (
        SELECT holder.* FROM asked_domain JOIN forwarding_holders AS holder USING (domain)
    ), shared AS MATERIALIZED (
        SELECT shared.* FROM asked_domain JOIN forwarding_shared_domains AS shared USING (domain)
    ), catch_all AS MATERIALIZED (
        SELECT catch_all.* FROM holder JOIN forwarding_catch_alls AS catch_all USING (account_id, domain)
    ), name AS MATERIALIZED (
        SELECT name.* FROM asked JOIN forwarding_names AS name
          ON name.domain = asked.domain AND name.key = asked.name
    ), alias AS MATERIALIZED (
        SELECT alias.* FROM name JOIN forwarding_aliases AS alias
          ON alias.account_id = name.account_id AND alias.id = name.alias_id
        WHERE name.state = 'claimed' AND alias.is_live
    ), reverse_name AS MATERIALIZED (
        SELECT known.* FROM asked JOIN forwarding_reverse_names AS known USING (domain, name)
    ), reverse AS MATERIALIZED (
        SELECT reverse.* FROM reverse_name AS known JOIN forwarding_reverse_addresses AS reverse
          ON reverse.account_id = known.account_id AND reverse.correspondent_id = known.correspondent_id
        WHERE reverse.domain = known.domain AND reverse.name = known.name
    ), told AS MATERIALIZED (
        SELECT {", ".join(f"told.{name}" for name in TOLD)},
               CASE WHEN told.pause_until > %(now)s THEN told.paused_at END AS paused_at
        FROM asked JOIN aliases_lookups AS told USING (domain, name)
    ), truth AS MATERIALIZED (
        SELECT {_TOLD}, paused_at FROM (
            SELECT alias.domain, alias.key AS name, alias.account_id, NULL::boolean AS is_shared,
                   NULL AS separator_policy, NULL AS leads_to, alias.id AS alias_id, true AS is_claimed,
                   alias.block, NULL AS reverse_of,
                   CASE WHEN alias.is_active THEN alias.pause_until END AS pause_until,
                   CASE WHEN alias.is_active AND alias.pause_until > %(now)s THEN alias.paused_at END AS paused_at,
                   {", ".join(f"CASE WHEN alias.is_active THEN alias.{name} END AS {name}" for name in _ACTIVE)}
            FROM alias
            UNION ALL
            SELECT domain, key, account_id, NULL, NULL, NULL, alias_id, false, NULL, NULL, NULL, NULL, NULL,
                   NULL, NULL, NULL, NULL
            FROM name WHERE state = 'quarantined'
            UNION ALL
            SELECT coalesce(holder.domain, shared.domain), '', holder.account_id, shared.domain IS NOT NULL,
                   coalesce(shared.separator_policy, 'ignore_dots'), catch_all.leads_to, NULL, NULL, NULL, NULL,
                   NULL, NULL, NULL, NULL, catch_all.destinations, catch_all.unconfirmed_since,
                   catch_all.paused_since
            FROM holder FULL JOIN shared ON shared.domain = holder.domain
            LEFT JOIN catch_all ON catch_all.domain = holder.domain AND catch_all.account_id = holder.account_id
            UNION ALL
            SELECT domain, name, account_id, NULL, NULL, NULL, alias_id, NULL, NULL, reverse_of, NULL, NULL, NULL,
                   NULL, NULL, NULL, NULL
            FROM reverse
        ) AS found
    ), wrong AS MATERIALIZED (
        SELECT domain, name, truth.domain IS NOT NULL AS is_true
        FROM truth FULL JOIN told USING (domain, name)
        -- A name that is held after its quarantine is told as before, until it is claimed or free.
        LEFT JOIN (SELECT domain, key AS name FROM name WHERE state = 'held') AS held USING (domain, name)
        WHERE truth IS DISTINCT FROM told AND held IS NULL
    )
"""
list_wrong = query(f"WITH {_TRUTH} SELECT name || '@' || domain FROM wrong ORDER BY domain, name").scalars(str)
# Changes wait, look-ups do not.
lock_lookups = query(f"LOCK TABLE {TABLE} IN SHARE ROW EXCLUSIVE MODE").run()
repair = query(f"""
    WITH {_TRUTH}, gone AS (
        DELETE FROM aliases_lookups AS known USING wrong
        WHERE known.domain = wrong.domain AND known.name = wrong.name AND NOT wrong.is_true
    )
    INSERT INTO aliases_lookups ({_TOLD}, paused_at)
    SELECT truth.* FROM truth JOIN wrong USING (domain, name)
    ON CONFLICT (domain, name) DO UPDATE
    SET {", ".join(f"{name} = excluded.{name}" for name in (*TOLD[2:], "paused_at"))}
""").run()
# Keys of the tables that own the facts, and of those that mail servers are told: a page of each is enough for one.
list_lookup_keys = query("""
    WITH told AS MATERIALIZED (
        SELECT domain, name FROM aliases_lookups WHERE (domain, name) > (%(domain)s, %(name)s)
        ORDER BY domain, name LIMIT %(limit)s
    ), name AS MATERIALIZED (
        SELECT domain, key FROM forwarding_names WHERE (domain, key) > (%(domain)s, %(name)s)
        ORDER BY domain, key LIMIT %(limit)s
    ), reverse AS MATERIALIZED (
        SELECT domain, name FROM forwarding_reverse_names WHERE (domain, name) > (%(domain)s, %(name)s)
        ORDER BY domain, name LIMIT %(limit)s
    ), holder AS MATERIALIZED (
        SELECT domain FROM forwarding_holders WHERE domain > %(domain)s ORDER BY domain LIMIT %(limit)s
    ), shared AS MATERIALIZED (
        SELECT domain FROM forwarding_shared_domains WHERE domain > %(domain)s ORDER BY domain LIMIT %(limit)s
    )
    SELECT domain, name FROM told UNION SELECT domain, key FROM name UNION SELECT domain, name FROM reverse
    UNION SELECT domain, '' FROM holder UNION SELECT domain, '' FROM shared
    ORDER BY domain, name LIMIT %(limit)s
""").all(LookupKey)

list_keyless_domains = query("""
    SELECT domain FROM forwarding_keyless_domains LIMIT %(limit)s
""").scalars(str)
list_rotated_domains = query("""
    SELECT domain FROM forwarding_signing_since WHERE created_at < %(before)s ORDER BY created_at LIMIT %(limit)s
""").scalars(str)

# Correspondents of names.
_CORRESPONDENT = columns_of(Correspondent)
find_reverse_name = query("""
    SELECT account_id, correspondent_id FROM forwarding_reverse_names WHERE name = %(name)s
""").one(tuple[UUID, UUID])
find_correspondent = query(f"""
    SELECT {_CORRESPONDENT} FROM forwarding_correspondents WHERE account_id = %(account_id)s AND id = %(id)s
""").one(Correspondent)
# No row above the maximum, unless the correspondent exists.
add_correspondent = query(f"""
    WITH correspondent AS (
        INSERT INTO forwarding_correspondents
            (account_id, id, alias_id, name, digest, address, created_at, used_at)
        SELECT %(account_id)s, %(id)s, %(alias_id)s, %(name)s, %(digest)s, %(address)s, %(now)s, %(now)s
        WHERE EXISTS (
            SELECT FROM forwarding_correspondents
            WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s AND digest = %(digest)s
        ) OR (SELECT count(*) FROM forwarding_correspondents WHERE account_id = %(account_id)s) < %(maximum)s
        ON CONFLICT (account_id, alias_id, digest) DO UPDATE SET used_at = %(now)s
        RETURNING {_CORRESPONDENT}
    ), reverse AS (
        INSERT INTO forwarding_reverse_names (name, domain, account_id, correspondent_id)
        SELECT name, %(domain)s, account_id, id FROM correspondent WHERE name = %(name)s
    )
    SELECT {_CORRESPONDENT} FROM correspondent
""").one(Correspondent)
# Which of the reverse addresses in a head are of the name, too.
list_named_correspondents = query(f"""
    SELECT {_CORRESPONDENT} FROM forwarding_correspondents
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s AND name = ANY(%(names)s::text[])
""").all(Correspondent)
list_correspondents = query(f"""
    SELECT {_CORRESPONDENT} FROM forwarding_correspondents
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s AND id < %(before_id)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(Correspondent)
# The name of the reverse address, which is a row of another shard.
delete_correspondent = query("""
    DELETE FROM forwarding_correspondents
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s AND id = %(id)s RETURNING name
""").scalar(str)
touch_correspondent = query("""
    UPDATE forwarding_correspondents SET used_at = %(now)s WHERE account_id = %(account_id)s AND id = %(id)s
""").run()
# Takes one of the replies of the day; none is left without a row.
count_reply = query("""
    INSERT INTO forwarding_reply_days AS counted (account_id, day, replies)
    VALUES (%(account_id)s, %(day)s, 1)
    ON CONFLICT (account_id, day) DO UPDATE SET replies = counted.replies + 1
    WHERE counted.replies < %(maximum)s
""").changes()
uncount_reply = query("""
    UPDATE forwarding_reply_days SET replies = replies - 1 WHERE account_id = %(account_id)s AND day = %(day)s
""").run()
list_unused_correspondents = due_rows("forwarding_correspondents", by="used_at", at="before").all(
    tuple[UUID, UUID]
)
# The names of the reverse addresses, which are rows of other shards.
prune_correspondents = query("""
    DELETE FROM forwarding_correspondents
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[]) AND used_at < %(before)s
    RETURNING name
""").scalars(str)
delete_reverse_names = query("""
    DELETE FROM forwarding_reverse_names WHERE name = ANY(%(names)s::text[]) RETURNING domain, name
""").all(tuple[str, str])
list_stale_correspondents = stale_rows(
    "forwarding_correspondents",
    sealed="address",
    key="account_id, id",
    after="%(after_account)s, %(after_id)s",
    columns=_CORRESPONDENT,
).all(Correspondent)
# Another row may have the digest already, of mail since the secret changed: both reverse addresses stay valid.
replace_correspondent = query("""
    UPDATE forwarding_correspondents AS old SET address = %(sealed)s, digest = CASE WHEN EXISTS (
        SELECT FROM forwarding_correspondents AS other
        WHERE other.account_id = %(account_id)s AND other.alias_id = old.alias_id AND other.digest = %(digest)s
    ) THEN old.digest ELSE %(digest)s END
    WHERE old.account_id = %(account_id)s AND old.id = %(id)s AND old.address = %(address)s
""").count()

# Mail as an event.
# Two rules that are set at once must see each other's key.
lock_receptions = account_lock("forwarding_receptions")
find_reception = query(f"""
    SELECT {columns_of(Reception)} FROM forwarding_receptions
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s
""").one(Reception)
set_reception = query(f"""
    INSERT INTO forwarding_receptions (account_id, alias_id, webhook_id, key_id, may_reply, created_at)
    VALUES (%(account_id)s, %(alias_id)s, %(webhook_id)s, %(key_id)s, %(may_reply)s, %(now)s)
    ON CONFLICT (account_id, alias_id) DO UPDATE
    SET webhook_id = %(webhook_id)s, key_id = %(key_id)s, may_reply = %(may_reply)s, created_at = %(now)s
    RETURNING {columns_of(Reception)}
""").only(Reception)
delete_reception = query("""
    WITH message AS (
        DELETE FROM forwarding_messages WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s
    )
    DELETE FROM forwarding_receptions WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s
""").changes()
list_readers = query("""
    SELECT DISTINCT key_id FROM forwarding_receptions WHERE account_id = %(account_id)s
""").scalars(UUID)
# No row if the message is there already. Its content is kept while there is room for it.
add_message = query(f"""
    WITH stored AS (
        SELECT count(*) AS messages, coalesce(sum(stored_size) FILTER (WHERE is_kept), 0) AS bytes
        FROM forwarding_messages WHERE account_id = %(account_id)s
    )
    INSERT INTO forwarding_messages
        (account_id, id, alias_id, digest, size, stored_size, spf, dkim, dmarc, senders, summary, is_kept,
         received_at, expires_at)
    SELECT %(account_id)s, %(id)s, %(alias_id)s, %(digest)s, %(size)s, %(stored_size)s, %(spf)s, %(dkim)s,
           %(dmarc)s, %(senders)s::bytea[], %(summary)s,
           %(size)s::int <= %(max_bytes)s AND bytes + %(stored_size)s::int <= %(max_stored)s
               AND messages < %(max_messages)s,
           %(now)s, %(expires_at)s
    FROM stored
    ON CONFLICT (account_id, alias_id, digest) DO NOTHING
    RETURNING {columns_of(StoredMessage)}
""").one(StoredMessage)
add_part = query("""
    INSERT INTO forwarding_parts (account_id, message_id, number, name, content)
    VALUES (%(account_id)s, %(message_id)s, %(number)s, %(name)s, %(content)s)
""").run()
# For the credential of the rule, and the person of the account.
_READ = """
    FROM forwarding_messages AS message
    JOIN forwarding_receptions AS rule ON rule.account_id = message.account_id AND rule.alias_id = message.alias_id
"""
_READABLE = """
    message.account_id = %(account_id)s AND message.id = %(message_id)s AND message.alias_id = %(alias_id)s
    AND message.is_kept AND message.expires_at > %(now)s AND (%(is_person)s OR rule.key_id = %(key_id)s::uuid)
"""
find_message = query(f"""
    SELECT message.id, message.alias_id, size, summary, received_at, expires_at {_READ} WHERE {_READABLE}
""").one(StoredSummary)
find_part = query(f"""
    SELECT part.name, part.content {_READ}
    JOIN forwarding_parts AS part ON part.account_id = message.account_id AND part.message_id = message.id
    WHERE {_READABLE} AND part.number = %(number)s
""").one(Part)
list_messages = query("""
    SELECT id, alias_id, size, summary, received_at, expires_at FROM forwarding_messages
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s AND id < %(before_id)s
      AND is_kept AND expires_at > %(now)s AND received_at >= %(since)s
      AND (%(is_any)s OR senders && %(senders)s::bytea[])
    ORDER BY id DESC LIMIT %(limit)s
""").all(StoredSummary)
# How many messages arrived for an account: changes in the sequence in which they are seen.
count_arrival = query("""
    INSERT INTO forwarding_arrivals AS counted (account_id, arrivals) VALUES (%(account_id)s, 1)
    ON CONFLICT (account_id) DO UPDATE SET arrivals = counted.arrivals + 1
""").run()
list_arrivals = query("""
    SELECT account_id, arrivals FROM forwarding_arrivals WHERE account_id = ANY(%(account_ids)s::uuid[])
""").pairs(UUID, int)

# Answers of programs.
_ANSWER = columns_of(MailAnswer)
lock_answers = account_lock("forwarding_answers")
find_answer = query(f"""
    SELECT {_ANSWER} FROM forwarding_answers
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s AND digest = %(digest)s
""").one(MailAnswer)
list_answers = query(f"""
    SELECT {_ANSWER} FROM forwarding_answers
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s ORDER BY id
""").all(MailAnswer)
count_answers = query("""
    SELECT count(*) FILTER (WHERE message_id = %(message_id)s) AS of_message,
           count(*) FILTER (WHERE day = %(day)s AND correspondent = %(correspondent)s) AS to_correspondent,
           count(*) FILTER (WHERE day = %(day)s) AS on_day
    FROM forwarding_answers WHERE account_id = %(account_id)s
""").only(AnswerCounts)
add_answer = query(f"""
    INSERT INTO forwarding_answers
        (account_id, id, alias_id, message_id, key_id, digest, correspondent, day, draft, status, attempts,
         next_try_at, created_at)
    VALUES (%(account_id)s, %(id)s, %(alias_id)s, %(message_id)s, %(key_id)s, %(digest)s, %(correspondent)s,
            %(day)s, %(draft)s, 'queued', 0, %(now)s, %(now)s)
    RETURNING {_ANSWER}
""").only(MailAnswer)
list_due_answers = due_rows("forwarding_answers", by="next_try_at").all(tuple[UUID, UUID])
claim_answers = query(f"""
    UPDATE forwarding_answers SET attempts = attempts + 1, next_try_at = %(until)s
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[]) AND next_try_at <= %(now)s
    RETURNING {columns_of(DueAnswer)}
""").all(DueAnswer)
defer_answer = query("""
    UPDATE forwarding_answers SET code = %(code)s, next_try_at = %(next_try_at)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND status = 'queued'
""").run()
finish_answer = query("""
    UPDATE forwarding_answers
    SET status = %(status)s, code = %(code)s, sent_at = %(sent_at)s, draft = NULL, next_try_at = NULL
    WHERE account_id = %(account_id)s AND id = %(id)s
""").run()

# The log of the mail server.
find_position = query("""
    SELECT position AS "offset", digest FROM forwarding_logs WHERE host = %(host)s AND path = %(path)s
""").one(Position)
start_log = query("""
    INSERT INTO forwarding_logs (host, path, position, digest) VALUES (%(host)s, %(path)s, 0, '')
    ON CONFLICT (host, path) DO NOTHING
""").run()
lock_position = query("""
    SELECT position AS "offset", digest FROM forwarding_logs WHERE host = %(host)s AND path = %(path)s FOR UPDATE
""").one(Position)
move_position = query("""
    UPDATE forwarding_logs SET position = %(position)s, digest = %(digest)s
    WHERE host = %(host)s AND path = %(path)s
""").run()
add_returns = query("""
    INSERT INTO forwarding_returns AS known (host, queue_id, account_id, alias_id, is_known, at)
    SELECT %(host)s, queue_id, account_id, alias_id, is_known, %(now)s
    FROM unnest(%(queue_ids)s::text[], %(account_ids)s::uuid[], %(alias_ids)s::uuid[], %(are_known)s::boolean[])
         AS new (queue_id, account_id, alias_id, is_known)
    ON CONFLICT (host, queue_id) DO UPDATE
    SET account_id = excluded.account_id, alias_id = excluded.alias_id, is_known = true
    WHERE excluded.is_known
""").run()
load_returns = query("""
    SELECT queue_id, account_id, alias_id, is_known FROM forwarding_returns
    WHERE host = %(host)s AND queue_id = ANY(%(queue_ids)s::text[])
""").keyed(ReturnedMail, by=attrgetter("queue_id"))
list_results_of_messages = query("""
    SELECT account_id, alias_id, queue_id, destination, outcome FROM forwarding_results
    WHERE queue_id = ANY(%(queue_ids)s::text[])
""").all(tuple[UUID, UUID, str, str, str])
# A row of a day is missing while it has no mail.
list_result_counts = query("""
    SELECT account_id, alias_id, day, results FROM forwarding_days
    JOIN unnest(%(account_ids)s::uuid[], %(alias_ids)s::uuid[], %(days)s::date[])
         AS asked (account_id, alias_id, day) USING (account_id, alias_id, day)
    WHERE forwarding_days.account_id = ANY(%(account_ids)s::uuid[])
""").all(tuple[UUID, UUID, date, int])
write_results = query("""
    INSERT INTO forwarding_results
        (account_id, alias_id, id, queue_id, destination, outcome, code, created_at, at)
    SELECT account_id, alias_id, id, queue_id, destination, outcome, code, at, at
    FROM unnest(%(account_ids)s::uuid[], %(alias_ids)s::uuid[], %(ids)s::uuid[], %(queue_ids)s::text[],
                %(destinations)s::text[], %(outcomes)s::text[], %(codes)s::text[], %(times)s::timestamptz[])
         AS new (account_id, alias_id, id, queue_id, destination, outcome, code, at)
    ORDER BY account_id, alias_id, queue_id, destination
    ON CONFLICT (account_id, alias_id, queue_id, destination) DO UPDATE
    SET outcome = excluded.outcome, code = excluded.code, at = excluded.at
""").run()
count_days = query("""
    INSERT INTO forwarding_days AS counted
        (account_id, alias_id, day, forwarded, deferred, bounced, refused, results, last_at)
    SELECT * FROM unnest(%(account_ids)s::uuid[], %(alias_ids)s::uuid[], %(days)s::date[], %(forwarded)s::int[],
                         %(deferred)s::int[], %(bounced)s::int[], %(refused)s::int[], %(results)s::int[],
                         %(last_at)s::timestamptz[])
         AS new (account_id, alias_id, day, forwarded, deferred, bounced, refused, results, last_at)
    ORDER BY account_id, alias_id, day
    ON CONFLICT (account_id, alias_id, day) DO UPDATE
    SET forwarded = counted.forwarded + excluded.forwarded, deferred = counted.deferred + excluded.deferred,
        bounced = counted.bounced + excluded.bounced, refused = counted.refused + excluded.refused,
        results = counted.results + excluded.results, last_at = greatest(counted.last_at, excluded.last_at)
""").run()
list_bounces = query("""
    SELECT account_id, email FROM forwarding_bounces
    JOIN unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS asked (account_id, email) USING (account_id, email)
    WHERE forwarding_bounces.account_id = ANY(%(account_ids)s::uuid[])
""").all(tuple[UUID, str])
lock_bounces = query("""
    SELECT account_id, email, queue_ids, first_on, last_on FROM forwarding_bounces
    WHERE account_id = %(account_id)s AND email = ANY(%(emails)s::text[]) ORDER BY email FOR UPDATE
""").all(Bounces)
delete_bounces = query("""
    DELETE FROM forwarding_bounces AS bounced
    USING unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS gone (account_id, email)
    WHERE bounced.account_id = ANY(%(account_ids)s::uuid[]) AND bounced.account_id = gone.account_id
      AND bounced.email = gone.email
""").run()
write_bounces = query("""
    INSERT INTO forwarding_bounces (account_id, email, queue_ids, first_on, last_on)
    SELECT account_id, email, string_to_array(queue_ids, ' '), first_on, last_on
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(queue_ids)s::text[], %(firsts)s::date[],
                %(lasts)s::date[]) AS new (account_id, email, queue_ids, first_on, last_on)
    ON CONFLICT (account_id, email) DO UPDATE
    SET queue_ids = excluded.queue_ids, first_on = excluded.first_on, last_on = excluded.last_on
""").run()
list_results = query(f"""
    SELECT {columns_of(MailResult)} FROM forwarding_results
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s AND id < %(before_id)s
    ORDER BY id DESC LIMIT %(limit)s
""").all(MailResult)
list_days = query(f"""
    SELECT {columns_of(MailDay)} FROM forwarding_days
    WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s ORDER BY day DESC LIMIT %(limit)s
""").all(MailDay)
