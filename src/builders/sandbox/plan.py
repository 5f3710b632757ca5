"""Planning: from wanted and live state to a list of actions. Pure: same input, same plan, same digest."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import rfc8785
from pydantic import TypeAdapter

from builders.aliases.records import Alias, Name, Standing
from builders.catalog.records import CatalogDomain
from builders.kit.money import Money
from builders.sandbox import actions, checks
from builders.sandbox.checks import Judged, Routes
from builders.sandbox.records import ACTIONS, Action, Draft, Manifest, Total

MANIFEST = TypeAdapter(Manifest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The account's live state, as far as the manifest concerns it."""

    aliases: Sequence[Alias]
    standings: Mapping[Name, Standing]  # of wanted names that are not free
    domains: Mapping[str, CatalogDomain]  # on which names are to be claimed
    routes: Routes  # from the aliases to the names that they forward to


def draft(manifest: Manifest, judged: Sequence[Judged], live: Live) -> Draft:
    """The actions that lead from the live state to the wanted one, with all errors at once."""
    wishes = _recognised(judged, live.aliases)
    keys, wanted = {each.wish.key for each in wishes}, {each.name for each in wishes}
    dropped = [each for each in live.aliases if each.manifest == manifest.name and each.name not in wanted]
    # What a key stood for is replaced by what it stands for now; what has lost its key is left over.
    replaced = {alias.manifest_key: alias for alias in dropped if alias.manifest_key in keys}
    left = [alias for alias in dropped if alias.manifest_key not in keys]
    going = {alias.name for alias in (*replaced.values(), *(left if manifest.prune else ()))}

    routes = {name: on for name, on in live.routes.items() if name not in going}
    errors = list(checks.errors(wishes, routes, live.standings))
    wrong = {error.address for error in errors}
    planned: list[Action] = []
    for each in wishes:
        old = replaced.get(each.wish.key)
        if each.mine is not None:
            outcome = actions.keep(manifest, each, each.mine, old)
        elif each.address in wrong:
            continue
        else:
            outcome = actions.claim(each, old)
        if isinstance(outcome, Action):
            planned.append(outcome)
        else:
            errors.append(outcome)
    removed = map(actions.delete, left) if manifest.prune else ()
    warnings = [*actions.cautions(manifest, wishes), *(() if manifest.prune else map(actions.left_alone, left))]
    return Draft(actions=(*planned, *removed), errors=tuple(errors), warnings=tuple(warnings))


def _recognised(judged: Sequence[Judged], aliases: Sequence[Alias]) -> list[Judged]:
    """The wishes, each with the alias that the account has of its name.

    Also by the address as it is written: a name stays the account's own when the rules of its domain change.
    """
    by_name = {alias.name: alias for alias in aliases}
    by_address = {alias.address: alias for alias in aliases}
    return [
        replace(each, mine=(each.own and by_name.get(each.own)) or by_address.get(each.written)) for each in judged
    ]


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
