"""Auth codes: requested at the registrar, shown once, stored nowhere.

Each request is counted, audited and published before the request to the registrar.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock
from builders.portfolio.registrars import errors, providers, requests
from builders.portfolio.registrars.errors import NotConnected
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import AuthCode, AuthCodeDelivery, Connection, Profile
from builders.portfolio.runs.work import Tools
from builders.portfolio.team.records import Access
from builders.portfolio.transfers import rules, situations, status, store
from builders.portfolio.transfers.errors import AuthCodeLimit
from builders.portfolio.transfers.events import AUTH_CODE_DELIVERED, AUTH_CODE_REQUESTED, AuthCodeData
from builders.portfolio.transfers.records import (
    CODES_PER_HOUR,
    CodeDelivery,
    CodeOptions,
    CodeRequest,
    IssuedCode,
    RuleName,
)
from builders.portfolio.transfers.situations import Answer, Situation

HOUR = timedelta(hours=1)
ASK_S, PACE_S = 20.0, 5.0  # longest request, and wait for the rate limit
_ASKED = frozenset({AuthCodeDelivery.RETURNED, AuthCodeDelivery.EMAILED})  # by a request to the registrar


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request that was counted and audited."""

    situation: Situation
    connection: Connection
    profile: Profile
    requested_at: datetime
    audit_id: UUID

    @property
    def moves_by_tag(self) -> bool:
        """Return whether the domain moves without an auth code."""
        return rules.moves_by_tag(self.situation.domain.tld, now=self.requested_at)


async def request_auth_code(tools: Tools, *, access: Access, key: str, options: CodeOptions) -> IssuedCode:
    """Request the auth code of a domain; publishes portfolio.auth_code.requested and .delivered.

    Raise DomainNotFound, NotConnected, AuthCodeLimit, and the Problem of a registrar's failure.
    """
    async with tools.database.transaction() as conn:
        request = await _begin(conn, access=access, key=key, options=options)
    issued = await _deliver(tools, request)
    answer = None
    if isinstance(issued, AuthCode) or issued.kind is RegistrarFailure.REFUSED:
        answer = await situations.query_unless_fresh(tools, situation=request.situation)
    async with tools.database.transaction() as conn:
        after = await _finish(conn, request, issued, answer)
    if isinstance(issued, RegistrarFailed):
        problem = errors.problem_of(issued)
        if issued.kind is RegistrarFailure.REFUSED:
            problem.members["blocked_by"] = [str(each.code) for each in after.decide(now=clock.now()).blocked_by]
        raise problem
    return IssuedCode(
        domain_id=after.domain.id,
        domain=after.domain.domain,
        provider=request.connection.provider,
        delivery=CodeDelivery(issued.delivery),
        auth_code=issued.code,
        expires_at=issued.expires_at,
        dashboard_url=request.profile.dashboard_url,
        instructions=_instructions(request, issued.delivery, options),
        eligibility=after.decide(now=clock.now()),
        requested_at=request.requested_at,
        audit_id=request.audit_id,
    )


async def _begin(conn: Conn, *, access: Access, key: str, options: CodeOptions) -> _Request:
    """Count, audit and publish a request. Raise DomainNotFound, NotConnected, AuthCodeLimit."""
    account_id, now = access.portfolio_id, clock.now()
    situation = await situations.lock_situation(conn, account_id=account_id, key=key)
    domain, connection = situation.domain, situation.connection
    if connection is None:
        raise NotConnected(
            f"No registrar with an API is connected for {domain.domain}.",
            next_action=f"Request the code at {domain.registrar or 'its registrar'}. Or connect it: "
            "PUT /v1/portfolio/registrars/{provider}, then POST /v1/portfolio/registrars/sync, which finds the "
            "domain.",
        )
    limited = {"account_id": account_id, "domain_id": domain.id, "limit": CODES_PER_HOUR}
    if not await store.add_code_request(conn, **limited, now=now, since=now - HOUR):
        oldest = await store.get_oldest_code_request(conn, **limited)
        raise AuthCodeLimit(
            f"The auth code of {domain.domain} can be requested {CODES_PER_HOUR} times in an hour.",
            retry_after=max(1, math.ceil((oldest + HOUR - now).total_seconds())),
        )
    about = {
        "domain": domain.domain,
        "domain_id": str(domain.id),
        "provider": connection.provider,
        "connection_id": str(connection.id),
        "member_id": str(access.member_id),
        "reason": options.reason,
    }
    audit_id = await accounts.record_audit(
        conn, account_id=access.owner_id, actor=access.actor, action=AuditAction.AUTH_CODE_REQUESTED, about=about
    )
    request = _Request(
        situation=situation,
        connection=connection,
        profile=providers.get_profile(connection.provider),
        requested_at=now,
        audit_id=audit_id,
    )
    await _publish(conn, AUTH_CODE_REQUESTED, request, CodeDelivery.PENDING)
    return request


