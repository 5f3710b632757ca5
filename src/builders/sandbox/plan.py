"""Planning: from wanted and live state to a list of actions. Pure: same input, same plan, same digest."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import rfc8785
from pydantic import TypeAdapter

from builders.catalog.records import CatalogDomain
from builders.kit.values.money import Money
from builders.sandbox.kinds import alias_plan, domain_plan, findings, project_plan, sites, webhook_plan
from builders.sandbox.kinds.alias_checks import Judged
from builders.sandbox.kinds.drafted import Drafted
from builders.sandbox.kinds.homes import Homes, homes
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import ACTIONS, Action, Draft, Finding, Price, Total
from builders.sandbox.wishes import Manifest

MANIFEST = TypeAdapter(Manifest)
Json = Any  # what a JSON text can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """What is planned before the aliases, and what they then stand on."""

    drafted: tuple[Drafted, ...]  # of projects, domains, webhooks
    homes: Homes
    sites: Mapping[str, CatalogDomain]  # on which names can be had, by A-label
    settled: Mapping[str, str]  # the addresses of domains that the manifest has, by A-label


def found(manifest: Manifest, live: Live) -> Foundation:
    """Plans all but the aliases."""
    projects, domains = project_plan.draft(manifest, live), domain_plan.draft(manifest, live)
    settings = domain_plan.views(domains.actions)
    return Foundation(
        drafted=(projects, domains, webhook_plan.draft(manifest, live)),
        homes=homes(projects.actions, projects.removed, live.projects),
        sites=sites.sites(live.domains, live.own, {view.domain: view.catch_all for view in settings.values()}),
        settled={view.domain: address for address, view in settings.items()},
    )


def draft(manifest: Manifest, judged: Sequence[Judged], live: Live, foundation: Foundation) -> Draft:
    """The actions that lead from the live state to the wanted one, with all errors at once.

    In the order in which they need each other; what takes something away comes last, in the reverse order.
    """
    domain_of = foundation.settled
    placed = [
        replace(each, domain_address=domain_of.get(each.domain), is_own=each.domain in live.own) for each in judged
    ]
    kinds = (*foundation.drafted, alias_plan.draft(manifest, placed, live))
    return Draft(
        actions=(
            *(action for kind in kinds for action in kind.actions),
            *(action for kind in reversed(kinds) for action in kind.removed),
        ),
        errors=(*_lost(manifest, foundation.homes), *(each for kind in kinds for each in kind.errors)),
        warnings=tuple(each for kind in kinds for each in kind.warnings),
    )


def _lost(manifest: Manifest, known: Homes) -> Iterable[Finding]:
    """The manifest's own project, where no alias says that it is not there."""
    wanted = any(wish.project is None for wish in manifest.aliases)
    if manifest.project is None or wanted:
        return
    home = known.find(manifest.project)
    if home is None:
        message = "There is no such project, by key, slug or id."
        yield Finding(code="project_not_found", address="manifest", message=message)
    elif home.is_pruned:
        yield Finding(code="project_pruned", address="manifest", message=findings.HOME_PRUNED)


def digest_manifest(manifest: Manifest) -> str:
    """Stands for a manifest in the digest of its plan, which can so be looked at again without it."""
    return _hashed(MANIFEST.dump_python(manifest, mode="json"))


def digest(account_id: UUID, manifest: Manifest, planned: Sequence[Action]) -> str:
    """Binds a plan: account, manifest and actions."""
    actions: list[Json] = ACTIONS.dump_python(tuple(planned), mode="json")
    return bind(account_id, digest_manifest(manifest), actions)


def bind(account_id: UUID, manifest_digest: str, actions: Sequence[Json]) -> str:
    """The digest of a plan, its actions as they are stored."""
    return _hashed({"account_id": str(account_id), "manifest": manifest_digest, "actions": list(actions)})


def _hashed(bound: Json) -> str:
    """SHA-256 over the canonical JSON (RFC 8785)."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(bound)).hexdigest()


def totals(planned: Iterable[Action]) -> list[Total]:
    """What the actions cost, by currency and interval."""
    sums: dict[str, dict[str, Money]] = {}
    for price in _prices(planned):
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
    for price in _prices(planned):
        currency = price.money.currency
        sums[currency] = sums.get(currency, Money.zero(currency)) + price.money
    return sums


def _prices(planned: Iterable[Action]) -> Iterable[Price]:
    """Those that are to be paid: names on own domains cost nothing, in no currency."""
    return (action.price for action in planned if action.price is not None and action.price.money.amount)
