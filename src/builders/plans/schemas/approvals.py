"""The approval policy and decisions in request bodies, and the replies about approvals."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool, model_validator
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import Reply, StrictBody
from builders.kit.values import texts
from builders.kit.values.docs import CreatedAt, doc
from builders.kit.values.money import CURRENCIES, Money, check_limits
from builders.kit.values.resources import extended
from builders.mail import addresses
from builders.plans.approval.policies import PolicyInForce, PolicyRequest
from builders.plans.approval.policy import (
    MAX_APPROVALS,
    ApprovalPolicy,
    Conditions,
    Permit,
    Requirement,
    Rule,
    describe,
)
from builders.plans.approval.records import Approval, Decision, NewDecision, PersonDecision, Verdict
from builders.plans.approval.requests import review_url
from builders.plans.records import ApprovalState, Kind, Plan, PlanDigest

MAX_PROJECTS = 100
MAX_COMMENT = 1000


class ApprovalConditions(StrictBody):
    """The conditions under which a plan requires an approval; one of them is enough."""

    amount_over: Annotated[
        list[Money] | None,
        Field(
            max_length=len(CURRENCIES),
            description="The plan costs more at once than this, with what was promoted without an approval in the "
            "last 24 hours; one entry for each currency. A price in another currency requires an approval.",
        ),
        AfterValidator(lambda limits: limits and check_limits(limits)),
    ] = None
    deletes: Annotated[StrictBool, doc("The plan deletes or replaces resources.")] = False
    kinds: Annotated[list[Kind], doc("The plan changes resources of one of these kinds.")] = Field(
        default_factory=list, max_length=len(Kind)
    )
    projects: Annotated[list[UUID], doc("The plan changes one of these projects, or names of it.")] = Field(
        default_factory=list, max_length=MAX_PROJECTS
    )
    outward: Annotated[
        StrictBool,
        doc(
            "The plan sends mail or events somewhere new: to a destination that the account never confirmed, by a "
            "new catch-all, or to a host of none of its enabled webhooks."
        ),
    ] = False

    def conditions(self) -> Conditions:
        """Return the conditions as a record."""
        return Conditions(
            amount_over=None if self.amount_over is None else tuple(self.amount_over),
            deletes=self.deletes,
            kinds=tuple(dict.fromkeys(self.kinds)),
            projects=tuple(dict.fromkeys(self.projects)),
            outward=self.outward,
        )


class SandboxApprovalPolicy(StrictBody):
    """The approval policy: which plans a person must approve before their promotion."""

    require: Annotated[Requirement, doc("The plans that require an approval; `when`: those of the conditions.")]
    when: Annotated[ApprovalConditions | None, doc("The conditions of `require` `when`; otherwise absent.")] = None
    approvals: Annotated[int, Field(ge=1, le=MAX_APPROVALS, description="Number of people who must approve.")] = 1
    own_plans: Annotated[
        Permit | None,
        doc(
            "Whether the account itself counts as one of them. A plan that any key or session of it made is "
            "its own. Absent: `allow` with one decider, else `refuse`."
        ),
    ] = None
    direct_writes: Annotated[
        Permit,
        doc(
            "`refuse`: keys and tokens change names, domains, webhooks and projects by plans only; a direct "
            "change is 403 `approval_required`."
        ),
    ] = Permit.ALLOW
    direct_sends: Annotated[
        Permit,
        doc("`refuse`: keys and connections send no mail from names; an answer is 403 `sending_refused`."),
    ] = Permit.ALLOW
    deciders: Annotated[
        list[UUID] | None,
        Field(
            max_length=200,
            description="Members of the team who keep the permission `approve_plans`; the others lose it. "
            "Required with the first policy other than `never` if there are such members.",
        ),
    ] = None

    connections: Annotated[
        list[UUID],
        Field(
            max_length=200,
            description="Connections that the first policy other than `never` keeps; it ends the others.",
        ),
    ] = Field(default_factory=list)

    @model_validator(mode="after")
    def _validate_conditions(self) -> Self:
        is_conditional = self.require is Requirement.WHEN
        if is_conditional != (self.when is not None):
            raise PydanticCustomError(
                "approval_conditions", "`when` is required with `require` `when`, and only then."
            )
        if self.when is not None and self.when.conditions() == Conditions():
            raise PydanticCustomError("approval_conditions", "`when` needs at least one condition.")
        return self

    def request(self) -> PolicyRequest:
        """Return the request as a record."""
        return PolicyRequest(
            require=self.require,
            when=Conditions() if self.when is None else self.when.conditions(),
            approvals=self.approvals,
            own_plans=self.own_plans,
            direct_writes=self.direct_writes,
            direct_sends=self.direct_sends,
            deciders=None if self.deciders is None else frozenset(self.deciders),
            connections=frozenset(self.connections),
        )


class SandboxDecision(StrictBody):
    """The decision of a person about a plan."""

    decision: Annotated[Verdict, doc("`approve`, or `reject`: one rejection blocks the plan.")]
    digest: Annotated[PlanDigest, doc("The digest of the reviewed plan.")]
    comment: Annotated[
        str | None,
        Field(max_length=MAX_COMMENT, description="Your reason, for the other people."),
        AfterValidator(lambda text: None if text is None else texts.cleaned(text) or None),
    ] = None

    def new(self) -> NewDecision:
        """Return the decision as a record."""
        return NewDecision(verdict=self.decision, digest=self.digest, comment=self.comment)


class RuleReply(Reply):
    """A rule of the policy that requires the approval."""

    rule: Annotated[Rule, doc("Name of the rule.")]
    message: Annotated[str, doc("The reason, as text.")]


class ApprovalReply(Reply):
    """The approval of a plan, by the policy of this moment."""

    state: Annotated[
        ApprovalState,
        doc("Only a plan whose approval is `not_required` or `approved` is promoted. `expired`: ask again."),
    ]
    approvals: Annotated[int, doc("Number of people who must approve.")]
    rules: Annotated[list[RuleReply], doc("The rules that require the approval; empty if it is not required.")]
    decisions: Annotated[list[PersonDecision], doc("Decisions about plans with this digest, newest first.")]
    review_url: Annotated[str, doc("Page on which a person decides after signing in; it holds no credential.")]


def approval_reply(plan: Plan, approval: Approval, *, base_url: str) -> ApprovalReply:
    """Return the reply about the approval of a plan."""
    return ApprovalReply(
        state=approval.state,
        approvals=approval.approvals,
        rules=_rules(approval.rules),
        decisions=[_decision(each, approval.emails) for each in approval.decisions],
        review_url=review_url(base_url, plan),
    )


def _rules(rules: Mapping[Rule, str]) -> list[RuleReply]:
    return [RuleReply(rule=rule, message=message) for rule, message in rules.items()]


def _decision(decision: Decision, emails: Mapping[UUID, str]) -> PersonDecision:
    return extended(PersonDecision, decision, email=addresses.mask(emails.get(decision.decided_by, "")))


class ConditionsReply(Reply):
    """The conditions under which a plan requires an approval."""

    amount_over: Annotated[list[Money] | None, doc("Limit of the price in each currency; null without this rule.")]
    deletes: Annotated[bool, doc("Whether deletions require an approval.")]
    kinds: Annotated[list[Kind], doc("Kinds of resources whose changes require an approval.")]
    projects: Annotated[list[UUID], doc("Projects whose changes require an approval.")]
    outward: Annotated[bool, doc("Whether mail or events to somewhere new require an approval.")]


class _PolicyReply(Reply):
    """Members of a policy."""

    require: Annotated[Requirement, doc("The plans that need an approval: none, all, or those of `when`.")]
    when: Annotated[ConditionsReply | None, doc("The conditions of `require` `when`; null otherwise.")]
    approvals: Annotated[int, doc("Number of people who must approve.")]
    own_plans: Annotated[Permit, doc("Whether the account itself counts as one of them.")]
    direct_writes: Annotated[Permit, doc("Whether keys and tokens change resources without a plan.")]
    direct_sends: Annotated[Permit, doc("Whether keys and connections send mail from names.")]
    description: Annotated[list[str], doc("The policy as sentences.")]


class ProposalReply(_PolicyReply):
    """A policy that stops less than the one in force, until enough deciders confirm it."""

    id: Annotated[UUID, doc("Identifier of the proposal.")]
    proposed_by: Annotated[UUID, doc("Account of the person who proposed it.")]
    confirmed_by: Annotated[list[UUID], doc("Accounts of the people who have confirmed it.")]
    created_at: CreatedAt
    expires_at: Annotated[datetime, doc("Until when it can be confirmed.")]


class ApprovalPolicyReply(_PolicyReply):
    """The approval policy in force."""

    proposal: Annotated[ProposalReply | None, doc("The proposed policy that is not confirmed; null without one.")]


def policy_reply(found: PolicyInForce) -> ApprovalPolicyReply:
    """Return the reply about the policy in force."""
    proposal = found.proposal
    return ApprovalPolicyReply(
        **_members(found.policy),
        proposal=None if proposal is None else ProposalReply.from_record(proposal, **_members(proposal.policy)),
    )


def _members(policy: ApprovalPolicy) -> dict[str, object]:
    is_conditional = policy.require is Requirement.WHEN
    return {
        "require": policy.require,
        "when": ConditionsReply.from_record(policy.when) if is_conditional else None,
        "approvals": policy.approvals,
        "own_plans": policy.own_plans,
        "direct_writes": policy.direct_writes,
        "direct_sends": policy.direct_sends,
        "description": list(describe(policy)),
    }
