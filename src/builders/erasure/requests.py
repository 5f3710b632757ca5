"""Erasures that people want: who decides, the emails, how one is cancelled, and its end.

The emails name the request, so each of them cancels it; also those from before its time started again.
"""

import hmac
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from builders.erasure import execution, settlement, store
from builders.erasure.records import (
    KNOWN_FOR,
    LAST_EMAIL,
    REMIND_AFTER,
    REMIND_BEFORE,
    UNCONFIRMED_FOR,
    WAIT,
    Erasure,
    ErasureRequest,
    ErasureState,
)
from builders.identity import accounts, people
from builders.identity.records import Account, AuditAction
from builders.kit.callers import Actor
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn
from builders.kit.errors import TokenInvalid
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail.templates import ErasureRequested
from builders.plans.approval import notices, policies
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access

CANCEL_PATH = "/v1/account/erasure/cancel"
_PURPOSE = "erasure.cancel"  # of the keyring
_RECIPIENT = Actor(type="user")  # who presses the button of an emailed link
old_rows.declare("erasure_addresses", key="account_id, email", age="changed_at", after=KNOWN_FOR)
old_rows.declare(
    "erasure_requests", key="account_id", age="requested_at", after=UNCONFIRMED_FOR, only="due_at IS NULL"
)


async def get(conn: Conn, *, account_id: UUID) -> Erasure:
    """Return how far the erasure of an account is, and what is open."""
    found = await _find(conn, account_id)
    confirmed_by = () if found is None else found.confirmed_by
    waits = ErasureState.UNCONFIRMED if found is None or found.due_at is None else ErasureState.WAITING
    return Erasure(
        state=ErasureState.NONE if found is None else waits,
        requested_at=None if found is None else found.requested_at,
        due_at=None if found is None else found.due_at,
        missing=await policies.count_missing(conn, account_id=account_id, confirmed_by=confirmed_by),
        unsettled=await settlement.list_unsettled(conn, account_id=account_id),
    )


async def confirm(conn: Conn, *, keyring: Keyring, settings: Settings, access: Access) -> Erasure:
    """Request the erasure as the holder, or confirm it as a decider; the last confirmation starts its time.

    Repeatable. Mailed and audited. Raise PersonRequired, RoleForbidden, AccountUnsettled.
    """
    own = access.owner_id
    await people.lock(conn, account_id=own)
    await deciders.get_decider(conn, access=access)
    found = await _find(conn, own)
    if found is None:
        deciders.require_account(access, "Only the account itself requests its erasure.")
        await settlement.require(conn, account_id=own)
        found = await store.insert(conn, account_id=own, request_id=ids.new(), now=clock.now())
    if found.due_at is None and access.member_id not in found.confirmed_by:
        found = replace(found, confirmed_by=[*found.confirmed_by, access.member_id])
        await store.set_confirmed(conn, account_id=own, confirmed_by=found.confirmed_by)
        await _audit(conn, own, access.actor, AuditAction.ERASURE_CONFIRMED)
        account = await accounts.get_account(conn, account_id=own)
        if await policies.count_missing(conn, account_id=own, confirmed_by=found.confirmed_by):
            await _mail(conn, keyring, settings, account, found)
        else:
            await _send_next(conn, keyring, settings, account, found)
    return await get(conn, account_id=own)


async def cancel(conn: Conn, *, access: Access) -> Erasure:
    """Cancel the erasure as a decider; without one, do nothing. Audited."""
    await people.lock(conn, account_id=access.owner_id)
    if await store.delete_request(conn, account_id=access.owner_id):
        await _audit(conn, access.owner_id, access.actor, AuditAction.ERASURE_CANCELLED)
    return await get(conn, account_id=access.owner_id)


