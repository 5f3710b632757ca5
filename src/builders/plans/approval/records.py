"""Records of approvals: decisions about plans, the state of an approval, and proposals of a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from builders.plans.approval.policy import ApprovalPolicy, Rule
from builders.plans.records import ApprovalState


class Verdict(StrEnum):
    """What a person decides about a plan."""

    APPROVE = "approve"
    REJECT = "reject"


class SimulatedDecision(StrEnum):
    """A decision in a rehearsal; it never counts for a promotion."""

    NONE = "none"
    APPROVE = "approve"
    REJECT = "reject"
    EXPIRE = "expire"  # an approval that has expired


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDecision:
    """A decision to record."""

    verdict: Verdict
    digest: str
    comment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision of a person about the plans with a digest."""

    id: UUID
    plan_id: UUID  # that the person has seen
    digest: str
    verdict: Verdict
    comment: str | None
    decided_by: UUID  # the person's account
    decided_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None  # withdrawn, replaced or used
    used_by: UUID | None = None  # the plan whose promotion started under it


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """The approval of a plan, by the policy and the deciders of this moment."""

    state: ApprovalState
    approvals: int  # that the policy requires
    rules: Mapping[Rule, str] = field(default_factory=dict)  # why it is required
    decisions: Sequence[Decision] = ()  # newest first
    emails: Mapping[UUID, str] = field(default_factory=dict)  # of the people, by account


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A policy that stops less than the one in force, until enough deciders confirm it."""

    id: UUID
    policy: ApprovalPolicy
    proposed_by: UUID  # the account of a person, as in `confirmed_by`
    confirmed_by: Sequence[UUID]
    deciders: Sequence[UUID] | None  # whom the first policy keeps; None: all who have the permission
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A request to the deciders, as the inbox shows it."""

    plan_id: UUID
    digest: str
    manifest: str
    requested_at: datetime
