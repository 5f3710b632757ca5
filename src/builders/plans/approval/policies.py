"""The approval policy of an account: how it is read, and how people change it.

A change that stops all that the policy in force stops takes effect at once. Any other is a proposal until as many
deciders have confirmed it as the policy in force requires approvals.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts, people
from builders.identity.oauth import connections
from builders.identity.records import AuditAction
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.http.callers import ApprovalRequired, SendingRefused
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail.templates import ApprovalPolicyChanged, PolicyStep
from builders.plans import store as plans_store
from builders.plans.approval import notices, store
from builders.plans.approval.policy import (
    DEFAULT,
    ApprovalPolicy,
    Approvers,
    Conditions,
    Permit,
    Requirement,
    describe,
    is_met,
    tightens,
)
from builders.plans.approval.records import Proposal
from builders.plans.errors import DecidersNotChosen, DecidersTooFew, OwnProposal, ProposalNotFound
from builders.portfolio.team import deciders
from builders.portfolio.team.records import Access, Decider
from builders.projects import service as projects

PROPOSAL_LIFE = timedelta(hours=24)
START_WAITING = "plans.start_waiting"  # the task


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """The approval policy of an account, and the proposal to change it."""

    policy: ApprovalPolicy
    proposal: Proposal | None


async def get_policy_in_force(conn: Conn, *, account_id: UUID) -> PolicyInForce:
    """Return the policy in force with its proposal."""
    return PolicyInForce(
        policy=await store.get_policy(conn, account_id=account_id),
        proposal=await store.find_proposal(conn, account_id=account_id, now=clock.now()),
    )


async def count_missing(conn: Conn, *, account_id: UUID, confirmed_by: Collection[UUID]) -> int:
    """Return how many deciders still have to confirm what needs as many of them as a plan."""
    policy = await store.get_policy(conn, account_id=account_id)
    if policy.require is Requirement.NEVER:
        policy = DEFAULT
    counted = {each.account_id for each in await deciders.list_deciders(conn, account_id=account_id)}
    if policy.own_plans is Permit.REFUSE:
        counted.discard(account_id)
    return max(0, policy.approvals - len(counted.intersection(confirmed_by)))


async def require_plan(database: Database, *, account_id: UUID) -> None:
    """Raise ApprovalRequired if the policy of an account refuses that a program changes resources directly."""
    async with database.connection() as conn:
        policy = await store.get_policy(conn, account_id=account_id)
    if policy.direct_writes is Permit.REFUSE:
        raise ApprovalRequired(
            "The approval policy of the account lets programs change this by plans only.",
            next_action="Plan it: describe the resource in a manifest, and send it to POST /v1/sandbox/plan.",
        )


async def require_sending(database: Database, *, account_id: UUID) -> None:
    """Raise SendingRefused if the policy of an account refuses that a program sends mail."""
    async with database.connection() as conn:
        policy = await store.get_policy(conn, account_id=account_id)
    if policy.direct_sends is Permit.REFUSE:
        raise SendingRefused


async def check_deciders(conn: Conn, *, account_id: UUID) -> None:
    """Raise DecidersTooFew unless the deciders of an account can satisfy its policy."""
    policy = await store.get_policy(conn, account_id=account_id)
    if policy.require is Requirement.NEVER:
        return
    found = await deciders.list_deciders(conn, account_id=account_id)
    if not is_met(policy, _count(account_id, {each.account_id for each in found})):
        raise DecidersTooFew(f"The approval policy needs more deciders than the {len(found)} that would be left.")


deciders.removal_checks.append(check_deciders)


async def start_waiting(conn: Conn, *, account_id: UUID, after: UUID = ids.NIL) -> None:
    """Enqueue a job that starts the account's promotions, after one, that wait for an approval and now have it."""
    once = f"{START_WAITING} {account_id} {after}"
    await queue.defer(conn, START_WAITING, once=once, account_id=str(account_id), after=str(after))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """A policy that a person wants, and the members of the team who shall decide."""

    require: Requirement
    when: Conditions
    approvals: int
    own_plans: Permit | None  # None: by the number of deciders
    direct_writes: Permit
    direct_sends: Permit
    deciders: Collection[UUID] | None  # None: all who have the permission
    connections: Collection[UUID] = ()  # of clients, which the first policy keeps

    def policy(self, people: Sequence[Decider]) -> ApprovalPolicy:
        """Return the policy for these deciders."""
        return ApprovalPolicy(
            require=self.require,
            when=self.when,
            approvals=self.approvals,
            own_plans=self.own_plans or (Permit.ALLOW if len(people) == 1 else Permit.REFUSE),
            direct_writes=self.direct_writes,
            direct_sends=self.direct_sends,
        )


