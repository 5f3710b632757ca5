"""Limits of an API key that its minter sets: when it ends, and from where it works.

A limited key makes no key that is less limited than itself, or its limits would bound nobody who holds it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from builders.identity import networks
from builders.identity.errors import KeyLimited
from builders.identity.records import MAX_NETWORKS, ApiKey
from builders.kit.errors import Invalid

LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)  # an offset can name a later one, which PostgreSQL keeps


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimits:
    """None in either place: no such limit."""

    expires_at: datetime | None = None
    allowed_ips: tuple[str, ...] | None = None


def limits_of(key: ApiKey) -> KeyLimits:
    """Return what the key was minted with; not the end of an overlap, which rotation gives it."""
    allowed = None if key.allowed_ips is None else tuple(key.allowed_ips)
    return KeyLimits(expires_at=key.asked_expires_at, allowed_ips=allowed)


def read(*, expires_at: datetime | None, allowed_ips: Sequence[str] | None, now: datetime) -> KeyLimits:
    """Return the limits that are asked for, each network once and in its normal form. Raises Invalid.

    An end in the past is refused, and one in a year that Python does not have.
    """
    if expires_at is not None and expires_at <= now:
        raise Invalid(("body", "expires_at"), "A key cannot end in the past.", "expires_at_past")
    if expires_at is not None and expires_at > LAST:
        raise Invalid(("body", "expires_at"), "A key ends in the year 9999 (UTC) at the latest.", "expires_at_far")
    allowed = None if allowed_ips is None else tuple(dict.fromkeys(_networks(allowed_ips)))
    return KeyLimits(expires_at=expires_at, allowed_ips=allowed)


def _networks(texts: Sequence[str]) -> Iterator[str]:
    if not 0 < len(texts) <= MAX_NETWORKS:
        raise Invalid(("body", "allowed_ips"), f"A key has 1 to {MAX_NETWORKS} networks, or null for any.")
    for at, text in enumerate(texts):
        try:
            yield str(networks.parse(text))
        except ValueError as error:
            raise Invalid(("body", "allowed_ips", at), str(error)) from None


def inherit(asked: KeyLimits, *, minter: ApiKey) -> KeyLimits:
    """Return the limits of a key that the minter makes: its own where none are asked for. Raises KeyLimited."""
    own = limits_of(minter)
    given = KeyLimits(
        expires_at=asked.expires_at or own.expires_at,
        allowed_ips=own.allowed_ips if asked.allowed_ips is None else asked.allowed_ips,
    )
    require_within(given, minter=minter)
    return given


def require_within(asked: KeyLimits, *, minter: ApiKey) -> None:
    """Refuse limits that let a key do more than the minter. Raises KeyLimited."""
    own = limits_of(minter)
    is_longer = own.expires_at is not None and (asked.expires_at is None or asked.expires_at > own.expires_at)
    if is_longer or not _is_covered(asked, own):
        raise KeyLimited(
            "A key that expires or works from some networks only makes no key that is less limited.",
            next_action="Ask with a key without these limits, or within the limits of this one.",
        )


def _is_covered(asked: KeyLimits, own: KeyLimits) -> bool:
    if own.allowed_ips is None:
        return True
    if asked.allowed_ips is None:
        return False
    outer, inner = ([networks.parse(each) for each in of] for of in (own.allowed_ips, asked.allowed_ips))
    return networks.covers(outer, inner)
