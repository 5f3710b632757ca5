"""Planning: from wanted and live state to a list of actions. Pure: same input, same plan, same digest."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import rfc8785
from pydantic import TypeAdapter

from builders.aliases.records import Alias, Name, Reason, Standing
from builders.catalog.records import CatalogDomain
from builders.kit.money import Money
from builders.sandbox import actions, checks
from builders.sandbox.checks import Judged
from builders.sandbox.records import Action, Draft, Finding, Manifest, Total

ACTIONS = TypeAdapter(tuple[Action, ...])
FINDINGS = TypeAdapter(tuple[Finding, ...])
MANIFEST = TypeAdapter(Manifest)

REFUSED: Mapping[Reason, str] = {
    Reason.TAKEN: "This name is taken.",
    Reason.QUARANTINED: "This name was released lately and is kept from others for a while.",
    Reason.HELD: "This name is held for somebody; try again later.",
    Reason.CONFUSABLE: "This name looks like one that somebody else has.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The account's live state, as far as the manifest concerns it."""

    aliases: Sequence[Alias]
    standings: Mapping[Name, Standing]  # of wanted names that are not free
    domains: Mapping[str, CatalogDomain]  # on which names are to be claimed


def draft(manifest: Manifest, wishes: Sequence[Judged], live: Live) -> Draft:
    """The actions that lead from the live state to the wanted one, with all errors at once."""
    errors = list(checks.errors(wishes))
    bad = {error.address for error in errors}
    by_name = {alias.name: alias for alias in live.aliases}
    managed = [alias for alias in live.aliases if alias.manifest == manifest.name]
    by_key = {alias.manifest_key: alias for alias in managed}
    outcomes: list[Action | Finding] = []
    for each in wishes:
        if each.address in bad or each.name is None:
            continue
        mine, standing = by_name.get(each.name), live.standings.get(each.name)
        if mine is not None:
            outcomes.append(actions.keep(manifest, each, mine))
        elif standing is not None:
            outcomes.append(Finding(code=standing.reason, address=each.address, message=REFUSED[standing.reason]))
        else:
            outcomes.append(actions.claim(each, by_key.get(each.wish.key)))
    wanted = [each for each in outcomes if isinstance(each, Action)]
    errors += [each for each in outcomes if isinstance(each, Finding)]
    # What an alias in error is about must not be pruned on the side.
    about = {error.address for error in errors}
    left = list(
        actions.leftovers(
            manifest, [each for each in managed if f"alias.{each.manifest_key}" not in about], wanted
        )
    )
    return Draft(
        actions=(*wanted, *(each for each in left if isinstance(each, Action))),
        errors=tuple(errors),
        warnings=tuple(each for each in left if isinstance(each, Finding)),
    )


def digest(account_id: UUID, manifest: Manifest, planned: Sequence[Action]) -> str:
    """Binds a plan: SHA-256 over the canonical JSON (RFC 8785) of account, manifest and actions."""
    bound = {
        "account_id": str(account_id),
        "manifest": MANIFEST.dump_python(manifest, mode="json"),
        "actions": ACTIONS.dump_python(tuple(planned), mode="json"),
    }
    return "sha256:" + hashlib.sha256(rfc8785.dumps(bound)).hexdigest()


def totals(planned: Iterable[Action]) -> list[Total]:
    """What the actions cost, by currency and interval."""
    sums: dict[str, dict[str, Money]] = {}
    for price in (action.price for action in planned if action.price is not None):
        of = sums.setdefault(price.money.currency, {})
        of[price.interval] = of.get(price.interval, Money.zero(price.money.currency)) + price.money
    return [
        Total(
            currency=currency,
            once=of.get("once", Money.zero(currency)),
            month=of.get("month", Money.zero(currency)),
            year=of.get("year", Money.zero(currency)),
        )
        for currency, of in sorted(sums.items())
    ]


def due(planned: Iterable[Action]) -> dict[str, Money]:
    """What is paid at once, by currency: what is paid once, and each first month or year."""
    sums: dict[str, Money] = {}
    for price in (action.price for action in planned if action.price is not None):
        currency = price.money.currency
        sums[currency] = sums.get(currency, Money.zero(currency)) + price.money
    return sums
