"""SQL of the comparison of a portfolio with its registrars: one statement for each category of findings.

Null on either side is unknown, and never a difference. Each statement names its findings in `found` and returns
one row of JSON: the number of findings by connection and severity, and those of the page.
"""

# The domains at registrars, of fresh listings, without cancelled and transferred domains.
PRESENT = """
    present AS (
        SELECT connection_id, domain, expires_at, auto_renew, locked, privacy, status, renewal_price,
               renewal_currency, last_seen_at
        FROM portfolio_registrars_holdings
        WHERE account_id = %(account_id)s AND connection_id = ANY(%(connections)s::uuid[])
          AND missing_since IS NULL AND status <> 'gone'
    )
"""
# Each domain of the portfolio with its rows of the inventory.
COMPARED = f"""
    {PRESENT}, compared AS (
        SELECT present.*, own.id AS domain_id, own.connection_id AS own_connection, own.status AS own_status,
            own.status NOT IN ('sold', 'dropped', 'transferred_out') AS is_held, own.registrar AS own_registrar,
            own.expires_at AS own_expires_at, own.auto_renew AS own_auto_renew, own.locked AS own_locked,
            own.privacy AS own_privacy, own.renewal_price AS own_price, own.renewal_currency AS own_currency,
            length(substring(own.tld FROM '[^.]+$')) > 2 AND own.tld NOT LIKE 'xn--%%' AS is_generic
        FROM present JOIN portfolio_domains AS own
          ON own.account_id = %(account_id)s AND own.domain = present.domain
    )
"""
# If several connections hold a domain, that of the domain counts, then the one that was seen last. Only what
# differs is checked for it: to choose first takes six times as long.
COUNTS = """
    AND NOT EXISTS (
        SELECT FROM portfolio_registrars_holdings AS other
        WHERE other.account_id = %(account_id)s AND other.domain = compared.domain
          AND other.connection_id = ANY(%(connections)s::uuid[]) AND other.missing_since IS NULL
          AND other.status <> 'gone' AND (
            coalesce(other.connection_id = compared.own_connection, false), other.last_seen_at,
            other.connection_id
          ) > (
            coalesce(compared.connection_id = compared.own_connection, false), compared.last_seen_at,
            compared.connection_id
          )
    )
"""
# Further values for suggestions.
FACTS = """
    jsonb_build_object('expires_at', kit_time(expires_at), 'auto_renew', auto_renew) AS facts
"""
# Severities are ranks: 0 critical, 1 high, 2 warn, 3 info.
PAGE = """
    , wanted AS (
        SELECT severity, coalesce(domain, '') COLLATE "C" AS domain, domain_id, connection_id, portfolio_value,
               registrar_value, delta_days, facts
        FROM found WHERE severity <= %(least)s::int AND connection_id = ANY(%(shown)s::uuid[])
    ), counted AS (
        SELECT connection_id, severity, count(*) AS count FROM wanted GROUP BY connection_id, severity
    ), page AS (
        SELECT * FROM wanted
        WHERE (severity, %(place)s::int, domain, connection_id)
            > (%(after_severity)s::int, %(after_place)s::int, %(after_domain)s, %(after_connection)s::uuid)
        ORDER BY severity, domain, connection_id LIMIT %(limit)s
    )
    SELECT (SELECT coalesce(json_agg(counted), '[]') FROM counted),
           (SELECT coalesce(json_agg(page ORDER BY severity, domain, connection_id), '[]') FROM page)
"""
# A held domain is being transferred to another registrar, and its auth code was not requested here.
PENDING_TRANSFER_OUT_UNEXPECTED = f"""
    WITH {COMPARED}, found AS (
        SELECT 0 AS severity, domain, domain_id, connection_id, to_jsonb(own_status) AS portfolio_value,
               to_jsonb(status) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND status = 'transferring_out' AND NOT EXISTS (
            SELECT FROM portfolio_registrars_departures AS departure
            WHERE departure.account_id = %(account_id)s AND departure.domain = compared.domain
              AND departure.expected_until > %(now)s
        )
        {COUNTS}
    )
    {PAGE}
"""
# A held domain is deleted; until the end of its redemption it can be restored.
REDEMPTION = f"""
    WITH {COMPARED}, found AS (
        SELECT 0 AS severity, domain, domain_id, connection_id, to_jsonb(own_status) AS portfolio_value,
               to_jsonb(status) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared WHERE is_held AND status IN ('redemption', 'pending_delete')
        {COUNTS}
    )
    {PAGE}
"""
# The registrar says that a held domain has expired, or showed an expiry more than a day ago when it was asked. An
# expiry that has passed since then is no finding: the registrar may have renewed the domain.
EXPIRED_AT_REGISTRAR = f"""
    WITH {COMPARED}, found AS (
        SELECT 0 AS severity, domain, domain_id, connection_id,
               to_jsonb(kit_time(own_expires_at)) AS portfolio_value,
               to_jsonb(kit_time(expires_at)) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND (status = 'expired' OR (
            status IN ('active', 'pending', 'suspended', 'unknown')
            AND expires_at < last_seen_at - %(tolerance)s::interval
        ))
        {COUNTS}
    )
    {PAGE}
"""
# No registrar holds a domain that its own one should hold: that of the domain's connection, or each connection to
# the registrar that an owned domain names. Only after a complete listing of all of them since the domain is known.
MISSING_AT_REGISTRAR = f"""
    WITH {PRESENT}, named AS (
        SELECT * FROM unnest(%(registrars)s::text[], %(providers)s::text[]) AS named (registrar, provider)
    ), connected AS (
        SELECT * FROM unnest(%(connected)s::uuid[], %(connected_to)s::text[], %(complete_at)s::timestamptz[])
            WITH ORDINALITY AS connected (id, provider, complete_at, place)
    ), found AS (
        SELECT 1 AS severity, own.domain, own.id AS domain_id,
               (array_agg(connected.id ORDER BY connected.place))[1] AS connection_id,
               to_jsonb(own.registrar) AS portfolio_value, NULL::jsonb AS registrar_value, NULL::int AS delta_days,
               jsonb_build_object('is_expired', own.expires_at < %(now)s) AS facts
        FROM portfolio_domains AS own
        LEFT JOIN named ON named.registrar = lower(own.registrar)
        JOIN connected ON CASE WHEN own.connection_id IS NOT NULL THEN connected.id = own.connection_id
            ELSE connected.provider = named.provider AND own.ownership = 'owned' END
        WHERE own.account_id = %(account_id)s AND own.status IN ('owned', 'leased', 'consigned', 'listed')
          AND own.domain <> ALL(%(own_forms)s::text[]) AND NOT EXISTS (
            SELECT FROM portfolio_registrars_holdings AS held
            WHERE held.account_id = %(account_id)s AND held.domain = own.domain AND held.missing_since IS NULL
              AND held.status <> 'gone'
          )
        GROUP BY own.account_id, own.id
        HAVING bool_and(coalesce(connected.complete_at >= least(
            own.created_at, greatest(own.acquired_on, own.registered_on) + interval '1 day'
        ), false))
    )
    {PAGE}
"""
# The expiries of a held domain differ by more than a day; an earlier one at the registrar is the worse.
EXPIRY_MISMATCH = f"""
    WITH {COMPARED}, found AS (
        SELECT CASE WHEN expires_at < own_expires_at THEN 1 ELSE 2 END AS severity, domain, domain_id,
               connection_id, to_jsonb(kit_time(own_expires_at)) AS portfolio_value,
               to_jsonb(kit_time(expires_at)) AS registrar_value,
               round(extract(epoch FROM expires_at - own_expires_at) / 86400)::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND expires_at NOT BETWEEN own_expires_at - %(tolerance)s::interval
            AND own_expires_at + %(tolerance)s::interval
        {COUNTS}
    )
    {PAGE}
"""
# The settings of a held domain that can still be renewed differ. Off at the registrar is urgent near the expiry.
AUTO_RENEW_MISMATCH = f"""
    WITH {COMPARED}, found AS (
        SELECT CASE WHEN NOT auto_renew AND coalesce(expires_at, own_expires_at) <= %(now)s + %(near)s::interval
               THEN 1 ELSE 2 END AS severity, domain, domain_id, connection_id,
               to_jsonb(own_auto_renew) AS portfolio_value, to_jsonb(auto_renew) AS registrar_value,
               NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND auto_renew <> own_auto_renew AND status NOT IN ('redemption', 'pending_delete')
        {COUNTS}
    )
    {PAGE}
"""
# The registrar would renew a domain that was dropped; one with auto-renew off is on its way.
DROPPED_BUT_ACTIVE = f"""
    WITH {COMPARED}, found AS (
        SELECT CASE WHEN auto_renew THEN 1 ELSE 2 END AS severity, domain, domain_id, connection_id,
               to_jsonb(own_status) AS portfolio_value, to_jsonb(status) AS registrar_value,
               NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE own_status = 'dropped' AND status IN ('active', 'suspended', 'unknown')
          AND auto_renew IS DISTINCT FROM false AND coalesce(expires_at > last_seen_at, true)
        {COUNTS}
    )
    {PAGE}
"""
# A domain that has left the portfolio is still in the account at the registrar, and is not leaving it.
SOLD_BUT_STILL_HELD = f"""
    WITH {COMPARED}, found AS (
        SELECT 2 AS severity, domain, domain_id, connection_id, to_jsonb(own_status) AS portfolio_value,
               to_jsonb(status) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE own_status IN ('sold', 'transferred_out') AND status IN ('active', 'suspended', 'unknown')
        {COUNTS}
    )
    {PAGE}
"""
# Several connections hold the domain, and it is not on its way from one to the other.
DUPLICATE_ACROSS_REGISTRARS = f"""
    WITH {PRESENT}, found AS (
        SELECT 2 AS severity, present.domain, own.id AS domain_id,
               (array_agg(present.connection_id ORDER BY present.connection_id))[1] AS connection_id,
               to_jsonb(own.registrar) AS portfolio_value,
               jsonb_agg(present.connection_id ORDER BY present.connection_id) AS registrar_value,
               NULL::int AS delta_days, NULL::jsonb AS facts
        FROM present LEFT JOIN portfolio_domains AS own
          ON own.account_id = %(account_id)s AND own.domain = present.domain
        WHERE present.status NOT IN ('pending', 'transferring_out')
        GROUP BY present.domain, own.id, own.registrar HAVING count(*) > 1
    )
    {PAGE}
"""
# The portfolio names another registrar than each that holds the domain. `accepted` are the names of each provider.
REGISTRAR_MISMATCH = f"""
    WITH {COMPARED}, accepted AS (
        SELECT * FROM unnest(%(accepted)s::text[], %(accepted_of)s::uuid[]) AS accepted (registrar, connection_id)
    ), found AS (
        SELECT 2 AS severity, domain, domain_id, connection_id, to_jsonb(own_registrar) AS portfolio_value,
               to_jsonb(connection_id) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND own_registrar IS NOT NULL AND status NOT IN ('pending', 'transferring_out')
          AND NOT EXISTS (
            SELECT FROM present JOIN accepted USING (connection_id)
            WHERE present.domain = compared.domain AND accepted.registrar = lower(compared.own_registrar)
          )
        {COUNTS}
    )
    {PAGE}
"""
# The registrar holds one form of an internationalized name, and the portfolio has another one.
IDN_FORM_MISMATCH = f"""
    WITH {PRESENT}, pairs AS (
        SELECT * FROM unnest(%(held_forms)s::text[], %(own_forms)s::text[]) AS pairs (held, own)
    ), found AS (
        SELECT DISTINCT ON (present.domain) 2 AS severity, present.domain, own.id AS domain_id,
               present.connection_id, to_jsonb(own.domain) AS portfolio_value,
               to_jsonb(present.domain) AS registrar_value, NULL::int AS delta_days, jsonb_build_object(
                   'expires_at', kit_time(present.expires_at), 'auto_renew', present.auto_renew
               ) AS facts
        FROM pairs JOIN present ON present.domain = pairs.held
        JOIN portfolio_domains AS own ON own.account_id = %(account_id)s AND own.domain = pairs.own
        ORDER BY present.domain, own.domain, present.connection_id
    )
    {PAGE}
"""
# A registrar holds a domain that the portfolio does not have.
MISSING_IN_PORTFOLIO = f"""
    WITH {PRESENT}, found AS (
        SELECT DISTINCT ON (present.domain) 2 AS severity, domain, NULL::uuid AS domain_id, connection_id,
               NULL::jsonb AS portfolio_value, to_jsonb(domain) AS registrar_value,
               NULL::int AS delta_days, {FACTS}
        FROM present
        WHERE status <> 'pending' AND domain <> ALL(%(held_forms)s::text[]) AND NOT EXISTS (
            SELECT FROM portfolio_domains AS own
            WHERE own.account_id = %(account_id)s AND own.domain = present.domain
        )
        ORDER BY present.domain, last_seen_at DESC, connection_id
    )
    {PAGE}
"""
# The registrar renews a held domain for another price, in the same currency. A higher one is the worse, and only a
# role with finance sees which it is.
PRICE_CHANGED = f"""
    WITH {COMPARED}, found AS (
        SELECT CASE WHEN %(shows_finance)s AND renewal_price > own_price THEN 2 ELSE 3 END AS severity,
               domain, domain_id, connection_id,
               jsonb_build_object('amount', own_price::text, 'currency', own_currency) AS portfolio_value,
               jsonb_build_object('amount', renewal_price::text, 'currency', renewal_currency) AS registrar_value,
               NULL::int AS delta_days, {FACTS}
        FROM compared WHERE is_held AND renewal_price <> own_price AND renewal_currency = own_currency
        {COUNTS}
    )
    {PAGE}
"""
# A held domain can be transferred. Not all registries of countries offer a lock: there only if it was on.
LOCK_OFF = f"""
    WITH {COMPARED}, found AS (
        SELECT 3 AS severity, domain, domain_id, connection_id, to_jsonb(own_locked) AS portfolio_value,
               to_jsonb(locked) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND NOT locked AND (own_locked OR is_generic) AND status IN ('active', 'unknown')
        {COUNTS}
    )
    {PAGE}
"""
# The holder of a held domain is public. As for the lock, in a country's domain only if it was on.
PRIVACY_OFF = f"""
    WITH {COMPARED}, found AS (
        SELECT 3 AS severity, domain, domain_id, connection_id, to_jsonb(own_privacy) AS portfolio_value,
               to_jsonb(privacy) AS registrar_value, NULL::int AS delta_days, {FACTS}
        FROM compared
        WHERE is_held AND NOT privacy AND (own_privacy OR is_generic) AND status IN ('active', 'unknown')
        {COUNTS}
    )
    {PAGE}
"""
