-- The rows of one account that has done a lot: `bench.rows` of each kind, a tenth where an account has fewer. PostgreSQL
-- writes a million of each in minutes. Amounts, states and texts are of the simplest kind: what is measured is how
-- many rows a list, a report or a job reads. A portfolio with its figures comes from `bench.portfolio.fill`.
--
-- Runs in one transaction, in which now() is the same for all, with the settings `bench.rows` and `bench.account`.

CREATE FUNCTION bench_account() RETURNS uuid LANGUAGE sql STABLE RETURN current_setting('bench.account')::uuid;
CREATE FUNCTION bench_rows() RETURNS bigint LANGUAGE sql STABLE RETURN current_setting('bench.rows')::bigint;
CREATE FUNCTION bench_tenth() RETURNS bigint LANGUAGE sql STABLE RETURN greatest(bench_rows() / 10, 1);
-- Row 1 is the oldest; all rows are of the last twenty days.
CREATE FUNCTION bench_time(n bigint) RETURNS timestamptz LANGUAGE sql STABLE
RETURN now() - interval '20 days' * (1 - n::float8 / bench_rows());
-- A UUIDv7 of the nth row of a kind.
CREATE FUNCTION bench_id(n bigint, kind int) RETURNS uuid LANGUAGE sql STABLE
RETURN (
    lpad(to_hex((extract(epoch FROM bench_time(n)) * 1000)::bigint), 12, '0') || '7' || lpad(kind::text, 3, '0')
    || '8' || lpad(to_hex(n), 15, '0')
)::uuid;

INSERT INTO aliases_destinations (account_id, email, verified_at, created_at)
SELECT bench_account(), 'reader' || n || '@example.net', now(), now() FROM generate_series(1, bench_tenth()) AS n;
WITH alias AS (
    INSERT INTO aliases (account_id, id, domain, local_part, key, status, price_amount, price_currency,
                         price_interval, claimed_at, updated_at, deleted_at)
    SELECT bench_account(), bench_id(n, 1), 'growth.example', 'n' || n, 'n' || n,
           CASE WHEN n % 10 = 0 THEN 'deleted' ELSE 'active' END, 0, 'USD', 'once',
           bench_time(n), bench_time(n),
           CASE WHEN n % 10 = 0 THEN bench_time(n) END
    FROM generate_series(1, bench_rows()) AS n RETURNING id, key, status
)
INSERT INTO aliases_names (realm, domain, key, skeleton, account_id, alias_id, state)
SELECT '00000000-0000-0000-0000-000000000000', 'growth.example', key, key, bench_account(), id, 'claimed'
FROM alias WHERE status = 'active';
INSERT INTO aliases_forwards (account_id, alias_id, position, email)
SELECT bench_account(), bench_id(n, 1), 1,
       'reader' || 1 + n % bench_tenth() || '@example.net'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO webhooks_destinations (account_id, id, label, url, enabled, events, secret, secret_hint,
                                   created_at, updated_at)
VALUES (bench_account(), bench_id(1, 2), 'growth', 'https://growth.example/', true, '{*}', '', '',
        now(), now());
INSERT INTO kit_outbox (id, created_at, account_id, name, version, data)
SELECT bench_id(n, 3), bench_time(n), bench_account(), 'alias.created', 1, '{}'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO webhooks_feed (account_id, event_id, created_at, position, previous, name)
SELECT bench_account(), bench_id(n, 3), bench_time(n),
       (extract(epoch FROM bench_time(n)) * 1e6)::bigint,
       (extract(epoch FROM bench_time(n - 1)) * 1e6)::bigint, 'alias.created'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
SELECT bench_account(), bench_id(n, 3), bench_time(n), '{"type":"alias.created"}'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO webhooks_deliveries (account_id, id, created_at, destination_id, event_id, event, status, trigger,
                                 attempts, last_attempt_at, given_up_at)
