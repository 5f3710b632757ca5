"""Send the auto-renew settings that decisions imply to the registrars.

A setting is stored with the decision, and a run has a part for each connection that has to send some. The request
does its parts as far as a bound of time allows; a job does the rest, also when the request was killed.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.rows import RowOutcome, RowResult
from builders.kit.values import clock
from builders.kit.values.patches import UNSET
from builders.portfolio.domains import lookups
from builders.portfolio.domains.changes import require_shown
from builders.portfolio.domains.records import Domain, RenewalDecision
from builders.portfolio.registrars import auto_renew
from builders.portfolio.registrars.auto_renew import AutoRenewSetting, SettingState
from builders.portfolio.renewals import store
from builders.portfolio.renewals.decisions import decide
from builders.portfolio.renewals.events import RENEWAL_FAILED, RenewalFailureData
from builders.portfolio.renewals.records import MAX_ROWS, DecisionPatch, DecisionRow, PushedRow, PushState
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import NewPart, Part, PartError, PartState, WorkKind
from builders.portfolio.runs.work import Tools
from builders.portfolio.team.records import Access

REQUEST_S, JOB_S = 10.0, 300.0  # for the requests to registrars
JOB_DELAY = timedelta(seconds=60)  # the request has sent what it could
MAX_ATTEMPTS = 8  # of a part, over some hours


class PushesWaiting(Exception):
    """Settings are still to be sent: the job is tried again later."""


async def decide_and_push(
    tools: Tools,
    *,
    access: Access,
    rows: Sequence[DecisionRow | RowResult],
    dry_run: bool,
    push_to_registrar: bool,
    timeout_s: float = REQUEST_S,
    digest: str | None = None,
) -> tuple[Sequence[RowResult], Sequence[PushedRow | None]]:
    """Apply decisions, and send the settings that they imply; see `decide`.

    Return the result of each row, and its result at the registrar, also when that fails. A dry run stores and
    sends nothing. Raise DomainsChanged when the digest of a dry run is another one.
    """
    account_id, settings = access.portfolio_id, dict[UUID, AutoRenewSetting]()
    connection_ids: Sequence[UUID] = ()
    async with tools.database.transaction(force_rollback=dry_run) as conn:
        results = await decide(conn, account_id=account_id, member_id=access.member_id, rows=rows)
        require_shown(results, digest=digest)
        if push_to_registrar:
            wanted = {
                result.id: enabled
                for row, result in zip(rows, results, strict=True)
                if isinstance(row, DecisionRow)
                and result.id is not None
                and result.outcome is not RowOutcome.ERROR
                if (enabled := implied_auto_renew(row.patch)) is not None
            }
            _, planned = await _plan(conn, account_id, wanted)
            settings = {each.domain_id: each for each in planned}
            connection_ids = await _start(conn, access, planned)
    if not push_to_registrar:
        return results, [None for _ in results]
    if connection_ids and not dry_run:
        target: dict[str, Any] = {"account_id": account_id, "kind": WorkKind.PUSH, "is_new": True}
        async with tools.database.transaction() as conn:
            claimed = [await runs.claim_part(conn, **target, subject_id=each) for each in sorted(connection_ids)]
        taken = filter(None, claimed)
        sent = await asyncio.gather(*(_push(tools, part=each, timeout_s=timeout_s) for each in taken))
        settings |= {each.domain_id: each for group in sent for each in group if each.domain_id in settings}
    return results, [_pushed(each, settings, is_dry=dry_run) for each in results]


async def _plan(
    conn: Conn, account_id: UUID, wanted: Mapping[UUID, bool]
) -> tuple[Mapping[UUID, Domain], Sequence[AutoRenewSetting]]:
    """Return the domains of wanted settings, and the state of each setting at its registrar."""
    found = await lookups.load_domains_by_id(conn, account_id=account_id, ids=list(wanted))
    pairs = [(domain, wanted[domain_id]) for domain_id, domain in found.items()]
    return found, await auto_renew.plan_auto_renew(conn, account_id=account_id, wanted=pairs)


async def _start(conn: Conn, access: Access, planned: Sequence[AutoRenewSetting]) -> Sequence[UUID]:
    """Store the settings to send, and start a run with a part for each connection; return the connections."""
    account_id = access.portfolio_id
    pending = [(each, each.connection) for each in planned if each.is_waiting and each.connection is not None]
    if not pending:
        return ()
    await runs.lock_starts(conn, account_id=account_id, kind=WorkKind.PUSH)
    await store.upsert_pushes(
        conn,
        account_id=account_id,
        domain_ids=[each.domain_id for each, _ in pending],
        connection_ids=[connection.id for _, connection in pending],
        settings=[each.enabled for each, _ in pending],
        now=clock.now(),
    )
    parts = {each.id: NewPart(subject_id=each.id, provider=each.provider) for _, each in pending}
    await runs.start_run(
        conn,
        account_id=account_id,
        kind=WorkKind.PUSH,
        parts=list(parts.values()),
        options={},
        created_by=access.member_id,
        delay=JOB_DELAY,
    )
    return list(parts)


def implied_auto_renew(patch: DecisionPatch) -> bool | None:
    """Return the setting that a row implies: its own, else on to renew and off to drop; None for neither."""
    if patch.auto_renew is not UNSET and patch.auto_renew is not None:
        return patch.auto_renew
    if patch.decision is RenewalDecision.RENEW:
        return True
    return False if patch.decision is RenewalDecision.DROP else None


def _pushed(result: RowResult, settings: Mapping[UUID, AutoRenewSetting], *, is_dry: bool) -> PushedRow | None:
    if result.outcome is RowOutcome.ERROR or result.id is None:
        return None
    setting = settings.get(result.id)
    if setting is None:
        return PushedRow(state=PushState.NOTHING_TO_PUSH)
    if setting.is_waiting:
        state = PushState.WOULD_PUSH if is_dry else PushState.QUEUED
    else:
        state = PushState.PUSHED if setting.state is SettingState.SET else PushState(setting.state.value)
    return PushedRow(
        state=state,
        auto_renew=setting.enabled,
        provider=None if setting.connection is None else setting.connection.provider,
        dashboard_url=setting.dashboard_url,
        error=setting.error,
    )


async def _push(tools: Tools, *, part: Part, timeout_s: float, is_job: bool = False) -> Sequence[AutoRenewSetting]:
    """Send the settings of a connection that wait, and end its part when none is left; return them.

    A setting that still waits after the last attempt has failed. A job publishes the failures.
    """
    account_id, target = part.account_id, {"account_id": part.account_id, "connection_id": part.subject_id}
    async with tools.database.connection() as conn:
        wanted = await store.list_pushes(conn, **target, limit=MAX_ROWS)
        domains, planned = await _plan(conn, account_id, wanted)
    sent = await auto_renew.set_auto_renew(tools, settings=planned, timeout_s=timeout_s)
    if part.attempts >= MAX_ATTEMPTS:
        sent = [each.given_up() for each in sent]
    ended = {each.domain_id: each.enabled for each in sent if not each.is_waiting}
    failed = [each for each in sent if each.domain_id in ended and each.error is not None and is_job]
    with suppress(runs.PartLost):  # the other worker sends them again
        async with tools.database.transaction() as conn:
            await runs.lock_starts(conn, account_id=account_id, kind=WorkKind.PUSH)
            await store.delete_pushes(conn, **target, domain_ids=ended.keys(), settings=ended.values())
            events = [
                (
                    account_id,
                    RenewalFailureData(
                        id=setting.domain_id,
                        domain=setting.domain,
                        auto_renew=setting.enabled,
                        provider=None if setting.connection is None else setting.connection.provider,
                        error=setting.error,
                        expires_at=domains[setting.domain_id].expires_at,
                    ),
                )
                for setting in failed
            ]
            await outbox.publish_many(conn, RENEWAL_FAILED, events)
            if not await store.list_pushes(conn, **target, limit=1):
                await runs.finish_part(conn, part=part, state=PartState.COMPLETED)
    return sent


async def push_part(tools: Tools, part: Part) -> None:
    """Send the settings of a connection that wait. Raise PushesWaiting when some still do.

    Publish portfolio.renewal.failed for a setting that is refused, or that the last attempt does not send.
    """
    sent = await _push(tools, part=part, timeout_s=JOB_S, is_job=True)
    if any(each.is_waiting for each in sent):
        raise PushesWaiting


async def abandon_part(conn: Conn, *, part: Part) -> None:
    """Give up the settings of a connection whose part keeps failing."""
    await runs.lock_starts(conn, account_id=part.account_id, kind=WorkKind.PUSH)
    target = {"account_id": part.account_id, "connection_id": part.subject_id}
    waiting = await store.list_pushes(conn, **target, limit=MAX_ROWS)
    await store.delete_pushes(conn, **target, domain_ids=waiting.keys(), settings=waiting.values())
    error = PartError(code="push_failed", message="An internal error stopped it. Decide again.")
    await runs.finish_part(conn, part=part, state=PartState.FAILED, error=error)