async def get_by_link(conn: Conn, *, keyring: Keyring, token: str) -> ErasureRequest:
    """Return the erasure that an emailed link cancels. Raise TokenInvalid, also when it is cancelled."""
    named, _, proof = token.rpartition(".")
    account_id, request_id = (ids.find(each) for each in f"{named}.".split(".")[:2])
    known = (each.hex().encode() for each in keyring.hashes(_PURPOSE, named))
    is_own = any(hmac.compare_digest(each, proof.encode()) for each in known)
    found = await _find(conn, account_id) if is_own and account_id is not None else None
    if found is None or found.id != request_id:
        raise TokenInvalid("No erasure waits that this link cancels.")
    return found


async def cancel_by_link(conn: Conn, *, keyring: Keyring, token: str) -> None:
    """Cancel the erasure by the button behind an emailed link. Audited. Raise TokenInvalid."""
    found = await get_by_link(conn, keyring=keyring, token=token)
    await people.lock(conn, account_id=found.account_id)
    if await store.delete_request(conn, account_id=found.account_id):
        await _audit(conn, found.account_id, _RECIPIENT, AuditAction.ERASURE_CANCELLED)


async def note_address(conn: Conn, *, account_id: UUID, former: str, at: datetime) -> bool:
    """Note a former address of an account; start the time of its erasure again, and return whether one waits."""
    await store.put_address(conn, account_id=account_id, email=former, at=at)
    found = await _find(conn, account_id)
    if found is None or found.due_at is None or at <= found.due_at - WAIT:
        return False
    now = clock.now()
    await store.schedule(conn, account_id=account_id, due_at=now + WAIT, next_at=now, emails=0)
    return True


async def advance(conn: Conn, *, keyring: Keyring, settings: Settings, account_id: UUID) -> None:
    """Send the next email about an erasure, or begin it at its end; wait a day more while something is open."""
    await people.lock(conn, account_id=account_id)
    found, now = await _find(conn, account_id), clock.now()
    if found is None or found.next_at is None or found.next_at > now:
        return
    account = await accounts.get_account(conn, account_id=account_id)
    if found.emails < LAST_EMAIL:
        await _send_next(conn, keyring, settings, account, found)
    elif await settlement.list_unsettled(conn, account_id=account_id):
        later = now + REMIND_BEFORE
        await store.schedule(conn, account_id=account_id, due_at=later, next_at=later, emails=found.emails)
    else:
        await execution.begin(conn, account=account)


async def _find(conn: Conn, account_id: UUID) -> ErasureRequest | None:
    return await store.find(conn, account_id=account_id, since=clock.now() - UNCONFIRMED_FOR)


async def _send_next(
    conn: Conn, keyring: Keyring, settings: Settings, account: Account, request: ErasureRequest
) -> None:
    """Send the next of the emails; the end is REMIND_BEFORE after the last one at the soonest."""
    now, sent = clock.now(), request.emails + 1
    due_at = max(request.due_at or now + WAIT, now + REMIND_BEFORE)
    next_at = {1: now + REMIND_AFTER, LAST_EMAIL: due_at}.get(sent, due_at - REMIND_BEFORE)
    await store.schedule(conn, account_id=account.id, due_at=due_at, next_at=next_at, emails=sent)
    await _mail(conn, keyring, settings, account, replace(request, due_at=due_at))


async def _mail(
    conn: Conn, keyring: Keyring, settings: Settings, account: Account, request: ErasureRequest
) -> None:
    """Mail the deciders, the address of the account and its former ones."""
    named = f"{account.id}.{request.id}"
    former = await store.list_addresses(conn, account_id=account.id, since=clock.now() - KNOWN_FOR)
    message = ErasureRequested(
        account=account.email,
        link=f"{settings.url}{CANCEL_PATH}?token={named}.{keyring.hash_token(_PURPOSE, named).hex()}",
        review=f"{settings.url}/console/of/{account.id}/erasure",
        due_on=None if request.due_at is None else request.due_at.date(),
    )
    await notices.send(
        conn, keyring=keyring, account_id=account.id, template=message, also=[account.email, *former]
    )


async def _audit(conn: Conn, account_id: UUID, actor: Actor, action: AuditAction) -> None:
    await accounts.record_audit(conn, account_id=account_id, actor=actor, action=action, about={})