async def change_policy(
    conn: Conn, *, keyring: Keyring, settings: Settings, access: Access, request: PolicyRequest
) -> PolicyInForce:
    """Put a policy in force, or propose it if it stops less than the one in force; return both.

    The first policy other than `never` ends the other sessions of the account, and keeps the permission of the
    chosen members and the chosen connections only. Mailed and audited. Raise RoleForbidden, PersonRequired,
    DecidersNotChosen, and Invalid (`policy_unsatisfiable`) unless the deciders can satisfy the policy.
    """
    await _lock(conn, access)
    deciders.require_account(access, "Only the account itself changes its policy.")
    own, current = access.owner_id, await store.get_policy(conn, account_id=access.owner_id)
    await _check_projects(conn, own, request.when)
    found, kept = await deciders.list_deciders(conn, account_id=own), None
    if current.require is Requirement.NEVER and request.require is not Requirement.NEVER:
        found = _choose(own, found, request.deciders)
        kept = [each.account_id for each in found]
    elif request.deciders is not None:
        message = "Only the first policy chooses them; PATCH /v1/portfolio/team/members/{member_account_id} later."
        raise Invalid(("body", "deciders"), message, "deciders_chosen")
    policy = request.policy(found)
    if not is_met(policy, _count(own, {each.account_id for each in found})):
        message = f"The account has {len(found)} deciders, who cannot satisfy this policy."
        raise Invalid(("body", "approvals"), message, "policy_unsatisfiable")
    now = clock.now()
    proposal = Proposal(
        id=ids.new(),
        policy=policy,
        proposed_by=access.member_id,
        confirmed_by=[] if current.own_plans is Permit.REFUSE else [access.member_id],
        deciders=kept,
        created_at=now,
        expires_at=now + PROPOSAL_LIFE,
    )
    step, keeps = PolicyStep.PROPOSED, request.connections
    return await _settle(conn, keyring, settings, access, step, proposal, current, found, keeps)


async def confirm(
    conn: Conn, *, keyring: Keyring, settings: Settings, access: Access, proposal_id: UUID
) -> PolicyInForce:
    """Confirm a proposal as a decider; the policy takes effect with the last confirmation. Mailed and audited.

    Raise PersonRequired, ProposalNotFound, OwnProposal.
    """
    await _lock(conn, access)
    own, proposal = access.owner_id, await _get_proposal(conn, access.owner_id, proposal_id)
    current = await store.get_policy(conn, account_id=own)
    if current.own_plans is Permit.REFUSE and proposal.proposed_by == access.member_id:
        raise OwnProposal("The policy requires that another person confirms the proposal.")
    confirmed_by = list(dict.fromkeys((*proposal.confirmed_by, access.member_id)))
    proposal = replace(proposal, confirmed_by=confirmed_by)
    found = await deciders.list_deciders(conn, account_id=own)
    if proposal.deciders is not None:
        found = [each for each in found if each.account_id in proposal.deciders]
    return await _settle(conn, keyring, settings, access, PolicyStep.CONFIRMED, proposal, current, found)


async def _settle(
    conn: Conn,
    keyring: Keyring,
    settings: Settings,
    access: Access,
    step: PolicyStep,
    proposal: Proposal,
    current: ApprovalPolicy,
    found: Sequence[Decider],
    keeps: Collection[UUID] = (),
) -> PolicyInForce:
    """Put the proposed policy in force if it tightens the current one or is confirmed, else keep the proposal.

    `found` are the deciders; of a first policy, those whom it keeps, with the connections that it `keeps`. It ends
    what a key can have prepared.
    """
    own, policy = access.owner_id, proposal.policy
    decider_ids = {each.account_id for each in found}
    is_confirmed = len(decider_ids.intersection(proposal.confirmed_by)) >= current.approvals
    if not (is_confirmed or tightens(policy, current=current)):
        await store.set_proposal(conn, account_id=own, proposal=proposal)
        await _announce(conn, keyring, settings, access, step, policy)
        return PolicyInForce(policy=current, proposal=proposal)
    is_needed = policy.require is not Requirement.NEVER
    if is_needed and current.require is Requirement.NEVER:
        await deciders.begin_approval(conn, account_id=own, kept=decider_ids - {own}, actor=access.actor)
        await connections.revoke_others(conn, account_id=own, kept=keeps, actor=access.actor)
    await store.delete_proposal(conn, account_id=own)
    await store.set_policy(conn, account_id=own, policy=policy, now=clock.now())
    await people.set_needed(conn, account_id=own, needed=is_needed)
    if policy != current:
        await _announce(conn, keyring, settings, access, PolicyStep.CHANGED, policy)
    await start_waiting(conn, account_id=own)
    return PolicyInForce(policy=policy, proposal=None)