async def _deliver(tools: Tools, request: _Request) -> AuthCode | RegistrarFailed:
    """Return how the code is delivered, after a query of the registrar if needed; or its failure."""
    delivery = request.profile.capabilities.auth_code
    if request.moves_by_tag:
        delivery = AuthCodeDelivery.UNSUPPORTED
    if delivery not in _ASKED:
        return AuthCode(delivery=delivery)
    try:
        async with asyncio.timeout(ASK_S):
            adapter = await requests.open_adapter(tools, request.connection, max_wait_s=PACE_S)
            return await adapter.get_auth_code(request.situation.domain.domain)
    except RegistrarFailed as failed:
        return failed
    except TimeoutError:
        return RegistrarFailed(RegistrarFailure.UNAVAILABLE)


async def _finish(
    conn: Conn, request: _Request, issued: AuthCode | RegistrarFailed, answer: Answer | None
) -> Situation:
    """Write how the code is delivered, never the code, or the failure; publish. Raise DomainNotFound."""
    account_id, domain_id = request.situation.account_id, request.situation.domain.id
    situation = await situations.lock_situation(conn, account_id=account_id, key=str(domain_id))
    if isinstance(issued, RegistrarFailed):
        await requests.record_outcome(
            conn, account_id=account_id, connection_id=request.connection.id, failure=issued
        )
        return await status.write(conn, situation=situation, answer=answer)
    delivery = CodeDelivery(issued.delivery)
    await store.finish_code_request(
        conn, account_id=account_id, domain_id=domain_id, delivery=delivery, expires_at=issued.expires_at
    )
    if delivery.is_delivered:
        await _publish(conn, AUTH_CODE_DELIVERED, request, delivery)
    code = CodeRequest(requested_at=request.requested_at, delivery=delivery, expires_at=issued.expires_at)
    situation = replace(situation, known=replace(situation.known, code=code))
    return await status.write(conn, situation=situation, answer=answer)


async def _publish(conn: Conn, event: Event, request: _Request, delivery: CodeDelivery) -> None:
    domain = request.situation.domain
    data = AuthCodeData(
        id=domain.id,
        domain=domain.domain,
        provider=request.connection.provider,
        delivery=delivery,
        audit_id=request.audit_id,
    )
    await outbox.publish(conn, event, account_id=request.situation.account_id, data=data)


def _instructions(request: _Request, delivery: AuthCodeDelivery, options: CodeOptions) -> Sequence[str]:
    """Return the next steps, in sentences."""
    domain, label = request.situation.domain.domain, request.profile.label
    place = label if request.profile.dashboard_url is None else f"{label} ({request.profile.dashboard_url})"
    if request.moves_by_tag:
        return [
            f"A transfer of {domain} requires no auth code: set the IPS tag of the gaining registrar at {place}."
        ]
    by_delivery = {
        AuthCodeDelivery.RETURNED: "Enter the code at the gaining registrar. Keep it secret.",
        AuthCodeDelivery.EMAILED: f"{label} sends the code by email to the registrant of {domain}.",
        AuthCodeDelivery.DASHBOARD: f"Sign in at {place} and request the code of {domain} there.",
        AuthCodeDelivery.UNSUPPORTED: f"The API of {label} does not offer codes. Request the code at {place}.",
    }
    steps = [by_delivery[delivery]]
    blocks = {each.code for each in request.situation.decide(now=request.requested_at).blocked_by}
    if options.unlock or RuleName.REGISTRAR_LOCK in blocks:
        steps.append(f"Unlock {domain} at {place}; this service cannot unlock it.")
    if options.regenerate:
        steps.append(f"To invalidate a previous code, renew the code at {place}; this service cannot renew it.")
    return steps
