# Written by script/clients.
"""Operations: sandbox."""

from typing import Literal, Unpack, cast

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.sandbox import (
    SandboxApprovalPolicy,
    SandboxDecision,
    SandboxManifest,
    SandboxPersonPromotion,
    SandboxPromoteRequest,
    SandboxSimulateRequest,
)
from builders_client.generated.models.sandbox import (
    ApprovalPolicyReply,
    ApprovalReply,
    ApprovalRequestReplyListing,
    ChecksSimulatedReply,
    EventSimulatedReply,
    ManifestSchemaReply,
    ManifestSimulatedReply,
    PlanItemReply,
    PlanItemReplyPage,
    PlanReply,
    PromotionReply,
    ResetReply,
    StatusReply,
)


class AsyncSandbox:
    """Manifest, plan, promotion: describe the desired state, review the changes, execute them."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def change_policy(
        self,
        **body: Unpack[SandboxApprovalPolicy],
    ) -> ApprovalPolicyReply:
        """Change the approval policy, as the person who holds the account.

        A policy that stops all that the present one stops takes effect at once. Any other is a `proposal`,
        until as many people have confirmed it as the present policy requires to approve a plan; with
        `own_plans` `allow` you are one of them. The first policy other than `never` ends the other sessions of
        the account, and its connections except those that you keep.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `deciders_not_chosen`.
        """
        return await self._client.send("sandbox_change_policy", ApprovalPolicyReply, body=body)

    async def confirm_policy(
        self,
        proposal_id: str,
    ) -> ApprovalPolicyReply:
        """Confirm a proposed policy, as a person who decides about plans; the last confirmation puts it in force.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `policy_proposal_not_found`.

        Args:
            proposal_id: Identifier of the proposal.
        """
        return await self._client.send(
            "sandbox_confirm_policy", ApprovalPolicyReply, path={"proposal_id": proposal_id}
        )

    async def decide(
        self,
        plan_id: str,
        **body: Unpack[SandboxDecision],
    ) -> ApprovalReply:
        """Approve or reject a plan, as a person who has signed in with a browser within ten minutes.

        The decision is bound to the digest, and replaces an earlier one of the same person. It ends after 24
        hours, or with the promotion that starts under it.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `plan_not_found`, `plan_blocked`, `plan_promoted`,
        `plan_digest_mismatch`, `plan_expired`.

        Args:
            plan_id: Identifier of the plan.
        """
        return await self._client.send("sandbox_decide", ApprovalReply, path={"plan_id": plan_id}, body=body)

    async def discard_policy(
        self,
        proposal_id: str,
    ) -> ApprovalPolicyReply:
        """Discard a proposed policy, as a person who decides about plans.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `policy_proposal_not_found`.

        Args:
            proposal_id: Identifier of the proposal.
        """
        return await self._client.send(
            "sandbox_discard_policy", ApprovalPolicyReply, path={"proposal_id": proposal_id}
        )

    async def get_manifest_schema(
        self,
    ) -> ManifestSchemaReply:
        """Get the JSON Schema of a manifest, for editors and for validation before a request.

        Requires no credentials.
        """
        return await self._client.send("sandbox_get_manifest_schema", ManifestSchemaReply)

    async def get_plan(
        self,
        plan_id: str,
    ) -> PlanReply:
        """Read a plan: JSON, or a text in the form of a diff with `Accept: text/plain`.

        A member of the team with the permission `approve_plans` reads it in a browser, with `X-Portfolio-
        Account`.

        Requires the scope `sandbox:read`.

        Errors: `portfolio_not_found`, `plan_not_found`.

        Args:
            plan_id: Identifier of the plan.
        """
        return await self._client.send("sandbox_get_plan", PlanReply, path={"plan_id": plan_id})

    async def get_policy(
        self,
    ) -> ApprovalPolicyReply:
        """Read which plans a person must approve, and the proposal to change that.

        Requires the scope `sandbox:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("sandbox_get_policy", ApprovalPolicyReply)

    async def get_promotion(
        self,
        promotion_id: str,
    ) -> PromotionReply:
        """Read a promotion with its steps.

        Requires the scope `sandbox:read`.

        Errors: `promotion_not_found`.

        Args:
            promotion_id: Identifier of the promotion.
        """
        return await self._client.send(
            "sandbox_get_promotion", PromotionReply, path={"promotion_id": promotion_id}
        )

    async def get_status(
        self,
    ) -> StatusReply:
        """Sandbox status: allowed operations and their obstacles, open plans, running promotions, and limits.

        Requires the scope `sandbox:read`.
        """
        return await self._client.send("sandbox_get_status", StatusReply)

    def list_plans(
        self,
        *,
        status: Literal["ready", "empty", "blocked", "promoting", "promoted", "partial", "expired"] | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[PlanItemReplyPage, PlanItemReply]:
        """List the account's plans of the last 30 days, newest first, without their actions.

        Only the newest 1,000 plans are kept, and those that were promoted. A member of the team with the
        permission `approve_plans` lists them in a browser, with `X-Portfolio-Account`.

        Requires the scope `sandbox:read`.

        Errors: `portfolio_not_found`.

        Args:
            status: Only plans with this status.
            q: Only plans whose manifest has this text in its name.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "sandbox_list_plans",
            PlanItemReplyPage,
            "items",
            query={"status": status, "q": q, "limit": limit, "cursor": cursor},
        )

    async def list_requests(
        self,
    ) -> ApprovalRequestReplyListing:
        """List the plans that ask for a decision: the newest of each manifest, at most 100.

        Requires the scope `sandbox:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("sandbox_list_requests", ApprovalRequestReplyListing)

    async def make_plan(
        self,
        **body: Unpack[SandboxManifest],
    ) -> PlanReply:
        """Build a reviewable plan from an apply manifest; preferably called with a test key.

        The plan has no effect until its promotion. The response is JSON; with `Accept: text/plain` a text in
        the form of a diff.

        Requires the scope `sandbox:write`.

        Errors: `project_archived`, `manifest_too_large`.
        """
        return await self._client.send("sandbox_make_plan", PlanReply, body=body)

    async def promote(
        self,
        **body: Unpack[SandboxPromoteRequest],
    ) -> PromotionReply:
        """Execute a reviewed plan with a live key. The call has real effects and is idempotent.

        Requires the scope `sandbox:promote`, and a live API key.

        Errors: `plan_not_found`, `plan_blocked`, `plan_stale`, `plan_digest_mismatch`,
        `confirm_deletes_mismatch`, `total_exceeded`, `promotion_running`, `project_archived`, `plan_expired`.
        """
        return await self._client.send("sandbox_promote", PromotionReply, body=body)

    async def promote_as_person(
        self,
        plan_id: str,
        **body: Unpack[SandboxPersonPromotion],
    ) -> PromotionReply:
        """Promote a plan of your own account, as a person who has signed in with a browser within ten minutes.

        The service mints a live key for this plan, shows it to nobody, and revokes it afterwards. The plan
        needs its approval here too.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `plan_not_found`, `plan_blocked`, `plan_stale`, `plan_digest_mismatch`,
        `confirm_deletes_mismatch`, `total_exceeded`, `promotion_running`, `project_archived`, `api_key_limit`,
        `plan_expired`.

        Args:
            plan_id: Identifier of the plan.
        """
        return await self._client.send(
            "sandbox_promote_as_person", PromotionReply, path={"plan_id": plan_id}, body=body
        )

    async def request_approval(
        self,
        plan_id: str,
    ) -> ApprovalReply:
        """Ask the people who decide about plans for a decision; they are emailed once about a digest in a day.

        It has no effect if the plan needs no decision, so it can be repeated.

        Requires the scope `sandbox:write`.

        Errors: `plan_not_found`.

        Args:
            plan_id: Identifier of the plan.
        """
        return await self._client.send("sandbox_request_approval", ApprovalReply, path={"plan_id": plan_id})

    async def simulate(
        self,
        body: SandboxSimulateRequest,
    ) -> EventSimulatedReply | ManifestSimulatedReply | ChecksSimulatedReply | ResetReply:
        """Simulate an event, a promotion or checks in the sandbox account, or reset it; live data does not change.

        Requires the scope `sandbox:write`.

        Errors: `project_archived`, `manifest_too_large`.
        """
        return await self._client.send(
            "sandbox_simulate",
            cast(
                "type[EventSimulatedReply | ManifestSimulatedReply | ChecksSimulatedReply | ResetReply]",
                EventSimulatedReply | ManifestSimulatedReply | ChecksSimulatedReply | ResetReply,
            ),
            body=body,
        )

    async def withdraw(
        self,
        plan_id: str,
    ) -> ApprovalReply:
        """Withdraw your own decision about a plan that is not promoted.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `plan_not_found`, `decision_not_found`, `plan_blocked`, `plan_promoted`,
        `plan_expired`.

        Args:
            plan_id: Identifier of the plan.
        """
        return await self._client.send("sandbox_withdraw", ApprovalReply, path={"plan_id": plan_id})