SELECT bench_account(), bench_id(n, 4), bench_time(n), bench_id(1, 2),
       bench_id(n, 3), 'alias.created', CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'succeeded' END,
       'event', 1, now(), CASE WHEN n % 100 = 0 THEN now() END
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO webhooks_attempts (account_id, delivery_id, created_at, destination_id, n, duration_ms, status)
SELECT bench_account(), bench_id(n, 4), bench_time(n), bench_id(1, 2), 1, 9, 200
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO mail_messages (account_id, id, created_at, template, category, recipient, status, sent_at)
SELECT bench_account(), bench_id(n, 5), bench_time(n), 'sign_in', 'transactional',
       'r***@example.net', 'sent', now()
FROM generate_series(1, bench_tenth()) AS n;
INSERT INTO tracking_hits (account_id, id, created_at, message_id, kind, agent)
SELECT bench_account(), bench_id(n, 6), bench_time(n),
       bench_id(1 + n % bench_tenth(), 5), 'open', 'browser'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO catalog_events (id, created_at, occurred_at, kind, domain, utm, metadata, is_machine, agent)
SELECT bench_id(n, 7), bench_time(n), bench_time(n), 'view',
       'd' || n % 1000 || '.example', '{}', '{}', false, 'browser'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO identity_audit (account_id, id, created_at, action, actor_type, about)
SELECT bench_account(), bench_id(n, 8), bench_time(n), 'key.created', 'operator', '{}'
FROM generate_series(1, bench_rows()) AS n;
INSERT INTO identity_keys (account_id, id, digest, label, kind, preset, prefix, last4, created_at, created_by,
                           revoked_at)
SELECT bench_account(), bench_id(n, 9), sha256(n::text::bytea), 'growth', 'live', 'developer_full',
       'svc_live_' || n, '0000', bench_time(n), 'operator', now()
FROM generate_series(1, bench_tenth()) AS n;
INSERT INTO plans (account_id, id, manifest, manifest_digest, labels, status, digest, actions, errors,
                           warnings, created_by, created_at, expires_at)
SELECT bench_account(), bench_id(n, 10), 'm' || n % 100, '', '{}', 'promoted', 'd' || n, '[]', '[]',
       '[]', 'key', bench_time(n), bench_time(n)
FROM generate_series(1, bench_tenth()) AS n;
INSERT INTO plans_promotions (account_id, id, plan_id, status, on_error, created_by, started_at, finished_at)
SELECT bench_account(), bench_id(n, 11), bench_id(n, 10), 'succeeded', 'stop', 'key',
       bench_time(n), bench_time(n)
FROM generate_series(1, bench_tenth()) AS n;
INSERT INTO plans_steps (account_id, promotion_id, position, address, action, status, finished_at)
SELECT bench_account(), bench_id(n, 11), place, 'alias.a', 'create', 'succeeded', now()
FROM generate_series(1, bench_tenth()) AS n, generate_series(0, 9) AS place;
INSERT INTO invoices_invoices (account_id, id, number, is_test, status, currency, tax_rate, subtotal, tax_total,
                               total, amount_paid, seller, buyer, created_at, issued_at, due_at, paid_at)
SELECT bench_account(), bench_id(n, 12), 'GROW-' || n, false, 'paid', 'USD', 0, 1, 0, 1, 1,
       '{"name": "Growth", "address": [], "tax_id": null, "bank": null}',
       '{"name": "Growth", "address": [], "tax_id": null, "country": null, "email": null}', bench_time(n), now(), now(), now()
FROM generate_series(1, bench_tenth()) AS n;
INSERT INTO leads_leads (account_id, id, email, status, changed_at, created_at, confirmed_at)
SELECT '00000000-0000-0000-0000-000000000000', bench_id(n, 13), 'lead' || n || '@example.net',
       'confirmed', now(), now(), now()
FROM generate_series(1, bench_tenth()) AS n;
INSERT INTO portfolio_billing_charges (account_id, id, key, provider, order_id, line_id, charged_on, description,
                                       name_origin, domain, kind, years, total, tax, fees, currency, source,
                                       run_id, imported_at)
SELECT bench_account(), bench_id(n, 14), sha256(n::text::bytea), 'porkbun', 'o' || n, '1',
       current_date - (n % 3650)::int, 'Renewal', 'field', 'c' || n || '.com', 'renewal', 1, 10.98, 0, 0,
       'USD', 'import', bench_id(1, 15), now()
FROM generate_series(1, bench_rows()) AS n;