async def discard(
    conn: Conn, *, keyring: Keyring, settings: Settings, access: Access, proposal_id: UUID
) -> PolicyInForce:
    """Discard a proposal as a decider. Mailed and audited. Raise PersonRequired, ProposalNotFound."""
    await _lock(conn, access)
    proposal = await _get_proposal(conn, access.owner_id, proposal_id)
    await store.delete_proposal(conn, account_id=access.owner_id)
    await _announce(conn, keyring, settings, access, PolicyStep.DISCARDED, proposal.policy)
    return await get_policy_in_force(conn, account_id=access.owner_id)


async def _lock(conn: Conn, access: Access) -> None:
    """Lock the approvals and the deciders of the account. Raise PersonRequired unless the person decides now."""
    await plans_store.lock_approvals(conn, account_id=access.owner_id)
    await people.lock(conn, account_id=access.owner_id)
    await deciders.get_decider(conn, access=access)


async def _get_proposal(conn: Conn, account_id: UUID, proposal_id: UUID) -> Proposal:
    proposal = await store.find_proposal(conn, account_id=account_id, now=clock.now())
    if proposal is None or proposal.id != proposal_id:
        raise ProposalNotFound
    return proposal


def _count(account_id: UUID, person_ids: Collection[UUID]) -> Approvers:
    return Approvers(own=account_id in person_ids, others=len({*person_ids} - {account_id}))


async def _check_projects(conn: Conn, account_id: UUID, when: Conditions) -> None:
    """Raise Invalid for a project that the account does not have: a misspelled one would stop nothing."""
    existing = {
        each.id for each in await projects.lock_projects(conn, account_id=account_id, project_ids=when.projects)
    }
    for at, project_id in enumerate(when.projects):
        if project_id not in existing:
            raise Invalid(("body", "when", "projects", at), "There is no such project.", "project_not_found")


def _choose(account_id: UUID, found: Sequence[Decider], chosen: Collection[UUID] | None) -> Sequence[Decider]:
    """Return the chosen deciders, and the account itself. Raise DecidersNotChosen if members have no say yet."""
    members = [each for each in found if each.account_id != account_id]
    if chosen is None and members:
        listed = [{"account_id": str(each.account_id), "email": each.email, "name": each.name} for each in members]
        raise DecidersNotChosen("These members of the team could decide about plans.", members=listed)
    return [each for each in found if each.account_id == account_id or each.account_id in (chosen or ())]


_AUDITED = {
    PolicyStep.PROPOSED: AuditAction.APPROVAL_POLICY_PROPOSED,
    PolicyStep.CONFIRMED: AuditAction.APPROVAL_POLICY_CONFIRMED,
    PolicyStep.DISCARDED: AuditAction.APPROVAL_POLICY_DISCARDED,
    PolicyStep.CHANGED: AuditAction.APPROVAL_POLICY_CHANGED,
}


async def _announce(
    conn: Conn, keyring: Keyring, settings: Settings, access: Access, step: PolicyStep, policy: ApprovalPolicy
) -> None:
    """Audit a step of a change, and email the deciders and the account's address."""
    text, loaded = describe(policy), {access.owner_id, access.member_id}
    found = await accounts.list_accounts_by_id(conn, account_ids=loaded)
    own, person = found[access.owner_id], found[access.member_id]
    about = {"person": str(person.id), "policy": " ".join(text)}
    await accounts.record_audit(conn, account_id=own.id, actor=access.actor, action=_AUDITED[step], about=about)
    message = ApprovalPolicyChanged(
        step=step,
        account=own.name,
        person=person.email,
        policy=text,
        link=f"{settings.url}/console/of/{own.id}/approval",
    )
    await notices.send(conn, keyring=keyring, account_id=own.id, template=message, also=[own.email])
