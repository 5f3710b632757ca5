"""Publish urgent differences between a portfolio and its registrars, each once."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.values import clock
from builders.portfolio.registrars.events import DRIFT_DETECTED, DriftData, DriftFinding
from builders.portfolio.registrars.findings import Difference, Filters, FindingSeverity, ListedConnection
from builders.portfolio.registrars.reconcile import compare, list_not_checked, read_context
from builders.portfolio.registrars.store import drifts as store
from builders.portfolio.registrars.store.reconcile import Position

URGENT = Filters(min_severity=FindingSeverity.HIGH)
MAX_KNOWN = 10_000  # findings; the least urgent ones beyond are not published
MAX_NAMED = 20  # findings that an event lists
TRANSFER_PERIOD = timedelta(days=30)  # after a request for the auth code


async def detect_drift(conn: Conn, *, account_id: UUID) -> None:
    """Publish portfolio.reconcile.drift_detected when findings of severity high or critical are new.

    Findings of a connection that could not be compared this time stay known. Needs a transaction.
    """
    known = await store.lock_drift(conn, account_id=account_id)
    context = await read_context(conn, account_id=account_id, filters=URGENT, shows_finance=True)
    found = await compare(conn, context=context, filters=URGENT, after=Position(), limit=MAX_KNOWN)
    urgent = found.differences[:MAX_KNOWN]
    present = [each.id for each in urgent]
    kept = known if list_not_checked(context) else ()
    after = list(dict.fromkeys((*present, *kept)))[:MAX_KNOWN]
    if set(after) == set(known):
        return
    await store.update_drift(conn, account_id=account_id, finding_ids=after)
    before = set(known)
    new = [each for each in urgent if each.id not in before]
    if new:
        await outbox.publish(
            conn, DRIFT_DETECTED, account_id=account_id, data=_data(new, urgent, context.snapshots)
        )


def _data(
    new: Sequence[Difference], urgent: Sequence[Difference], snapshots: Sequence[ListedConnection]
) -> DriftData:
    providers = {each.connection_id: each.provider for each in snapshots}
    return DriftData(
        severity=new[0].severity,
        new=len(new),
        total=len(urgent),
        by_category=dict(Counter(each.category for each in new)),
        findings=[
            DriftFinding(
                id=each.id,
                category=each.category,
                severity=each.severity,
                domain=each.domain or "",
                domain_id=each.domain_id,
                provider=providers[each.connection_id],
            )
            for each in new[:MAX_NAMED]
        ],
    )


async def expect_departure(conn: Conn, *, account_id: UUID, domain: str, at: datetime) -> None:
    """Expect the transfer of a domain whose auth code was requested at a time."""
    await store.upsert_departure(
        conn, account_id=account_id, domain=domain, expected_until=at + TRANSFER_PERIOD, now=clock.now()
    )
