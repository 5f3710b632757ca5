-- What a large portfolio has beside its domains and its ledger, which come from `bench.portfolio.fill`: the inventory of
-- two registrars with some findings, their charges, a month of parking, and notices. `bench.account` is the owner.

CREATE FUNCTION bench_account() RETURNS uuid LANGUAGE sql STABLE RETURN current_setting('bench.account')::uuid;
CREATE TEMPORARY TABLE held AS
SELECT *, row_number() OVER (ORDER BY domain) AS n, lower(registrar) AS provider FROM portfolio_domains
WHERE account_id = bench_account();

INSERT INTO portfolio_registrars_connections (account_id, id, provider, name, environment, hints, is_enabled,
                                              sync_interval_hours, status, last_sync_at, paced_until, version,
                                              created_at, updated_at)
SELECT bench_account(), gen_random_uuid(), provider, 'default', 'live', '[]', true, 24, 'ok', now(), now(), 1, now(), now()
FROM held GROUP BY provider;
INSERT INTO portfolio_registrars_snapshots (account_id, connection_id, provider, source, taken_at, is_complete,
                                            domains, last_complete_at)
SELECT account_id, id, provider, 'api', now(), true, 0, now() FROM portfolio_registrars_connections;
-- One domain of a hundred has another expiry, one of a hundred is not held, one of a hundred is not in the portfolio.
INSERT INTO portfolio_registrars_holdings (account_id, connection_id, domain, provider, expires_at, auto_renew, locked,
                                           status, source, listing_id, first_seen_at, last_seen_at)
SELECT bench_account(), connection.id, CASE WHEN n % 100 = 1 THEN 'other-' ELSE '' END || domain, held.provider,
       expires_at + interval '1 day' * CASE WHEN n % 100 = 2 THEN 30 ELSE 0 END, held.auto_renew, held.locked, 'active',
       'api', connection.id, now(), now()
FROM held JOIN portfolio_registrars_connections AS connection USING (account_id, provider)
WHERE n % 100 > 0;
INSERT INTO portfolio_billing_charges (account_id, id, key, provider, connection_id, order_id, line_id, charged_on,
                                       description, domain_raw, name_origin, domain, kind, years, total, tax, fees,
                                       currency, source, run_id, imported_at, candidates)
SELECT bench_account(), gen_random_uuid(), sha256(n::text::bytea), held.provider, connection.id, 'o' || n, '1',
       current_date - (n % 3650)::int, 'Renewal of ' || domain, domain, 'field', domain, 'renewal', 1, 10.98, 0, 0, 'USD',
       'api', connection.id, now(),
       CASE WHEN n % 2 = 0 THEN '[]' ELSE jsonb_build_array(jsonb_build_object(
           'domain_id', held.id, 'domain', domain, 'confidence', 0.6, 'method', 'label')) END
FROM held JOIN portfolio_registrars_connections AS connection USING (account_id, provider);
INSERT INTO portfolio_parking_revenue (account_id, domain_id, day, provider, reference, visits, clicks, amount, currency,
                                       updated_at)
SELECT bench_account(), id, current_date - day, 'Sedo', '', 10, 1, 0.05, 'USD', now()
FROM held, generate_series(1, 31) AS day WHERE n % 20 = 0;
INSERT INTO portfolio_notifications_notices (account_id, id, member_id, event, title, severity, domain_id, domain,
                                             threshold_days, expires_on, in_app, created_at)
SELECT bench_account(), gen_random_uuid(), bench_account(), 'portfolio.domain.expiring', domain || ' expires in 30 days.',
       'warn', id, domain, 30, current_date + 30, true, now()
FROM held WHERE n % 4 = 0;
-- Each estimate was corrected in each of the last 12 months.
INSERT INTO portfolio_domains_value_changes (account_id, month, domain_id, currency, change)
SELECT bench_account(), month, id, 'USD', n % 7
FROM held, generate_series(date_trunc('month', now()) - interval '11 months', now(), interval '1 month') AS month;
DROP TABLE held;
ANALYZE;
