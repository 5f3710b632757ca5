"""The rules of the comparison of a portfolio with its registrars in one table, and the statement of all of them.

A rule reports a contradiction. Null on either side is unknown, and never a difference: a sync fills in what the
portfolio lacks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, LiteralString

from builders.portfolio.registrars import suggestions
from builders.portfolio.registrars.findings import (
    Difference,
    FindingCategory,
    FindingSeverity,
    ListedConnection,
)
from builders.portfolio.registrars.providers import label_of
from builders.portfolio.registrars.suggestions import (
    Snapshots,
    Suggest,
    list_holders,
    patch,
    say,
    say_manual,
    suggest_adding,
    suggest_listing,
)

_CRITICAL, _HIGH, _WARN, _INFO = reversed(FindingSeverity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The findings among the rows of `compared`, as expressions of SQL. Severities are ranks: 0 is critical."""

    where: LiteralString
    severity: LiteralString
    own: LiteralString = "to_jsonb(own_status)"  # the value in the portfolio
    held: LiteralString = "to_jsonb(status)"  # the value at the registrar
    days: LiteralString = "NULL"  # between both


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A category of findings."""

    severities: Sequence[FindingSeverity]  # that its findings can have
    # A string is a query of its own. A function is about connections: it returns since when one has the finding.
    found: Compared | LiteralString | Callable[[ListedConnection, datetime], datetime | None]
    suggest: Suggest
    show: Callable[[Difference, Snapshots], Any] = lambda found, _: found.registrar_value  # in the report
    is_money: bool = False  # hidden from roles without finance
    needs_complete: bool = False  # compared only with a complete listing

    @property
    def is_of_domains(self) -> bool:
        """Return whether its findings are about domains."""
        return isinstance(self.found, Compared | str)


def _label(found: Difference, snapshots: Snapshots) -> str:
    return label_of(snapshots[found.connection_id].provider)


RULES: Mapping[FindingCategory, Rule] = MappingProxyType(
    {
        # The auth code of the domain was not requested here.
        FindingCategory.PENDING_TRANSFER_OUT_UNEXPECTED: Rule(
            severities=(_CRITICAL,),
            found=Compared(
                severity="0",
                where="""
                    is_held AND status = 'transferring_out' AND NOT EXISTS (
                        SELECT FROM portfolio_registrars_departures AS departure
                        WHERE departure.account_id = %(account_id)s AND departure.domain = compared.domain
                          AND departure.expected_until > %(now)s
                    )
                """,
            ),
            suggest=say_manual(
                "{domain} is being transferred from {registrar} to another registrar, and its auth code was not "
                "requested here. If you did not start the transfer, reject it there now.",
                "Unless you started it, reject the transfer at {registrar}.",
            ),
        ),
        # Until the end of its redemption a deleted domain can be restored.
        FindingCategory.REDEMPTION: Rule(
            severities=(_CRITICAL,),
            found=Compared(severity="0", where="is_held AND status IN ('redemption', 'pending_delete')"),
            suggest=suggestions.suggest_in_redemption,
        ),
        # An expiry that has passed since the listing is no finding: the registrar may have renewed the domain. One
        # that passed on the day of the listing, in the days of the portfolio, is none either.
        FindingCategory.EXPIRED_AT_REGISTRAR: Rule(
            severities=(_CRITICAL,),
            found=Compared(
                severity="0",
                where="""
                    is_held AND (status = 'expired' OR (
                        status IN ('active', 'pending', 'suspended', 'unknown')
                        AND expires_at < last_seen_at - %(tolerance)s::interval
                        AND portfolio_domains_day(expires_at, %(zone)s)
                            < (last_seen_at AT TIME ZONE %(zone)s)::date
                    ))
                """,
                own="to_jsonb(kit_time(own_expires_at))",
                held="to_jsonb(kit_time(expires_at))",
            ),
            suggest=say_manual(
                "{domain} has expired. Renew it at {registrar} to keep it.", "Renew {domain} at {registrar}."
            ),
        ),
        # No registrar holds a domain that its own one should hold: that of the domain's connection, the connection
        # that its registrar names, or each connection to the registrar that an owned domain names. Only after a
        # complete listing of all of them since the domain is known.
        FindingCategory.MISSING_AT_REGISTRAR: Rule(
            severities=(_HIGH,),
            found="""
                SELECT 1 AS severity, own.domain, own.id AS domain_id,
                       (array_agg(connected.id ORDER BY connected.place))[1] AS connection_id,
                       to_jsonb(own.registrar), NULL::jsonb, NULL::int,
                       jsonb_build_object(
                           'is_expired', portfolio_domains_day(own.expires_at, %(zone)s) < %(today)s
                       )
                FROM portfolio_domains AS own
                LEFT JOIN named ON named.registrar = lower(own.registrar)
                LEFT JOIN placed ON placed.registrar = lower(own.registrar)
                JOIN connected ON CASE
                    WHEN coalesce(own.connection_id, placed.connection_id) IS NOT NULL
                        THEN connected.id = coalesce(own.connection_id, placed.connection_id)
                    ELSE connected.provider = named.provider AND own.ownership = 'owned' END
                WHERE own.account_id = %(account_id)s AND own.status IN ('owned', 'leased', 'consigned', 'listed')
                  AND own.domain <> ALL(%(own_forms)s::text[]) AND NOT EXISTS (
                    SELECT FROM portfolio_registrars_holdings AS held
                    WHERE held.account_id = %(account_id)s AND held.domain = own.domain
                      AND held.missing_since IS NULL AND held.status <> 'gone'
                  )
                GROUP BY own.account_id, own.id
                HAVING bool_and(coalesce(connected.complete_at >= least(
                    own.created_at, greatest(own.acquired_on, own.registered_on) + interval '1 day'
                ), false))
            """,
            suggest=say(
                "Neither {registrar} nor another connected registrar holds {domain}.",
                lambda found, _: patch(
                    found, {"status": "dropped" if found.facts["is_expired"] else "transferred_out"}
                ),
            ),
            needs_complete=True,
        ),
        # Registrars round to a day, and times of one day are the same. An earlier expiry at the registrar is the
        # worse.
        FindingCategory.EXPIRY_MISMATCH: Rule(
            severities=(_HIGH, _WARN),
            found=Compared(
                severity="CASE WHEN expires_at < own_expires_at THEN 1 ELSE 2 END",
                where="""
                    is_held AND expires_at NOT BETWEEN own_expires_at - %(tolerance)s::interval
                        AND own_expires_at + %(tolerance)s::interval
                    AND portfolio_domains_day(expires_at, %(zone)s)
                        <> portfolio_domains_day(own_expires_at, %(zone)s)
                """,
                own="to_jsonb(kit_time(own_expires_at))",
                held="to_jsonb(kit_time(expires_at))",
                days="""
                    portfolio_domains_day(expires_at, %(zone)s) - portfolio_domains_day(own_expires_at, %(zone)s)
                """,
            ),
            suggest=say(
                "At {registrar} {domain} expires {days} {side} than in the portfolio.",
                lambda found, _: patch(found, {"expires_at": found.registrar_value}),
            ),
        ),
        # Of domains that can still be renewed. Off at the registrar is urgent near the expiry.
        FindingCategory.AUTO_RENEW_MISMATCH: Rule(
            severities=(_HIGH, _WARN),
            found=Compared(
                severity="""
                    CASE WHEN NOT auto_renew
                        AND portfolio_domains_day(coalesce(expires_at, own_expires_at), %(zone)s) <= %(near)s
                        THEN 1 ELSE 2 END
                """,
                where="""
                    is_held AND auto_renew <> own_auto_renew AND status NOT IN ('redemption', 'pending_delete')
                """,
                own="to_jsonb(own_auto_renew)",
                held="to_jsonb(auto_renew)",
            ),
            suggest=suggestions.suggest_auto_renew,
        ),
        # One with auto-renew off is on its way.
        FindingCategory.DROPPED_BUT_ACTIVE: Rule(
            severities=(_HIGH, _WARN),
            found=Compared(
                severity="CASE WHEN auto_renew THEN 1 ELSE 2 END",
                where="""
                    own_status = 'dropped' AND status IN ('active', 'suspended', 'unknown')
                    AND auto_renew IS DISTINCT FROM false
                    AND coalesce(portfolio_domains_day(expires_at, %(zone)s)
                        >= (last_seen_at AT TIME ZONE %(zone)s)::date, true)
                """,
            ),
            suggest=suggestions.suggest_dropped,
        ),
        # The domain is not leaving the account at the registrar.
        FindingCategory.SOLD_BUT_STILL_HELD: Rule(
            severities=(_WARN,),
            found=Compared(
                severity="2",
                where="""
                    own_status IN ('sold', 'transferred_out') AND status IN ('active', 'suspended', 'unknown')
                """,
            ),
            suggest=suggestions.suggest_handover,
        ),
        # The domain is not on its way from one connection to the other.
        FindingCategory.DUPLICATE_ACROSS_REGISTRARS: Rule(
            severities=(_WARN,),
            found="""
                SELECT 2 AS severity, present.domain, own.id AS domain_id,
                       (array_agg(present.connection_id ORDER BY present.connection_id))[1] AS connection_id,
                       to_jsonb(own.registrar),
                       jsonb_agg(present.connection_id ORDER BY present.connection_id), NULL::int, NULL::jsonb
                FROM present LEFT JOIN portfolio_domains AS own
                  ON own.account_id = %(account_id)s AND own.domain = present.domain
                WHERE present.status NOT IN ('pending', 'transferring_out')
                GROUP BY present.domain, own.id, own.registrar HAVING count(*) > 1
            """,
            suggest=suggestions.suggest_duplicate,
            show=lambda found, snapshots: [each.provider for each in list_holders(found, snapshots)],
        ),
        # The portfolio names another registrar than each that holds the domain. `accepted` are the names of each
        # provider. A domain without a registrar gets one with the next sync.
        FindingCategory.REGISTRAR_MISMATCH: Rule(
            severities=(_WARN,),
            found=Compared(
                severity="2",
                where="""
                    is_held AND own_registrar IS NOT NULL AND status NOT IN ('pending', 'transferring_out')
                    AND NOT EXISTS (
                        SELECT FROM present JOIN accepted USING (connection_id)
                        WHERE present.domain = compared.domain
                          AND accepted.registrar = lower(compared.own_registrar)
                    )
                """,
                own="to_jsonb(own_registrar)",
                held="to_jsonb(connection_id)",
            ),
            suggest=say(
                "The portfolio names {own} as registrar of {domain}, but {registrar} holds it.",
                lambda found, snapshots: patch(found, {"registrar": _label(found, snapshots)}),
            ),
            show=_label,
        ),
        # The registrar holds one form of an internationalized name, and the portfolio has another one.
        FindingCategory.IDN_FORM_MISMATCH: Rule(
            severities=(_WARN,),
            found="""
                SELECT DISTINCT ON (present.domain) 2 AS severity, present.domain, own.id AS domain_id,
                       present.connection_id, to_jsonb(own.domain), to_jsonb(present.domain), NULL::int,
                       jsonb_build_object(
                           'expires_at', kit_time(present.expires_at), 'auto_renew', present.auto_renew
                       )
                FROM pairs JOIN present ON present.domain = pairs.held
                JOIN portfolio_domains AS own ON own.account_id = %(account_id)s AND own.domain = pairs.own
                ORDER BY present.domain, own.domain, present.connection_id
            """,
            suggest=suggest_adding(
                "{registrar} holds {domain}, and the portfolio has {own}, another form of the name. Add the form "
                "that is registered, then remove the other one."
            ),
        ),
        FindingCategory.MISSING_IN_PORTFOLIO: Rule(
            severities=(_WARN,),
            found="""
                SELECT DISTINCT ON (present.domain) 2 AS severity, present.domain, NULL::uuid AS domain_id,
                       present.connection_id, NULL::jsonb, to_jsonb(present.domain), NULL::int,
                       jsonb_build_object(
                           'expires_at', kit_time(present.expires_at), 'auto_renew', present.auto_renew
                       )
                FROM present
                WHERE present.status <> 'pending' AND present.domain <> ALL(%(held_forms)s::text[])
                  AND NOT EXISTS (
                    SELECT FROM portfolio_domains AS own
                    WHERE own.account_id = %(account_id)s AND own.domain = present.domain
                  )
                ORDER BY present.domain, present.last_seen_at DESC, present.connection_id
            """,
            suggest=suggest_adding("{registrar} holds {domain}, which the portfolio does not have."),
        ),
        # A disabled connection cannot have a newer listing.
        FindingCategory.STALE_SNAPSHOT: Rule(
            severities=(_WARN,),
            found=lambda listed, now: listed.known_at if listed.is_stale(now) and listed.is_enabled else None,
            suggest=suggest_listing("The domains at {registrar} ({connection}) were last listed too long ago."),
        ),
        # In the same currency. A higher price is the worse, and only a role with finance sees which it is.
        FindingCategory.PRICE_CHANGED: Rule(
            severities=(_WARN, _INFO),
            found=Compared(
                severity="CASE WHEN %(shows_finance)s AND renewal_price > own_price THEN 2 ELSE 3 END",
                where="is_held AND renewal_price <> own_price AND renewal_currency = own_currency",
                own="jsonb_build_object('amount', own_price::text, 'currency', own_currency)",
                held="jsonb_build_object('amount', renewal_price::text, 'currency', renewal_currency)",
            ),
            suggest=say(
                "{registrar} renews {domain} for another price than the portfolio has.",
                lambda found, _: patch(found, {"renewal_price": found.registrar_value}),
            ),
            is_money=True,
        ),
        # Not all registries of countries offer a lock: there only if it was on.
        FindingCategory.LOCK_OFF: Rule(
            severities=(_INFO,),
            found=Compared(
                severity="3",
                where="is_held AND NOT locked AND (own_locked OR is_generic) AND status IN ('active', 'unknown')",
                own="to_jsonb(own_locked)",
                held="to_jsonb(locked)",
            ),
            suggest=say_manual(
                "The transfer lock of {domain} is off. Switch it on at {registrar}.",
                "Switch the transfer lock of {domain} on at {registrar}.",
                locked=True,
            ),
        ),
        # As for the lock, in a country's domain only if it was on.
        FindingCategory.PRIVACY_OFF: Rule(
            severities=(_INFO,),
            found=Compared(
                severity="3",
                where="""
                    is_held AND NOT privacy AND (own_privacy OR is_generic) AND status IN ('active', 'unknown')
                """,
                own="to_jsonb(own_privacy)",
                held="to_jsonb(privacy)",
            ),
            suggest=say_manual(
                "The privacy of {domain} is off. Switch it on at {registrar}.",
                "Switch the privacy of {domain} on at {registrar}.",
                privacy=True,
            ),
        ),
        FindingCategory.SUSPICIOUS_DROP: Rule(
            severities=(_HIGH,),
            found=lambda listed, _: listed.suspected_drop_at if listed.suspected_drop else None,
            suggest=suggest_listing(
                "The last listing of {registrar} ({connection}) did not have {dropped} domains that it held "
                "before. They count as held until the next complete listing does not have them either."
            ),
        ),
    }
)
PLACES: Mapping[FindingCategory, int] = {each: place for place, each in enumerate(FindingCategory)}
_PLACES: Mapping[FindingCategory, LiteralString] = {each: str(place) for each, place in PLACES.items()}  # digits
_DIFFERING: LiteralString = "".join(
    f"""
        UNION ALL SELECT {_PLACES[category]}, {rule.found.severity}, domain, domain_id, connection_id,
            {rule.found.own}, {rule.found.held}, {rule.found.days}, own_connection, last_seen_at, expires_at,
            auto_renew
        FROM compared WHERE {_PLACES[category]} = ANY(%(places)s::int[]) AND {rule.found.where}
    """
    for category, rule in RULES.items()
    if isinstance(rule.found, Compared)
)
_QUERIED: LiteralString = "".join(
    f"UNION ALL SELECT {_PLACES[category]}, own.* FROM ({rule.found}) AS own "
    f"WHERE {_PLACES[category]} = ANY(%(places)s::int[])"
    for category, rule in RULES.items()
    if isinstance(rule.found, str)
)
_FOUND = "place, severity, domain, domain_id, connection_id, portfolio_value, registrar_value, delta_days"
# `present`: the domains at registrars, of fresh listings, without cancelled and transferred domains. `compared`:
# each domain of the portfolio with its rows of the inventory.
# If several connections hold a domain, that of the domain counts, then the one that was seen last. Only what
# differs is checked for it: to choose first takes six times as long.
FIND = f"""
    WITH present AS (
        SELECT connection_id, domain, expires_at, auto_renew, locked, privacy, status, renewal_price,
               renewal_currency, last_seen_at
        FROM portfolio_registrars_holdings
        WHERE account_id = %(account_id)s AND connection_id = ANY(%(connections)s::uuid[])
          AND missing_since IS NULL AND status <> 'gone'
    ), compared AS (
        SELECT present.*, own.id AS domain_id, own.connection_id AS own_connection, own.status AS own_status,
            own.status NOT IN ('sold', 'dropped', 'transferred_out') AS is_held, own.registrar AS own_registrar,
            own.expires_at AS own_expires_at, own.auto_renew AS own_auto_renew, own.locked AS own_locked,
            own.privacy AS own_privacy, own.renewal_price AS own_price, own.renewal_currency AS own_currency,
            length(substring(own.tld FROM '[^.]+$')) > 2 AND own.tld NOT LIKE 'xn--%%' AS is_generic
        FROM present JOIN portfolio_domains AS own
          ON own.account_id = %(account_id)s AND own.domain = present.domain
    ), named AS (
        SELECT * FROM unnest(%(registrars)s::text[], %(providers)s::text[]) AS named (registrar, provider)
    ), placed AS (
        SELECT * FROM unnest(%(connection_names)s::text[], %(named_connections)s::uuid[])
            AS placed (registrar, connection_id)
    ), connected AS (
        SELECT * FROM unnest(%(connected)s::uuid[], %(connected_to)s::text[], %(complete_at)s::timestamptz[])
            WITH ORDINALITY AS connected (id, provider, complete_at, place)
    ), accepted AS (
        SELECT * FROM unnest(%(accepted)s::text[], %(accepted_of)s::uuid[]) AS accepted (registrar, connection_id)
    ), pairs AS (
        SELECT * FROM unnest(%(held_forms)s::text[], %(own_forms)s::text[]) AS pairs (held, own)
    ), differing AS (
        SELECT NULL::int AS place, NULL::int AS severity, domain, domain_id, connection_id,
               NULL::jsonb AS portfolio_value, NULL::jsonb AS registrar_value, NULL::int AS delta_days,
               own_connection, last_seen_at, expires_at, auto_renew
        FROM compared WHERE false
        {_DIFFERING}
    ), found AS (
        SELECT {_FOUND}, jsonb_build_object('expires_at', kit_time(expires_at), 'auto_renew', auto_renew) AS facts
        FROM differing
        WHERE NOT EXISTS (
            SELECT FROM portfolio_registrars_holdings AS other
            WHERE other.account_id = %(account_id)s AND other.domain = differing.domain
              AND other.connection_id = ANY(%(connections)s::uuid[]) AND other.missing_since IS NULL
              AND other.status <> 'gone' AND (
                coalesce(other.connection_id = differing.own_connection, false), other.last_seen_at,
                other.connection_id
              ) > (
                coalesce(differing.connection_id = differing.own_connection, false), differing.last_seen_at,
                differing.connection_id
              )
        )
        {_QUERIED}
    ), wanted AS (
        SELECT place, severity, domain COLLATE "C" AS domain, domain_id, connection_id, portfolio_value,
               registrar_value, delta_days, facts
        FROM found WHERE severity <= %(least)s::int AND connection_id = ANY(%(shown)s::uuid[])
    ), counted AS (
        SELECT place, severity, connection_id, count(*) AS count FROM wanted
        GROUP BY place, severity, connection_id
    ), page AS (
        SELECT * FROM wanted
        WHERE (severity, place, domain, connection_id)
            > (%(after_severity)s::int, %(after_place)s::int, %(after_domain)s, %(after_connection)s::uuid)
        ORDER BY severity, place, domain, connection_id LIMIT %(limit)s
    )
    SELECT (SELECT count(DISTINCT domain) FROM compared),
           (SELECT coalesce(json_agg(counted), '[]') FROM counted),
           (SELECT coalesce(json_agg(page ORDER BY severity, place, domain, connection_id), '[]') FROM page)
"""
