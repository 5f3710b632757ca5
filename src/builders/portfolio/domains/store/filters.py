"""The conditions of the filters of domains, which several statements share."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from builders.portfolio.domains.filters import DomainFilters
from builders.portfolio.domains.lifecycle import expiries_of_states
from builders.portfolio.domains.records import RENEWED, RenewalDecision

# `lifecycle` holds until `lifecycle_due_at`; a job writes the next state later.
_LIFECYCLE = """
    CASE
        WHEN lifecycle_due_at IS NULL OR lifecycle_due_at > %(now)s THEN lifecycle
        WHEN expires_at > %(now)s THEN 'expiring'
        WHEN tld LIKE '%%.%%' OR length(tld) = 2 OR tld = ANY(%(without_rules)s::text[]) THEN 'expired'
        WHEN expires_at > %(grace)s THEN 'grace'
        WHEN expires_at > %(redemption)s THEN 'redemption'
        WHEN expires_at > %(pending_delete)s THEN 'pending_delete'
        ELSE 'expired'
    END
"""
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
    AND (%(expiring_until)s::timestamptz IS NULL
         OR coalesce(expires_at, 'infinity') BETWEEN %(now)s AND %(expiring_until)s::timestamptz)
    AND (%(q)s::text IS NULL OR domain LIKE %(q)s OR unicode LIKE %(q)s)
"""


def filter_parameters(filters: DomainFilters, *, now: datetime) -> Mapping[str, Any]:
    """Return the parameters of MATCHES, except the account."""
    days, decision = filters.expiring_within_days, filters.decision
    is_decided = None if decision is None else decision is not RenewalDecision.UNDECIDED
    return {
        "status": filters.status,
        "ownership": filters.ownership,
        "registrar": filters.registrar,
        "tag": filters.tag,
        "folder": filters.folder,
        "tld": filters.tld,
        "auto_renew": filters.auto_renew,
        "lifecycle": filters.lifecycle,
        **expiries_of_states(now),
        "is_decided": is_decided,
        "decisions": [decision] if is_decided else [RenewalDecision.RENEW, RenewalDecision.DROP],
        "renewed": RENEWED,
        "expiring_until": None if days is None else now + timedelta(days=days),
        "q": None if filters.q is None else f"%{_literal(filters.q)}%",
        "now": now,
    }


def _literal(text: str) -> str:
    """Return the text as a pattern of LIKE that matches it alone."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
