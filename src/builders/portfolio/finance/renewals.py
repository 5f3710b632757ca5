"""Record renewals: an entry of the ledger, and the new expiry of the domain."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.kit.events import outbox
from builders.kit.values import clock
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import ChangeSource, Domain, domain_patch
from builders.portfolio.domains.today import Today
from builders.portfolio.finance.events import RENEWAL_RECORDED, renewal_data
from builders.portfolio.finance.records import NewRenewal, RecordedRenewal, RenewalNotice
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import Entry

DAY = timedelta(days=1)  # that another time zone can be ahead
MAX_TERM = 10  # years that a registration can last from now
SAME_DAYS, SAME_AMOUNT = 7, Decimal("0.05")  # up to which two renewals are likely the same


async def record_renewal(
    conn: Conn, *, account_id: UUID, key: str, renewal: NewRenewal, today: Today, member_id: UUID | None
) -> RecordedRenewal:
    """Record a renewal and move the expiry of the domain; publish portfolio.renewal.recorded.

    A likely duplicate is recorded, too, and named: a domain can be renewed twice. Raise DomainNotFound, and
    Invalid for a day in the future and for an expiry that no registration can have.
    """
    if renewal.occurred_on > (clock.now() + DAY).date():
        raise Invalid(
            ("body", "renewed_on"), "The day of the payment must not be in the future.", "date_in_future"
        )
    domain = await lookups.lock_domain(conn, account_id=account_id, key=key)
    entries = await ledger_entries.list_entries_by_domain(conn, account_id=account_id, domain_ids=[domain.id])
    duplicate = next((each for each in entries.get(domain.id, ()) if _is_likely_same(each, renewal)), None)
    expires_at, notices = next_expiry(domain, renewal, now=clock.now())
    if duplicate is not None:
        notices = [RenewalNotice.LIKELY_DUPLICATE, *notices]
    paid = replace(renewal, registrar=renewal.registrar or domain.registrar)
    [posted] = await ledger_entries.post_entries(
        conn, account_id=account_id, entries=[paid.entry(domain.id, created_by=member_id)]
    )
    if expires_at != domain.expires_at:
        patch = domain_patch(expires_at=expires_at)
        changed = await changes.change_domain(
            conn,
            account_id=account_id,
            domain=domain,
            patch=patch,
            today=today,
            source=ChangeSource.MEMBER,
            member_id=member_id,
        )
    recorded = RecordedRenewal(
        entry=ledger_entries.require_recorded(posted),
        domain=domain if expires_at == domain.expires_at else changed,
        previous_expires_at=domain.expires_at,
        duplicate_of=None if duplicate is None else duplicate.id,
        notices=notices,
    )
    await outbox.publish(conn, RENEWAL_RECORDED, account_id=account_id, data=renewal_data(recorded))
    return recorded


def next_expiry(
    domain: Domain, renewal: NewRenewal, *, now: datetime
) -> tuple[datetime | None, list[RenewalNotice]]:
    """Return the expiry of a domain after a renewal, and what to check in it. Raise Invalid."""
    latest = add_years(now, MAX_TERM)
    present, given = domain.expires_at, renewal.new_expires_at
    if given is not None:
        if given > latest + DAY:
            message = f"A registration lasts {MAX_TERM} years at most."
            raise Invalid(("body", "new_expires_at"), message, "expiry_too_far")
        is_earlier = present is not None and given < present
        return given, [RenewalNotice.EXPIRY_EARLIER] if is_earlier else []
    if present is None:
        return None, [RenewalNotice.EXPIRY_UNKNOWN]
    added = add_years(present, renewal.years)
    if added > latest:
        return max(latest, present), [RenewalNotice.EXPIRY_CAPPED]
    return added, []


def add_years(at: datetime, years: int) -> datetime:
    """Return the same day of a later year; 28 February for a leap day in a common year."""
    try:
        return at.replace(year=at.year + years)
    except ValueError:
        return at.replace(year=at.year + years, day=28)


def _is_likely_same(entry: Entry, renewal: NewRenewal) -> bool:
    if entry.is_void or entry.kind is not renewal.kind:
        return False
    if renewal.order_ref is not None and renewal.order_ref in {entry.reference, entry.order_ref}:
        return True
    return (
        (entry.years or 1) == renewal.years
        and abs((entry.occurred_on - renewal.occurred_on).days) <= SAME_DAYS
        and entry.currency == renewal.money.currency
        and abs(entry.amount - renewal.money.amount) <= entry.amount * SAME_AMOUNT
    )
