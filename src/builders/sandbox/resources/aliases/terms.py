"""Terms of claims and releases: limits of projects, overdue invoices, prices and paid periods. Pure.

Planning checks them, and a batch checks them again with the projects locked. Deletions come last, so a name frees
capacity for another only if it is replaced or moves to another project. An account with an overdue invoice claims
no name with a price, since it could release a suspended name and claim it again without paying.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from builders.aliases.billing import ReleaseTerms
from builders.aliases.records import Alias, Name, ReservedClass, Validation
from builders.catalog.records import CatalogDomain
from builders.invoices.records import InvoiceStatus
from builders.kit.values.money import Money
from builders.projects.records import Refusal
from builders.sandbox.records import CLAIMS, Action, ActionKind, AliasView, Continued, Finding, Price
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import TargetProject

ARCHIVED, MISSING = "project_archived", "project_not_found"
_MESSAGES: Mapping[str, str] = {
    Refusal.DOMAIN_NOT_ALLOWED: "The project allows no names on this domain.",
    Refusal.ALIAS_LIMIT: "The project has its maximum of aliases; deletions come last and free no capacity.",
    ARCHIVED: "The project is archived and accepts no names.",
    MISSING: "The project no longer exists.",
}
KEPT, UNDONE = "period_not_refunded", "claim_undone"


def adds_to_project(action: Action) -> bool:
    """Return whether the action adds the alias to a project."""
    return action.action in CLAIMS or "project_id" in action.changed_fields


def refuse_by_project(
    actions: Sequence[Action], targets: Mapping[str, TargetProject | None], sizes: Mapping[UUID, int]
) -> Iterator[Finding]:
    """Yield the actions that a project refuses; `sizes` are the numbers of its aliases before the actions.

    `targets` are the projects by the address of the alias, None for one that does not exist.
    """
    additions: dict[UUID | str | None, list[Action]] = defaultdict(list)
    for action in actions:
        if action.address in targets and adds_to_project(action):
            target = targets[action.address]
            additions[(target.project_id or target.address) if target else None].append(action)
    moved = (
        each.before for each in actions if each.action is ActionKind.REPLACE or "project_id" in each.changed_fields
    )
    leaving = Counter(view.project_id for view in moved if isinstance(view, AliasView))
    for added in additions.values():
        target = targets[added[0].address]
        project_id = target and target.project_id
        size = sizes.get(project_id, 0) - leaving[project_id] if project_id else 0
        for at, action in enumerate(added):
            code: str | None = ARCHIVED if target else MISSING
            if target is not None and not target.is_archived:
                assert isinstance(action.after, AliasView)  # noqa: S101 - an alias that is added has a state after
                domain = action.after.address.rpartition("@")[2]
                code = target.project.refusal(domain=domain, aliases=size + at)
            if code:
                yield Finding(code=code, address=action.address, message=_MESSAGES[code])


def is_charged(action: Action) -> bool:
    """Return whether the action claims a name with a price or with a paid period."""
    is_priced = action.price is not None and bool(action.price.money.amount)
    return action.action in CLAIMS and (is_priced or action.continues is not None)


def refuse_overdue(actions: Sequence[Action], overdue: str | None) -> Iterator[Finding]:
    """Yield an error for each charged action while the invoice with the number `overdue` is unpaid."""
    message = f"The invoice {overdue} is long overdue: pay it first. Names without a price can be claimed."
    for action in actions:
        if overdue and is_charged(action):
            yield Finding(code="payment_overdue", address=action.address, message=message)


def price_claim(domain: CatalogDomain, validation: Validation, live: LiveState) -> tuple[Price, Continued | None]:
    """Return the price of a claim, and the paid period that it continues at no charge.

    An account with an overdue invoice continues no period, since it claims no name with a price.
    """
    found = domain.price_for(validation.key, is_premium=validation.reserved_class is ReservedClass.PREMIUM)
    normal = Price(money=found.money, interval=found.interval)
    reclaim = live.reclaims.get(Name(domain.domain, validation.key))
    if reclaim is None or live.overdue or not normal.money.amount:
        return normal, None
    free = Price(money=Money.zero(reclaim.price.currency), interval=reclaim.interval)
    return free, Continued(alias_id=reclaim.alias_id, until=reclaim.period.until)


def explain_free(name: Name, continues: Continued | None, live: LiveState) -> Iterator[str]:
    """Yield the sentences that explain a free claim, if it continues a paid period."""
    reclaim = live.reclaims.get(name)
    if reclaim is None or continues is None:
        return
    if continues.until is None:
        yield "You released it, and its one-time price is paid: no amount is due."
    else:
        yield f"You released it, and its paid period continues until {continues.until.date()}: no charge is due."
        yield f"It then renews at {reclaim.price} per {reclaim.interval}."
    if reclaim.period.unpaid:
        yield f"This requires payment of {' and '.join(reclaim.period.unpaid)} in time."


def undoable_until(alias: Alias, live: LiveState) -> datetime | None:
    """Return until when the release of the alias undoes its claim; None if it does not."""
    terms = live.releases.get(alias.id)
    return None if terms is None else terms.undoable_until


def warn_released(actions: Sequence[Action], terms: Mapping[UUID, ReleaseTerms]) -> Iterator[Finding]:
    """Yield a warning about the charges of each name that the actions release."""
    for action in actions:
        found = terms.get(action.resource_id) if action.resource_id is not None else None
        if found is not None and isinstance(action.before, AliasView) and found.affects_charges:
            yield _warning(action.address, action.before.address, found)


def _warning(address: str, name: str, terms: ReleaseTerms) -> Finding:
    if terms.undoable_until is not None:
        until = f"{terms.undoable_until:%Y-%m-%d %H:%M} UTC"
        said = [f"{name} was claimed recently: releasing it before {until} cancels the claim, once for this name."]
        said += [
            f"{each.amount} of {each.number} becomes credit."
            if each.status is InvoiceStatus.PAID
            else f"{each.amount} is not due: {each.number} is voided, and its other lines are issued again."
            for each in terms.charges
        ]
        return Finding(code=UNDONE, address=address, message=" ".join(said))
    if terms.period is None:
        message = f"The current period of {name} remains due: a release does not cancel an unpaid invoice."
        return Finding(code=KEPT, address=address, message=message)
    free = f"until {terms.period.until.date()}," if terms.period.until else "for good,"
    paid = f" and {' and '.join(terms.period.unpaid)} is paid in time" if terms.period.unpaid else ""
    message = (
        f"The paid period of {name} is not refunded. Claiming it again is free for this account {free} "
        f"while no other account has the name{paid}."
    )
    return Finding(code=KEPT, address=address, message=message, until=terms.period.until)
