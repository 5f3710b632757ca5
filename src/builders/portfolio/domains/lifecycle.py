"""The life of a domain after its expiry, by the dated rules in `lifecycle_rules.toml`. Pure."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from builders.portfolio.domains.records import Domain, DomainFields, DropDates, Lifecycle, LifecycleState
from builders.portfolio.domains.today import Today

EXPIRING_DAYS = 30  # before the expiry
MAX_PHASES = 3  # of a life
_GTLD = "gtld"
_COUNTRY_LENGTH = 2  # characters of an ISO 3166 code, which no gTLD has
# Statuses of the registry take precedence over dates. In redemption it also has pendingDelete (RFC 3915).
_BY_STATUS = (
    ("redemptionperiod", Lifecycle.REDEMPTION),
    ("pendingrestore", Lifecycle.REDEMPTION),
    ("pendingdelete", Lifecycle.PENDING_DELETE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A state after the expiry, and its longest duration."""

    state: Lifecycle
    days: int
    keeps: bool | None  # whether the holder can still keep the name, by a renewal or a restoration; None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The life of names after their expiry."""

    basis: str  # in a sentence
    source: str  # address of the page
    phases: Sequence[Phase]
    end: Lifecycle  # the state after the last phase
    from_deletion: bool  # the phases begin with the deletion, which may be later than the expiry


def _read_lives() -> tuple[Mapping[str, Life], Collection[str]]:
    text = files("builders.portfolio.domains").joinpath("lifecycle_rules.toml").read_text(encoding="utf-8")
    read: Mapping[str, Any] = tomllib.loads(text)
    lives = dict[str, Life]()
    for row in read["lives"]:
        phases = [
            Phase(state=Lifecycle(each["state"]), days=each["days"], keeps=each.get("keeps"))
            for each in row["phases"]
        ]
        life = Life(
            basis=row["basis"],
            source=row["sources"][0]["address"],
            phases=phases,
            end=Lifecycle(row.get("then", Lifecycle.EXPIRED)),
            from_deletion=row["from"] == "deletion",
        )
        lives |= dict.fromkeys(row["suffixes"], life)
    return lives, frozenset((*read["unknown"]["restricted"], *read["unknown"]["countries"]))


_LIVES, NO_GTLDS = _read_lives()


def find_life(tld: str) -> Life | None:
    """Return the life of names below a public suffix; None when it is not known."""
    return _LIVES.get(_GTLD if is_gtld(tld) else tld)


def is_gtld(tld: str) -> bool:
    """Return whether ICANN's policies hold for names below a public suffix."""
    top = tld.rpartition(".")[2]
    return len(top) > _COUNTRY_LENGTH and top not in NO_GTLDS and "." not in tld


def drop_dates(domain: Domain) -> DropDates:
    """Return when the domain leaves each state if it is not renewed; nothing without an expiry or a known life."""
    return compute_drop_dates(domain.tld, domain.expires_at)


def compute_drop_dates(tld: str, expires_at: datetime | None) -> DropDates:
    """Return the drop dates of a name below a public suffix."""
    life = find_life(tld)
    if life is None or expires_at is None:
        return DropDates()
    at, kept, ends = expires_at, expires_at, dict[Lifecycle, datetime]()
    for phase in life.phases:
        at = ends[phase.state] = at + timedelta(days=phase.days)
        kept = at if phase.keeps else kept
    is_known = all(phase.keeps is not None for phase in life.phases)
    return DropDates(
        renewable_until=kept if is_known else None,
        grace_end=ends.get(Lifecycle.GRACE),
        redemption_end=ends.get(Lifecycle.REDEMPTION),
        quarantine_end=ends.get(Lifecycle.QUARANTINE),
        pending_delete_end=ends.get(Lifecycle.PENDING_DELETE),
        drops_at=at if life.from_deletion or life.end is Lifecycle.EXPIRED else None,
        basis=life.basis,
        source=life.source,
    )


def lifecycle_of(domain: Domain, today: Today) -> Lifecycle | None:
    """Return the state of a held domain; None without an expiry, and for one that is not held."""
    return state_of(domain, tld=domain.tld, today=today).lifecycle


def state_of(domain: DomainFields, *, tld: str, today: Today) -> LifecycleState:
    """Return the state of a domain below a public suffix, and when it changes next."""
    if not domain.status.is_held:
        return LifecycleState(lifecycle=None)
    return held_state_of(tld, domain.expires_at, domain.epp_statuses, today=today)


def held_state_of(
    tld: str, expires_at: datetime | None, epp_statuses: Sequence[str], *, today: Today
) -> LifecycleState:
    """Return the state of a held domain, and when it changes next.

    A state lasts to the end of its last day: a domain that expires today has not expired.
    """
    reported = _reported(epp_statuses) if epp_statuses else None
    if expires_at is None or reported is not None:
        return LifecycleState(lifecycle=reported)
    last_day = today.day_of(expires_at)
    if today.day < (first := last_day - timedelta(days=EXPIRING_DAYS)):
        return LifecycleState(lifecycle=Lifecycle.ACTIVE, changes_at=today.start_of(first))
    state, life = Lifecycle.EXPIRING, find_life(tld)
    for phase in () if life is None else life.phases:
        if today.day <= last_day:
            break
        state, last_day = phase.state, last_day + timedelta(days=phase.days)
    if today.day <= last_day:
        return LifecycleState(lifecycle=state, changes_at=today.start_of(last_day + timedelta(days=1)))
    return LifecycleState(lifecycle=Lifecycle.UNKNOWN if life is None else life.end)


def list_lives(today: Today) -> Mapping[str, Sequence[str]]:
    """Return the lives by public suffix: MAX_PHASES states, each after its first expiry, and the last one."""
    lives = {}
    for suffix, life in _LIVES.items():
        days, row = 0, list[str]()
        for phase in life.phases:
            days += phase.days
            row += [today.in_days(-days).isoformat(), phase.state]
        row += row[-2:] * (MAX_PHASES - len(life.phases))
        lives[suffix] = [*row, life.end]
    return lives


def days_to_expiry(expires_at: datetime | None, today: Today) -> int | None:
    """Return the days until the expiry, negative after it; None when it is unknown."""
    return None if expires_at is None else today.days_until(expires_at)


def _reported(epp_statuses: Collection[str]) -> Lifecycle | None:
    """Return the state that the registry reports; None when its statuses name none."""
    known = {each.replace(" ", "").lower() for each in epp_statuses}
    return next((state for status, state in _BY_STATUS if status in known), None)
