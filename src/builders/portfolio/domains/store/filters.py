"""The conditions of the filters of domains, which several statements share."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from builders.kit.values.money import DECIMALS
from builders.portfolio.domains.filters import BOUND_NAMES, DomainFilters, FigureFilters
from builders.portfolio.domains.lifecycle import EXPIRING_DAYS, NO_GTLDS, list_lives
from builders.portfolio.domains.records import RENEWED, PortfolioDomainStatus, RenewalDecision
from builders.portfolio.domains.store.figures import FIGURES
from builders.portfolio.domains.today import Today
from builders.portfolio.ledger.records import EURO
from builders.portfolio.ledger.store.totals import sums_parameters

HELD = sorted(each for each in PortfolioDomainStatus if each.is_held)
# The day of the expiry, as today.day_of decides it.
EXPIRY_DAY = "portfolio_domains_day(expires_at, %(zone)s)"
# Of a period with both days; the times of an index enclose it. IS NOT TRUE, because PostgreSQL expects few rows in
# a range that it cannot estimate, and then reads and sorts all of them instead of an index.
IN_PERIOD = f"({EXPIRY_DAY} < %(since)s) IS NOT TRUE AND ({EXPIRY_DAY} > %(until)s) IS NOT TRUE"
# The state as lifecycle.state_of decides it. `lifecycle_due_at` is null where the registry reports the state.
_LIFECYCLE = f"""
    CASE
        WHEN status <> ALL(%(held)s::text[]) THEN NULL
        WHEN lifecycle_due_at IS NULL AND lifecycle IN ('redemption', 'pending_delete') THEN lifecycle
        WHEN expires_at IS NULL THEN NULL
        WHEN {EXPIRY_DAY} > %(expiring_until)s THEN 'active'
        WHEN {EXPIRY_DAY} >= %(today)s THEN 'expiring'
        ELSE coalesce((
            SELECT CASE
                WHEN {EXPIRY_DAY} >= (life ->> 0)::date THEN life ->> 1
                WHEN {EXPIRY_DAY} >= (life ->> 2)::date THEN life ->> 3
                WHEN {EXPIRY_DAY} >= (life ->> 4)::date THEN life ->> 5
                ELSE life ->> 6
            END
            FROM (SELECT %(lives)s::jsonb -> CASE
                WHEN %(lives)s::jsonb ? tld THEN tld
                WHEN tld NOT LIKE '%%.%%' AND length(tld) > 2 AND tld <> ALL(%(no_gtlds)s::text[]) THEN 'gtld'
            END) AS of_suffix (life)
        ), 'unknown')
    END
"""
# Of FIGURES, as replies show them.
_FIGURES: Mapping[LiteralString, LiteralString] = {
    **{name: name for name in ("roi", "net", "cost", "income")},
    "renewal_price_base": """portfolio_ledger_round(
        renewal_price_base, coalesce((%(decimals)s::jsonb ->> base_currency)::int, 2)
    )""",
}
_BOUNDS: Sequence[LiteralString] = [
    f"(%(min_{name})s::numeric IS NULL OR {shown} >= %(min_{name})s)"
    f" AND (%(max_{name})s::numeric IS NULL OR {shown} <= %(max_{name})s)"
    for name, shown in _FIGURES.items()
]
IN_BOUNDS = " AND ".join(_BOUNDS)
# Of `portfolio_domains AS listed`. The planner removes absent filters, so the statement is never prepared.
# A decision is about one expiry: a renewal makes it obsolete.
MATCHES = f"""
    (%(status)s::text IS NULL OR status = %(status)s)
    AND (%(ownership)s::text IS NULL OR ownership = %(ownership)s)
    AND (%(registrar)s::text IS NULL OR lower(registrar) = %(registrar)s)
    AND (%(tag)s::text IS NULL OR tags @> ARRAY[%(tag)s::text])
    AND (%(folder)s::text IS NULL OR folder = %(folder)s)
    AND (%(tld)s::text IS NULL OR tld = %(tld)s)
    AND (%(auto_renew)s::boolean IS NULL OR auto_renew = %(auto_renew)s)
    AND (%(lifecycle)s::text IS NULL OR {_LIFECYCLE} = %(lifecycle)s)
    AND (%(is_decided)s::boolean IS NULL OR (listed.id IN (
        SELECT own.id FROM portfolio_renewals_decisions AS decided
        JOIN portfolio_domains AS own ON own.account_id = decided.account_id AND own.id = decided.domain_id
        WHERE decided.account_id = %(account_id)s AND decided.decision = ANY(%(decisions)s::text[])
          AND coalesce(own.expires_at < decided.expires_at + %(renewed)s, true)
    )) = %(is_decided)s)
    AND (%(expires_until)s::date IS NULL OR (
        coalesce(expires_at, 'infinity') BETWEEN %(expires_after)s AND %(expires_before)s
        AND ({EXPIRY_DAY} < %(today)s) IS NOT TRUE AND ({EXPIRY_DAY} > %(expires_until)s::date) IS NOT TRUE
    ))
    AND (%(q)s::text IS NULL OR domain LIKE %(q)s OR unicode LIKE %(q)s OR search LIKE %(q)s)
"""
MATCHES_FIGURES = f"""
    {MATCHES}
    AND (%(is_bounded)s::boolean IS NULL OR listed.id IN (
        SELECT domain_id FROM ({FIGURES}) AS figures WHERE {IN_BOUNDS}
    ))
"""


_COMPARED = ("status", "ownership", "registrar", "tag", "folder", "tld", "auto_renew", "lifecycle")


def filter_parameters(filters: DomainFilters, *, today: Today) -> Mapping[str, Any]:
    """Return the parameters of MATCHES, except the account."""
    days, decision = filters.expiring_within_days, filters.decision
    until = None if days is None else today.in_days(days)
    is_decided = None if decision is None else decision is not RenewalDecision.UNDECIDED
    return {
        **{name: getattr(filters, name) for name in _COMPARED},
        "lives": None if filters.lifecycle is None else Jsonb(list_lives(today)),
        "no_gtlds": sorted(NO_GTLDS),
        "expiring_until": today.in_days(EXPIRING_DAYS),
        "held": HELD,
        "is_decided": is_decided,
        "decisions": [decision] if is_decided else [RenewalDecision.RENEW, RenewalDecision.DROP],
        "renewed": RENEWED,
        "expires_until": until,
        "expires_after": today.before(today.day),
        "expires_before": None if until is None else today.after(until),
        "q": None if filters.q is None else f"%{_literal(filters.q)}%",
        "today": today.day,
        "zone": today.zone.key,
    }


def figure_parameters(filters: FigureFilters, *, today: Today) -> Mapping[str, Any]:
    """Return the parameters of MATCHES_FIGURES, and of FIGURES with IN_BOUNDS, except the account."""
    return {
        **filter_parameters(filters, today=today),
        **sums_parameters(today.day),
        **{name: getattr(filters, name) for name in BOUND_NAMES},
        "is_bounded": filters.is_of_figures or None,
        "decimals": Jsonb(DECIMALS),
        "euro": EURO,
    }


def _literal(text: str) -> str:
    """Return the text as a pattern of LIKE that matches it alone."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
