"""SQL of restores. What was ended or spent after a backup is not in it, so all that could be is ended or spent."""

from builders.backup.records import Counted, Later, Opened, Position
from builders.kit.db.queries import query

record_restore = query("""
    INSERT INTO kit_restores (epoch, target) VALUES (%(epoch)s, %(target)s)
    ON CONFLICT (epoch) DO UPDATE SET target = excluded.target, accepted_at = NULL
""").run()
accept = query("UPDATE kit_restores SET accepted_at = %(now)s WHERE accepted_at IS NULL").changes()
end_sessions = query("""
    UPDATE identity_sessions SET ended_at = %(now)s WHERE ended_at IS NULL AND expires_at > %(now)s
""").count()
end_sign_ins = query("UPDATE identity_sign_ins SET ended_at = %(now)s WHERE ended_at IS NULL").count()
end_grants = query("""
    UPDATE identity_grants SET revoked_at = %(now)s WHERE redeemed_at IS NULL AND revoked_at IS NULL
""").count()
end_devices = query("DELETE FROM identity_devices_requests WHERE expires_at > %(now)s OR mintings > 0").count()
end_codes = query("DELETE FROM identity_oauth_codes WHERE expires_at > %(now)s").count()
end_requests = query("DELETE FROM identity_oauth_requests WHERE expires_at > %(now)s").count()
# A connection is a key without a secret.
end_connections = query("""
    UPDATE identity_keys SET revoked_at = %(now)s WHERE digest IS NULL AND revoked_at IS NULL
""").count()
end_approvals = query("UPDATE plans_approval_decisions SET ended_at = %(now)s WHERE ended_at IS NULL").count()
end_proposals = query("DELETE FROM plans_approval_proposals WHERE expires_at > %(now)s").count()
# Links of emails that verify or change an address, invitations to teams, and addresses of calendars.
end_links = query("UPDATE profile_tokens SET used_at = %(now)s WHERE used_at IS NULL").count()
end_invites = query("UPDATE portfolio_team_invites SET ended_at = %(now)s WHERE ended_at IS NULL").count()
end_calendars = query("DELETE FROM portfolio_renewals_calendars").count()
disable_keys = query("""
    UPDATE identity_keys SET disabled_at = %(now)s
    WHERE digest IS NOT NULL AND revoked_at IS NULL AND disabled_at IS NULL
      AND (expires_at IS NULL OR expires_at > %(now)s)
""").count()
# What machines may cost and delete in 30 days counts as used: each currency of a mandate, and its deletions.
spend_mandates = query("""
    INSERT INTO identity_mandate_uses (account_id, client, subject, unit, amount, used_at)
    SELECT key.account_id, key.client, %(subject)s, allowed.unit, max(allowed.amount), %(now)s
    FROM identity_keys AS key CROSS JOIN LATERAL (
        SELECT each ->> 'currency' AS unit, (each ->> 'amount')::numeric AS amount
        FROM jsonb_array_elements(key.mandate -> 'max_total_per_30_days') AS each
        UNION ALL SELECT 'deletes', (key.mandate ->> 'deletes_per_30_days')::numeric
    ) AS allowed
    WHERE key.mandate IS NOT NULL AND allowed.amount > 0
    GROUP BY key.account_id, key.client, allowed.unit
    ON CONFLICT (account_id, client, subject, unit) DO NOTHING
""").count()
# The next number follows, also if the series did not exist.
skip_numbers = query("""
    INSERT INTO invoices_series AS own (series, last) VALUES (%(series)s, %(last)s)
    ON CONFLICT (series) DO UPDATE SET last = greatest(own.last, excluded.last)
""").run()
# What goes on when the restore is accepted.
count_open = query("""
    SELECT
        (SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')) AS jobs,
        (SELECT count(*) FROM kit_outbox_pending) AS events,
        (SELECT count(*) FROM webhooks_due) AS deliveries,
        (SELECT count(*) FROM mail_messages WHERE next_try_at IS NOT NULL) AS emails,
        (SELECT count(*) FROM plans_promotions WHERE status IN ('waiting', 'running')) AS promotions,
        (SELECT count(*) FROM aliases WHERE renews_at <= %(now)s AND status IN ('active', 'disabled')) AS renewals,
        (SELECT count(*) FROM invoices_invoices WHERE status = 'open') AS invoices,
        (SELECT count(*) FROM erasure_requests WHERE due_at IS NOT NULL) AS erasures,
        (SELECT count(*) FROM identity_keys WHERE disabled_at IS NOT NULL AND revoked_at IS NULL) AS disabled_keys
""").only(Opened)
# Keeps the log from now on until the session ends: a base backup that takes longer than a checkpoint needs it.
hold_log = query("SELECT pg_create_physical_replication_slot(%(name)s, true, true)").run()
# Where the log is. Only the server tells how much of it is on the disk, and what the slot of the archive keeps.
get_position = query("""
    SELECT
        system_identifier::text AS system_id,
        timeline_id AS timeline,
        (pg_current_wal_flush_lsn() - '0/0')::bigint AS written,
        (slot.restart_lsn - '0/0')::bigint AS archived,
        coalesce(slot.wal_status = 'lost', false) AS is_given_up
    FROM pg_control_system() CROSS JOIN pg_control_checkpoint()
    LEFT JOIN pg_replication_slots AS slot ON slot.slot_name = %(slot)s
""").only(Position)
# Whether the log is archived: by a command of the server, or as the slot keeps it.
is_kept = query("""
    SELECT current_setting('archive_mode') <> 'off'
        OR EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %(slot)s AND wal_status <> 'lost')
""").value(bool)
keep_log = query("SELECT pg_create_physical_replication_slot(%(slot)s, true)").run()
# Deletes a slot whose log is deleted.
give_up_log = query("""
    SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
    WHERE slot_name = %(slot)s AND wal_status = 'lost'
""").run()
# Ends the segment that is being written, unless nothing was written to it.
end_segment = query("SELECT pg_switch_wal()").run()
forget_log = query("SELECT pg_replication_slot_advance(%(slot)s, %(to)s::pg_lsn)").run()
# What is lost by a restore to a moment.
list_later = query("""
    SELECT 'name' AS kind, account_id, local_part || '@' || domain AS what, claimed_at AS at
    FROM aliases WHERE claimed_at > %(after)s
    UNION ALL
    SELECT 'invoice', account_id, number || ' ' || total || ' ' || currency, issued_at
    FROM invoices_invoices WHERE issued_at > %(after)s
    UNION ALL
    SELECT 'payment', account_id, reference || ' ' || amount, created_at
    FROM invoices_payments WHERE created_at > %(after)s
    ORDER BY at LIMIT 10000
""").all(Later)
count_rows = query("""
    SELECT
        (SELECT count(*) FROM identity_accounts) AS accounts,
        (SELECT count(*) FROM aliases) AS names,
        (SELECT count(*) FROM invoices_invoices) AS invoices,
        (SELECT max(created_at) FROM kit_outbox) AS written_until
""").only(Counted)
