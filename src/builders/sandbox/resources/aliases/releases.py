"""What a release parameters for money, and what a name costs that was released within its paid period. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from builders.aliases.records import Alias, Name, ReservedClass, Validation
from builders.aliases.service import Reclaim, ReleaseTerms
from builders.catalog.records import CatalogDomain
from builders.invoices.records import Charge, InvoiceStatus
from builders.kit.values.money import Money
from builders.sandbox.planning.live_state import LiveState
from builders.sandbox.records import Action, Continued, Finding, Price
from builders.sandbox.views import AliasView

KEPT, UNDONE = "period_not_refunded", "claim_undone"


def price(domain: CatalogDomain, validation: Validation, live: LiveState) -> tuple[Price, Continued | None]:
    """Return the price of a claim, and the paid period that it continues at no charge.

    An account with an overdue invoice continues none: it claims no name that has a price.
    """
    found = domain.price_for(validation.key, is_premium=validation.reserved_class is ReservedClass.PREMIUM)
    normal = Price(money=found.money, interval=found.interval)
    reclaim = live.reclaims.get(Name(domain.domain, validation.key))
    if reclaim is None or live.overdue or not normal.money.amount:
        return normal, None
    free = Price(money=Money.zero(reclaim.price.currency), interval=reclaim.interval)
    return free, Continued(alias_id=reclaim.alias_id, until=reclaim.period.until)


def why_free(reclaim: Reclaim | None, continues: Continued | None) -> Iterator[str]:
    """Yield why a name costs nothing, if it continues a paid period."""
    if reclaim is None or continues is None:
        return
    if continues.until is None:
        yield "You released it, and it is paid for once: nothing is due."
    else:
        yield f"You released it, and its paid period continues until {_day(continues.until)}: nothing is due now."
        yield f"It then renews at {reclaim.price} per {reclaim.interval}."
    if reclaim.period.unpaid:
        yield f"That depends on {_listed(reclaim.period.unpaid)}, which is to be paid in time."


def undoable_until(alias: Alias, live: LiveState) -> datetime | None:
    """Return until when the release of the alias undoes its claim; None when it does not."""
    terms = live.releases.get(alias.id)
    return None if terms is None else terms.undoable_until


def warnings(actions: Sequence[Action], terms: Mapping[UUID, ReleaseTerms]) -> Iterator[Finding]:
    """Yield what becomes of the charges for each name that the actions release."""
    for action in actions:
        found = terms.get(action.resource_id) if action.resource_id is not None else None
        if found is not None and isinstance(action.before, AliasView) and found.affects_charges:
            yield from _warnings(action.address, action.before.address, found)


def _warnings(address: str, name: str, terms: ReleaseTerms) -> Iterator[Finding]:
    if terms.undoable_until is not None:
        said = [f"{name} was claimed a short time ago: releasing it before {_minute(terms.undoable_until)} undoes"]
        said += ["the claim, once for this name.", *map(_undone, terms.charges)]
        yield Finding(code=UNDONE, address=address, message=" ".join(said))
    elif terms.period is None:
        message = f"The period of {name} that has begun is owed: releasing it ends no unpaid invoice."
        yield Finding(code=KEPT, address=address, message=message)
    else:
        until = terms.period.until
        said = [f"The paid period of {name} is not refunded. Claiming it again is free for this account"]
        said += [f"until {_day(until)}," if until else "for good,", "as long as nobody else has the name"]
        said += [f"and {_listed(terms.period.unpaid)} is paid in time." if terms.period.unpaid else "."]
        yield Finding(code=KEPT, address=address, message=" ".join(said).replace(" .", "."), until=until)


def _undone(charge: Charge) -> str:
    if charge.status is InvoiceStatus.PAID:
        return f"{charge.amount} of {charge.number} becomes credit."
    return f"{charge.amount} is not owed: {charge.number} is voided, and its other lines are issued again."


def _listed(numbers: Sequence[str]) -> str:
    return " and ".join(numbers)


def _day(at: datetime) -> str:
    return at.date().isoformat()


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
