"""When a domain is looked at next. Pure."""

from datetime import datetime, timedelta

from builders.domains.records import AccountDomain, AccountDomainStatus, DomainProof, ProofSeen

SOON = timedelta(minutes=1)  # after it was added; doubled each time
LONGEST = timedelta(hours=6)
WAITED_FOR = timedelta(days=14)  # by a pending domain; then its owner has to ask
DAILY = timedelta(days=1)
UNANSWERED = timedelta(hours=1)
LOST = timedelta(hours=6)  # while a proof that was there is gone
LEASE = timedelta(minutes=10)  # of who is asking
GRACE = timedelta(days=3)  # that it may be gone before the domain is suspended
_DOUBLINGS = 20


def next_check(domain: AccountDomain, seen: ProofSeen | None, *, now: datetime) -> datetime | None:
    """When to ask again, after `domain.checks` times; None for no more.

    `seen` is None where no proof is needed.
    """
    if domain.is_sandbox or domain.status is AccountDomainStatus.RELEASED:
        return None
    if domain.status is AccountDomainStatus.PENDING:
        at = now + min(SOON * 2 ** min(domain.checks, _DOUBLINGS), LONGEST)
        return at if at < domain.added_at + WAITED_FOR else None
    if domain.proof is not DomainProof.DNS or seen is ProofSeen.FOUND:
        return now + DAILY
    return now + (UNANSWERED if seen is ProofSeen.UNKNOWN else LOST)
