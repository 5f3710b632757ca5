"""Send the auto-renew settings that decisions imply to the registrars.

A setting is stored with the decision, claimed by the request, and sent in it as far as a bound of time allows; a
job sends the rest, also when the request was killed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.bulk import RowOutcome, RowResult
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.patches import UNSET
from builders.portfolio.domains import lookups
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.registrars import auto_renew
from builders.portfolio.registrars.auto_renew import AutoRenewSetting, SettingState
from builders.portfolio.renewals import store
from builders.portfolio.renewals.decisions import decide
from builders.portfolio.renewals.events import RENEWAL_FAILED, failure_data
from builders.portfolio.renewals.records import (
    MAX_ROWS,
    BulkOptions,
    DecisionPatch,
    DecisionRow,
    Push,
    PushedRow,
    PushState,
)
from builders.portfolio.team.records import Access

PUSH = "portfolio.push_auto_renew"  # name of the job
REQUEST_S, JOB_S = 10.0, 300.0  # for the requests to registrars
CLAIM_OF_REQUEST, CLAIM_OF_JOB = timedelta(seconds=60), timedelta(minutes=10)
MAX_ATTEMPTS = 8  # of a setting, over some hours
_STATES: Mapping[SettingState, PushState] = {
    SettingState.PENDING: PushState.QUEUED,
    SettingState.SET: PushState.PUSHED,
    SettingState.UNCHANGED: PushState.UNCHANGED,
    SettingState.FAILED: PushState.FAILED,
    SettingState.UNSUPPORTED: PushState.UNSUPPORTED,
    SettingState.NOT_CONNECTED: PushState.NOT_CONNECTED,
}


class PushesWaiting(Exception):
    """Settings are still to be sent: the job is tried again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The results of a bulk call, and the settings to send to registrars."""

    results: Sequence[RowResult]
    options: BulkOptions
    settings: Mapping[UUID, AutoRenewSetting]  # by domain, of the rows that imply one
    claimed: frozenset[UUID] = frozenset()  # domains whose settings the request sends
    claim: UUID = ids.NIL


async def decide_and_plan(
    conn: Conn, *, access: Access, rows: Sequence[DecisionRow | RowResult], options: BulkOptions
) -> Decided:
    """Apply decisions, and store the settings to send to registrars; a dry run stores nothing. See `decide`."""
    async with conn.transaction(force_rollback=options.dry_run):
        account_id = access.portfolio_id
        results = await decide(conn, account_id=account_id, member_id=access.member_id, rows=rows)
        if not options.push_to_registrar:
            return Decided(results=results, options=options, settings={})
        planned = await _plan(conn, account_id=account_id, rows=rows, results=results)
        pending = {each.domain_id: each.enabled for each in planned if each.state is SettingState.PENDING}
        claim, now = ids.new(), clock.now()
        claimed: Sequence[UUID] = ()
        if pending:
            claimed = await store.upsert_pushes(
                conn,
                account_id=account_id,
                settings=pending,
                claim=claim,
                claimed_until=now + CLAIM_OF_REQUEST,
                now=now,
            )
            await _defer(conn, account_id=account_id)
    settings = {each.domain_id: each for each in planned}
    return Decided(results=results, options=options, settings=settings, claimed=frozenset(claimed), claim=claim)


async def _plan(
    conn: Conn, *, account_id: UUID, rows: Sequence[DecisionRow | RowResult], results: Sequence[RowResult]
) -> Sequence[AutoRenewSetting]:
    wanted = {
        result.id: enabled
        for row, result in zip(rows, results, strict=True)
        if isinstance(row, DecisionRow)
        and result.id is not None
        and result.outcome is not RowOutcome.ERROR
        and (enabled := implied_auto_renew(row.patch)) is not None
    }
    found = await lookups.find_domains_by_id(conn, account_id=account_id, ids=list(wanted))
    pairs = [(domain, wanted[domain_id]) for domain_id, domain in found.items()]
    return await auto_renew.plan_auto_renew(conn, account_id=account_id, wanted=pairs)


def implied_auto_renew(patch: DecisionPatch) -> bool | None:
    """Return the setting that a row implies: its own, else on to renew and off to drop; None for neither."""
    if patch.auto_renew is not UNSET and patch.auto_renew is not None:
        return patch.auto_renew
    if patch.decision is RenewalDecision.RENEW:
        return True
    return False if patch.decision is RenewalDecision.DROP else None


async def _defer(conn: Conn, *, account_id: UUID) -> None:
    """Enqueue the job that sends the remaining settings."""
    await queue.defer(
        conn,
        PUSH,
        delay=CLAIM_OF_REQUEST,
        once=f"{PUSH} {account_id}",
        lane=queue.EXTERNAL,
        account_id=str(account_id),
    )


async def push_decided(
    database: Database,
    *,
    account_id: UUID,
    decided: Decided,
    outbound: Outbound,
    keyring: Keyring,
    timeout_s: float = REQUEST_S,
) -> Sequence[PushedRow | None]:
    """Send the settings of a bulk call; return the result of each row, also when a registrar fails."""
    settings = dict(decided.settings)
    if decided.claimed and not decided.options.dry_run:
        sent = await auto_renew.set_auto_renew(
            database,
            account_id=account_id,
            settings=[settings[each] for each in decided.claimed],
            outbound=outbound,
            keyring=keyring,
            timeout_s=timeout_s,
        )
        async with database.transaction() as conn:
            await _end(conn, account_id=account_id, claim=decided.claim, sent=sent)
        settings |= {each.domain_id: each for each in sent}
    if not decided.options.push_to_registrar:
        return [None for _ in decided.results]
    return [_pushed(each, settings, is_dry=decided.options.dry_run) for each in decided.results]


def _pushed(result: RowResult, settings: Mapping[UUID, AutoRenewSetting], *, is_dry: bool) -> PushedRow | None:
    if result.outcome is RowOutcome.ERROR or result.id is None:
        return None
    setting = settings.get(result.id)
    if setting is None:
        return PushedRow(state=PushState.NOTHING_TO_PUSH)
    state = _STATES[setting.state]
    if state is PushState.QUEUED and is_dry:
        state = PushState.WOULD_PUSH
    if state is PushState.FAILED and setting.is_temporary:
        state = PushState.QUEUED
    return PushedRow(
        state=state,
        auto_renew=setting.enabled,
        provider=None if setting.connection is None else setting.connection.provider,
        dashboard_url=setting.dashboard_url,
        error=setting.error,
    )


async def _end(conn: Conn, *, account_id: UUID, claim: UUID, sent: Sequence[AutoRenewSetting]) -> int:
    """Delete sent and abandoned settings, and release the rest; return the number of pending settings."""
    retried = [each for each in sent if each.state is SettingState.FAILED and each.is_temporary]
    waiting = {each.domain_id for each in sent if each.state is SettingState.PENDING}
    waiting |= {each.domain_id for each in retried}
    return await store.end_pushes(
        conn,
        account_id=account_id,
        claim=claim,
        ended={each.domain_id: each.enabled for each in sent if each.domain_id not in waiting},
        failed=[each.domain_id for each in retried],
    )


async def push_waiting(database: Database, *, account_id: UUID, outbound: Outbound, keyring: Keyring) -> None:
    """Send the settings of a portfolio that wait. Raise PushesWaiting when some still do.

    Publish portfolio.renewal.failed for a setting that is refused, or has failed MAX_ATTEMPTS times.
    """
    claim, now = ids.new(), clock.now()
    async with database.transaction() as conn:
        pushes = await store.claim_pushes(
            conn, account_id=account_id, claim=claim, claimed_until=now + CLAIM_OF_JOB, limit=MAX_ROWS, now=now
        )
        wanted = {each.domain_id: each for each in pushes}
        found = await lookups.find_domains_by_id(conn, account_id=account_id, ids=list(wanted))
        pairs = [(domain, wanted[domain_id].auto_renew) for domain_id, domain in found.items()]
        planned = await auto_renew.plan_auto_renew(conn, account_id=account_id, wanted=pairs)
    sent = await auto_renew.set_auto_renew(
        database, account_id=account_id, settings=planned, outbound=outbound, keyring=keyring, timeout_s=JOB_S
    )
    sent = [_after_attempts(each, wanted[each.domain_id]) for each in sent]
    async with database.transaction() as conn:
        waiting = await _end(conn, account_id=account_id, claim=claim, sent=sent)
        failed = [each for each in sent if each.error is not None and not each.is_temporary]
        events = [(account_id, failure_data(found[each.domain_id], each)) for each in failed]
        await outbox.publish_many(conn, RENEWAL_FAILED, events)
    if waiting:
        raise PushesWaiting(f"{waiting} settings are pending")


def _after_attempts(setting: AutoRenewSetting, push: Push) -> AutoRenewSetting:
    is_last = push.attempts + 1 >= MAX_ATTEMPTS
    return replace(setting, is_temporary=False) if setting.is_temporary and is_last else setting
