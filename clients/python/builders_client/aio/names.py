"""Claims of names: plan, check of the price, approval by a person, promotion."""

import math
import time
from collections.abc import Sequence

from builders_client import claims
from builders_client.claims import ApprovalPending, ApprovalRefused, Claim, ClaimFailed
from builders_client.errors import ApprovalRequired, PlanStale, PromotionRunning
from builders_client.generated.aio.resources import AsyncResources
from builders_client.generated.models.sandbox import PlanReply
from builders_client.values import MoneyLike

PLANS = 3  # plans of one claim, if others change what it relies on
FIRST_POLL_S, LONGEST_POLL_S = 0.25, 5.0


class AsyncNames:
    """The names of the account."""

    def __init__(self, client: AsyncResources) -> None:
        # Each request needs an Idempotency-Key of its own.
        self._client = client.with_options(idempotency_key=None)

    async def claim(
        self,
        address: str,
        *,
        to: str | Sequence[str],
        max_total: MoneyLike | str | None = None,
        wait_for_approval: float = 0.0,
        manifest: str = claims.MANIFEST,
    ) -> Claim:
        """Claim a name that forwards to one or more mailboxes.

        A repeated claim has no effect; with another `to` it replaces the mailboxes.

        Plans the name, compares the price with `max_total` (such as `"24.00 USD"`; without it only a free name is
        claimed), and promotes exactly this plan. Needs a live key, as `api_key` or as `live_key`.

        If a person must approve the plan, they are asked. The claim then waits for `wait_for_approval` seconds, by
        default not at all, and raises ApprovalPending with `review_url`. Claim the name again after the approval.

        Raise NameRefused, TotalTooHigh, ApprovalPending, ApprovalRefused, ClaimFailed, or an error of the service.
        """
        most = claims.limit(max_total)
        for attempt in range(1, PLANS + 1):
            plan = await self._client.sandbox.make_plan(**claims.manifest_of(address, to, manifest))
            claims.check(plan, most)
            if plan.status == "empty":
                return Claim(address=address, plan=plan, promotion=None)
            await self._await_approval(plan, wait_for_approval)
            try:
                return await self._promote(address, plan, most)
            except PlanStale:
                if attempt == PLANS:
                    raise
        raise AssertionError("unreachable")

    async def _promote(self, address: str, plan: PlanReply, most: MoneyLike | None) -> Claim:
        """Promote the plan, after the running promotion of the account if there is one."""
        end = time.monotonic() + (self._client.retries.deadline or math.inf)
        while True:
            try:
                promotion = await self._client.sandbox.promote(plan_id=plan.id, digest=plan.digest, max_total=most)
            except ApprovalRequired as error:  # the policy has changed, or the approval was withdrawn
                raise ApprovalPending(await self._client.sandbox.get_plan(plan.id)) from error
            except PromotionRunning as error:
                wait = error.retry_after or LONGEST_POLL_S
                if time.monotonic() + wait > end:
                    raise
                await self._client.sleep(wait)
                continue
            if promotion.status == "running" and time.monotonic() < end:  # a job continues it
                await self._client.sleep(FIRST_POLL_S)
                continue  # a repeated request returns its state
            if promotion.status != "succeeded":
                raise ClaimFailed(promotion)
            return Claim(address=address, plan=plan, promotion=promotion)

    async def _await_approval(self, plan: PlanReply, seconds: float) -> None:
        """Return when the plan may be promoted. Raise ApprovalPending, ApprovalRefused."""
        if plan.approval.state in claims.APPROVED:
            return
        await self._client.sandbox.request_approval(plan.id)
        end, pause = time.monotonic() + seconds, FIRST_POLL_S
        while plan.approval.state not in claims.APPROVED:
            if plan.approval.state == "rejected":
                raise ApprovalRefused(plan)
            left = end - time.monotonic()
            if left <= 0:
                raise ApprovalPending(plan)
            await self._client.sleep(min(pause, left))
            pause = min(pause * 2, LONGEST_POLL_S)
            plan = await self._client.sandbox.get_plan(plan.id)
