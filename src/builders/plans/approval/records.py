"""Records of approvals: decisions about plans, the state of an approval, and proposals of a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, resource
from builders.plans.approval.policy import ApprovalPolicy, Rule
from builders.plans.records import ApprovalState, PlanDigest


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
    """The decision of a person about plans with the digest."""

    id: Annotated[UUID, doc("Identifier of the decision.")]
    plan_id: Annotated[UUID, HIDDEN]  # that the person has seen
    digest: Annotated[str, HIDDEN]
    verdict: Annotated[Verdict, Field(serialization_alias="decision", description="`approve` or `reject`.")]
    comment: Annotated[str | None, doc("The person's reason; null without one.")]
    decided_by: Annotated[UUID, Field(serialization_alias="account_id", description="Account of the person.")]
    decided_at: Annotated[datetime, doc("When it was taken.")]
    expires_at: Annotated[datetime, doc("Until when it counts.")]
    ended_at: Annotated[datetime | None, doc("When it was withdrawn, replaced or used; null before.")] = None
    used_by: Annotated[UUID | None, doc("The plan whose promotion started under it; null otherwise.")] = None


@resource("DecisionReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDecision(Decision):
    """The decision of a person about plans with the digest."""

    email: Annotated[str, doc("Masked address of the person.")]


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


@resource("ApprovalRequestReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A plan that asks the deciders for a decision."""

    plan_id: Annotated[UUID, doc("The newest plan with the digest.")]
    digest: Annotated[PlanDigest, doc("The digest that decisions are bound to.")]
    manifest: Annotated[str, doc("`metadata.name` of the manifest.")]
    requested_at: Annotated[datetime, doc("When a decision was last asked for.")]
