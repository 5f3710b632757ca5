"""Refusals of plans and promotions."""

from builders.kit.errors import Problem


class PlanNotFound(Problem):
    """The account has no such plan."""

    status, code = 404, "plan_not_found"
    default_detail = "There is no such plan."
    remedy = "List the plans: GET /v1/sandbox/plans; or make one: POST /v1/sandbox/plan."
    collection = "/v1/sandbox/plans"


class PromotionNotFound(Problem):
    """The account has no such promotion."""

    status, code = 404, "promotion_not_found"
    default_detail = "There is no such promotion."
    remedy = "Use the id from the response of POST /v1/sandbox/promote, or from a plan: GET /v1/sandbox/plans."
    collection = "/v1/sandbox/promotions"


class PlanBlocked(Problem):
    """The plan has errors."""

    status, code = 409, "plan_blocked"
    remedy = "Correct the manifest and plan again: POST /v1/sandbox/plan."


class PlanStale(Problem):
    """The live state has changed since the plan was made."""

    status, code = 409, "plan_stale"
    remedy = "Plan again with POST /v1/sandbox/plan, and review the changes."


class PlanDigestMismatch(Problem):
    """The digest does not match the plan."""

    status, code = 409, "plan_digest_mismatch"
    remedy = "Review the plan with GET /v1/sandbox/plans/{plan_id}, and send its digest."


class PlanExpired(Problem):
    """The plan has expired."""

    status, code = 410, "plan_expired"
    remedy = "Plan the same manifest again: POST /v1/sandbox/plan."


class ConfirmDeletesMismatch(Problem):
    """The number of deletions was not confirmed."""

    status, code = 409, "confirm_deletes_mismatch"
    remedy = "Send `confirm_deletes` with the number of resources that the plan removes."


class TotalExceeded(Problem):
    """The plan costs more than allowed."""

    status, code = 409, "total_exceeded"
    remedy = "Send a `max_total` of at least `due`, or remove resources from the manifest and plan again."


class PromotionRunning(Problem):
    """Another promotion of the account is running."""

    status, code = 409, "promotion_running"
    remedy = "Wait for its end, then repeat: GET /v1/sandbox/promotions/{promotion_id}."


class PromotionLimit(Problem):
    """The account has made the maximum number of promotions of a day."""

    status, code = 429, "promotion_limit"
    remedy = "Plan more changes at once, and promote the plan tomorrow."


class ManifestTooLarge(Problem):
    """The manifest is too large."""

    status, code = 413, "manifest_too_large"
    remedy = "Split it into several manifests."


class OwnPlan(Problem):
    """The policy does not let the account approve its own plans."""

    status, code = 403, "own_plan"
    remedy = "Ask another decider: GET /v1/account/deciders lists them."


class PlanPromoted(Problem):
    """The plan has been promoted."""

    status, code = 409, "plan_promoted"
    remedy = "Read its promotion, or plan again: POST /v1/sandbox/plan."


class DecisionNotFound(Problem):
    """No decision of this person about the plan stands."""

    status, code = 404, "decision_not_found"
    remedy = "Read the decisions: GET /v1/sandbox/plans/{plan_id}."


class ProposalNotFound(Problem):
    """The account has no such proposal of a policy."""

    status, code = 404, "policy_proposal_not_found"
    default_detail = "There is no such proposal. It is confirmed, discarded, replaced or expired."
    remedy = "Read the policy and its proposal: GET /v1/sandbox/approval-policy."


class OwnProposal(Problem):
    """The policy does not let a person confirm their own proposal."""

    status, code = 403, "own_proposal"
    remedy = "Ask another decider to confirm it."


class DecidersNotChosen(Problem):
    """Members of the team would become deciders."""

    status, code = 409, "deciders_not_chosen"
    remedy = (
        "Send `deciders` with the `account_id` of each member who shall decide; the others lose the permission."
    )


class DecidersTooFew(Problem):
    """The approval policy needs this decider."""

    status, code = 409, "deciders_too_few"
    remedy = "Appoint another decider first, or change the policy: PUT /v1/sandbox/approval-policy."
