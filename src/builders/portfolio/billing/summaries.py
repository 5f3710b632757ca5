"""Publish the results of syncs, imports and applications of charges."""

from collections.abc import Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.portfolio.billing.events import (
    CHARGES_MATCHED,
    CHARGES_UNMATCHED,
    MAX_DOMAINS,
    REFUNDS_DETECTED,
    BillingData,
    ChargesData,
    charges_data,
)
from builders.portfolio.billing.recording import Origin
from builders.portfolio.billing.records import AppliedCharge, ChargeState, RunSummary
from builders.portfolio.billing.store import lists as store


async def publish_run(
    conn: Conn, *, account_id: UUID, event: Event | None, origin: Origin, fetched: int, charges: int
) -> RunSummary:
    """Publish the result of a sync or an import, and return it; without `event` only the events of its charges.

    `charges` is the number of charges that were read, new ones and others. The other numbers are those of the
    recorded charges, so that a run that was continued after a failure counts all.
    """
    summary = await store.summarize_run(
        conn,
        account_id=account_id,
        run_id=origin.run_id,
        connection_id=origin.connection_id,
        max_domains=MAX_DOMAINS,
    )
    data = BillingData(
        run_id=origin.run_id,
        provider=origin.provider,
        connection_id=origin.connection_id,
        fetched=fetched,
        new=summary.new,
        duplicate=max(0, charges - summary.new),
        matched=summary.matched,
        applied=summary.applied,
        unmatched=summary.unmatched,
        refunds=summary.refunds,
    )
    if event is not None:
        await outbox.publish(conn, event, account_id=account_id, data=data)
    for kind, number, domains, count in (
        (CHARGES_MATCHED, summary.matched, summary.matched_domains, summary.matched_domain_count),
        (CHARGES_UNMATCHED, summary.unmatched, summary.unmatched_domains, summary.unmatched_domain_count),
        (REFUNDS_DETECTED, summary.refunds, summary.refunded_domains, summary.refunded_domain_count),
    ):
        if number:
            said = ChargesData(
                run_id=origin.run_id,
                providers=[origin.provider],
                charges=number,
                domain=domains[0] if count == 1 and domains else None,
                domains=list(domains),
                domain_count=count,
            )
            await outbox.publish(conn, kind, account_id=account_id, data=said)
    return summary


async def publish_application(conn: Conn, *, account_id: UUID, done: Sequence[AppliedCharge]) -> None:
    """Publish the charges whose domain an application found."""
    found = [
        each
        for each in done
        if each.candidate is not None
        and each.charge.state in {ChargeState.UNMATCHED, ChargeState.SUGGESTED}
        and each.is_matched
    ]
    await publish_matches(conn, account_id=account_id, found=found)


async def publish_matches(conn: Conn, *, account_id: UUID, found: Sequence[AppliedCharge]) -> None:
    """Publish the charges whose domain was found, if there are any."""
    if not found:
        return
    data = charges_data(
        run_id=None,
        providers=sorted({each.charge.provider for each in found}),
        charges=len(found),
        domains=sorted({each.candidate.domain for each in found if each.candidate is not None}),
    )
    await outbox.publish(conn, CHARGES_MATCHED, account_id=account_id, data=data)
