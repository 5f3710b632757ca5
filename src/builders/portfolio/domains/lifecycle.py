"""The life cycle of a domain after its expiry, by the dated rules in `lifecycle_rules.toml`. Pure."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from builders.portfolio.domains.records import Domain, DomainFields, DropDates, Lifecycle, LifecycleState

EXPIRING = timedelta(days=30)  # before the expiry
_GTLD = "gtld"
_COUNTRY_LENGTH = 2  # characters of an ISO 3166 code, which no gTLD has
# Statuses of the registry take precedence over dates. In redemption it also has pendingDelete (RFC 3915).
_BY_STATUS = (
    ("redemptionperiod", Lifecycle.REDEMPTION),
    ("pendingrestore", Lifecycle.REDEMPTION),
    ("pendingdelete", Lifecycle.PENDING_DELETE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleRules:
    """How long a domain stays in each state after its expiry."""

    grace: timedelta
    redemption: timedelta
    pending_delete: timedelta
    basis: str


def _read_rules() -> tuple[Mapping[str, LifecycleRules], Collection[str]]:
    text = files("builders.portfolio.domains").joinpath("lifecycle_rules.toml").read_text(encoding="utf-8")
    read: Mapping[str, Any] = tomllib.loads(text)
    rules = {
        scope: LifecycleRules(
            grace=_days(read, scope, "auto_renew_grace"),
            redemption=_days(read, scope, "redemption"),
            pending_delete=_days(read, scope, "pending_delete"),
            basis=row["name"],
        )
        for scope, row in read["scopes"].items()
    }
    return rules, frozenset((*read["unknown"]["restricted"], *read["unknown"]["countries"]))


def _days(read: Mapping[str, Any], scope: str, rule: str) -> timedelta:
    [days] = [each["days"] for each in read["rules"] if (each["scope"], each["rule"]) == (scope, rule)]
    return timedelta(days=days)


_RULES, _UNKNOWN = _read_rules()


def find_rules(tld: str) -> LifecycleRules | None:
    """Return the rules of names below a public suffix; None when they are not known."""
    return _RULES[_GTLD] if is_gtld(tld) else None


def is_gtld(tld: str) -> bool:
    """Return whether ICANN's policies hold for names below a public suffix."""
    top = tld.rpartition(".")[2]
    return len(top) > _COUNTRY_LENGTH and top not in _UNKNOWN and "." not in tld


def drop_dates(domain: Domain) -> DropDates:
    """Return when the domain leaves each state if it is not renewed; nothing without an expiry or known rules."""
    return compute_drop_dates(domain.tld, domain.expires_at)


def compute_drop_dates(tld: str, expires_at: datetime | None) -> DropDates:
    """Return the drop dates of a name below a public suffix."""
    rules = find_rules(tld)
    if rules is None or expires_at is None:
        return DropDates()
    grace_end = expires_at + rules.grace
    redemption_end = grace_end + rules.redemption
    return DropDates(
        grace_end=grace_end,
        redemption_end=redemption_end,
        pending_delete_end=redemption_end + rules.pending_delete,
        basis=rules.basis,
    )


def lifecycle_of(domain: Domain, now: datetime) -> Lifecycle | None:
    """Return the state of a held domain; None without an expiry, and for one that is not held."""
    return find_state(domain, tld=domain.tld, now=now).lifecycle


def find_state(domain: DomainFields, *, tld: str, now: datetime) -> LifecycleState:
    """Return the state of a domain below a public suffix, and when it changes next."""
    if not domain.status.is_held:
        return LifecycleState(lifecycle=None)
    return find_held_state(tld, domain.expires_at, domain.epp_statuses, now=now)


def find_held_state(
    tld: str, expires_at: datetime | None, epp_statuses: Sequence[str], *, now: datetime
) -> LifecycleState:
    """Return the state of a held domain, and when it changes next."""
    reported = _reported(epp_statuses) if epp_statuses else None
    if expires_at is None or reported is not None:
        return LifecycleState(lifecycle=reported)
    if now < expires_at - EXPIRING:
        return LifecycleState(lifecycle=Lifecycle.ACTIVE, changes_at=expires_at - EXPIRING)
    if now < expires_at:
        return LifecycleState(lifecycle=Lifecycle.EXPIRING, changes_at=expires_at)
    dates = compute_drop_dates(tld, expires_at)
    for state, end in (
        (Lifecycle.GRACE, dates.grace_end),
        (Lifecycle.REDEMPTION, dates.redemption_end),
        (Lifecycle.PENDING_DELETE, dates.pending_delete_end),
    ):
        if end is not None and now < end:
            return LifecycleState(lifecycle=state, changes_at=end)
    return LifecycleState(lifecycle=Lifecycle.EXPIRED)


def expiries_of_states(now: datetime) -> Mapping[str, object]:
    """Return the earliest expiry of each state at a time below a suffix with rules, and the other suffixes."""
    rules = _RULES[_GTLD]
    redemption = now - rules.grace - rules.redemption
    return {
        "grace": now - rules.grace,
        "redemption": redemption,
        "pending_delete": redemption - rules.pending_delete,
        "without_rules": list(_UNKNOWN),
    }


def days_to_expiry(expires_at: datetime | None, now: datetime) -> int | None:
    """Return the whole days until the expiry, negative after it; None when it is unknown."""
    return None if expires_at is None else (expires_at - now).days


def _reported(epp_statuses: Collection[str]) -> Lifecycle | None:
    """Return the state that the registry reports; None when its statuses name none."""
    known = {each.replace(" ", "").lower() for each in epp_statuses}
    return next((state for status, state in _BY_STATUS if status in known), None)
