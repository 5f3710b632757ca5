"""The decisions of a claim: what is planned, what it costs, and whether it may be promoted."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from builders_client.generated.models.sandbox import PlanReply, PromotionReply
from builders_client.problems import BuildersError
from builders_client.values import Money, MoneyLike

MANIFEST = "names"
HARMLESS = frozenset({"create", "adopt", "update", "no_op"})
APPROVED = frozenset({"not_required", "approved"})


class NameRefused(BuildersError):
    """The name cannot be claimed; `plan.errors` has the reasons."""

    def __init__(self, plan: PlanReply) -> None:
        self.plan = plan
        self.codes = [each.code for each in plan.errors]
        self.next_action = "Correct what the errors name, or claim another name: catalog.suggest lists free ones."
        super().__init__("; ".join(each.message for each in plan.errors) or f"The plan is {plan.status}.")


class TotalTooHigh(BuildersError):
    """The claim costs more than `max_total`; nothing was bought."""

    def __init__(self, plan: PlanReply, total: Mapping[str, Decimal], most: Money | None) -> None:
        self.plan = plan
        self.total = [Money(amount=amount, currency=currency) for currency, amount in total.items()]
        costs = ", ".join(map(str, self.total))
        self.next_action = f"Give max_total of at least {costs}, or claim another name."
        super().__init__(f"The claim costs {costs}, and max_total is {most or 'not given'}.")


class ApprovalPending(BuildersError):
    """A person must approve the plan first, on the page `review_url`; they have been asked."""

    def __init__(self, plan: PlanReply) -> None:
        self.plan = plan
        self.review_url = plan.approval.review_url
        self.next_action = f"Ask a person to approve it at {self.review_url}, then claim the name again."
        super().__init__(f"The approval of the plan is {plan.approval.state}.")


class ApprovalRefused(ApprovalPending):
    """A person rejected the plan."""


class ClaimFailed(BuildersError):
    """The promotion did not succeed; `promotion.steps` has the reasons."""

    def __init__(self, promotion: PromotionReply) -> None:
        self.promotion = promotion
        said = [each.error.message for each in promotion.steps if each.error is not None]
        self.next_action = " ".join(each.message for each in promotion.next_action_details) or None
        super().__init__("; ".join(said) or f"The promotion is {promotion.status}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A name that the account has."""

    address: str
    plan: PlanReply
    promotion: PromotionReply | None
    """None if the account had the name already, as requested."""


def manifest_of(address: str, to: str | Sequence[str], manifest: str) -> dict[str, Any]:
    """Return the manifest of one name. Its key depends on the whole address, so it never means another name."""
    wanted = address.strip().lower()
    readable = re.sub(r"[^a-z0-9]+", "-", wanted).strip("-")[:40]
    key = f"{readable}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}".lstrip("-")
    destinations = [to] if isinstance(to, str) else list(to)
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": manifest},
        "resources": {"aliases": [{"key": key, "address": address.strip(), "destinations": destinations}]},
    }


def limit(given: MoneyLike | str | None) -> Money | None:
    """Return the highest total. Raise ValueError for text that is no money."""
    if given is None or isinstance(given, Money):
        return given
    return Money.parse(given) if isinstance(given, str) else Money.model_validate(given)


def check(plan: PlanReply, most: Money | None) -> None:
    """Raise NameRefused if the plan cannot be promoted or removes something, TotalTooHigh if it costs too much."""
    if not plan.promotable or any(each.action not in HARMLESS for each in plan.actions):
        raise NameRefused(plan)
    total: dict[str, Decimal] = {}
    for price in [each.price for each in plan.actions if each.price is not None]:
        if price.amount:
            total[price.currency] = total.get(price.currency, Decimal()) + price.amount
    if any(most is None or currency != most.currency or due > most.amount for currency, due in total.items()):
        raise TotalTooHigh(plan, total, most)
