"""Hypothesis strategies: account states and manifests for planning, without a database."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from uuid import UUID

from hypothesis import strategies as st

from builders.aliases.records import Alias, AliasStatus, Availability, Name, PriceInterval, Reason, Rules
from builders.aliases.rules import validate_local_part
from builders.catalog.records import Assets, CatalogDomain, DomainStatus, MailMode, Price, PriceTier
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.plans import planning
from builders.plans.promotion.batches import STAGES
from builders.plans.records import Action, AliasView, DesiredAlias, Manifest, OnConflict
from builders.plans.resources import alias_rules
from builders.plans.resources.live_state import LiveState

LOCAL_PARTS = ("ada", "grace", "linus", "alan", "norman")
KEYS = ("one", "two", "three", "four")
ELSEWHERE = ("ada@example.net", "grace@example.org")
OURS = "acme-mail"

STATUSES = [AliasStatus.ACTIVE, AliasStatus.ACTIVE, AliasStatus.DISABLED, AliasStatus.SUSPENDED]


def catalog_domain(name: str) -> CatalogDomain:
    """Return a live domain at 12 USD a year."""
    price = Price(money=Money(Decimal(12), "USD"), interval=PriceInterval.YEAR, tier=PriceTier.STANDARD)
    return CatalogDomain(
        id=ids.new(),
        domain=name,
        unicode_domain=name,
        title="",
        tagline="",
        description="",
        categories=(),
        tags=(),
        status=DomainStatus.LIVE,
        mail_mode=MailMode.BOTH,
        catch_all=False,
        price=price,
        short_name_prices=(),
        rules=Rules(),
        featured=False,
        rank=0,
        assets=Assets(),
        serial=1,
        created_at=clock.now(),
        updated_at=clock.now(),
    )


DOMAINS = {name: catalog_domain(name) for name in ("harbour.example", "meadow.example")}
NAMES = tuple(Name(domain, key) for domain in DOMAINS for key in LOCAL_PARTS)


@dataclass(frozen=True, kw_only=True)
class AccountState:
    """The aliases of an account, and the names that it cannot claim."""

    aliases: tuple[Alias, ...]
    availability: Mapping[Name, Availability]

    def draft(self, manifest: Manifest) -> planning.Draft:
        """Return the plan for a manifest."""
        live = LiveState(aliases=self.aliases, availability=self.availability, domains=DOMAINS)
        references = planning.resolve_references(manifest, live)
        resolved = list(alias_rules.resolve(manifest, references.domains, references.projects))
        return planning.diff(manifest, resolved, live, references)

    def after(self, manifest: Manifest, actions: Sequence[Action]) -> "AccountState":
        """Return the state after the stages of a promotion; keys and names stay unique."""
        held = {alias.id: alias for alias in self.aliases}
        for stage in STAGES:
            batch = [action for action in actions if (action.kind, action.action) == stage]
            for action in batch:
                if action.after is None or action.place is not None:
                    held.pop(action.resource_id, None)  # type: ignore[arg-type] # a creation has none
            held |= {alias.id: alias for action in batch for alias in _made(manifest, action, held)}
            managed = [(alias.manifest, alias.manifest_key) for alias in held.values() if alias.manifest]
            assert len(managed) == len({*managed})
            assert len(held) == len({alias.name for alias in held.values()})
        return replace(self, aliases=tuple(held.values()))


def _made(manifest: Manifest, action: Action, held: Mapping[UUID, Alias]) -> Iterator[Alias]:
    if not isinstance(action.after, AliasView):
        return
    if action.place is not None:
        old = _alias(Name(action.place.domain, action.place.key), action.place.local_part)
    else:
        assert action.resource_id is not None
        old = held[action.resource_id]
        assert (old.version, old.address) == (action.version, action.after.address)
    yield replace(
        old,
        manifest=manifest.name,
        manifest_key=action.after.key,
        status=AliasStatus.ACTIVE if action.after.enabled else AliasStatus.DISABLED,
        enabled=action.after.enabled,
        note=action.after.note,
        labels=action.after.labels,
        destinations=action.after.destinations,
        version=old.version + 1,
    )


def _alias(name: Name, local_part: str) -> Alias:
    return Alias(
        id=ids.new(),
        domain=name.domain,
        local_part=local_part,
        key=name.key,
        manifest=None,
        manifest_key=None,
        status=AliasStatus.ACTIVE,
        enabled=True,
        note=None,
        labels={},
        destinations=("ada@example.net",),
        version=1,
        claimed_at=clock.now(),
        updated_at=clock.now(),
    )


addresses = st.sampled_from([f"{name.key}@{name.domain}" for name in NAMES] + [*ELSEWHERE] * 10)
destinations = st.lists(addresses, min_size=1, max_size=3, unique=True).map(tuple)
notes = st.sampled_from([None, "", "note"])
labels = st.sampled_from([{}, {"team": "one"}])


@st.composite
def spellings(draw: st.DrawFn, key: str) -> str:
    """Generate a spelling of the key on a domain that ignores dots."""
    at = draw(st.integers(1, len(key) - 1))
    return draw(st.sampled_from([key, key.upper(), f"{key[:at]}.{key[at:]}"]))


@st.composite
def account_states(draw: st.DrawFn) -> AccountState:
    """Generate an account with names of our manifest, of another or of none; others hold some of the rest."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    managed = st.tuples(st.sampled_from([OURS, OURS, "other"]), st.sampled_from(KEYS))
    owners = draw(st.lists(managed, unique=True, min_size=len(names), max_size=len(names)))
    held = []
    for name, (manifest, key) in zip(names, owners, strict=True):
        unmanaged = draw(st.booleans()) and manifest == "other"
        held.append(
            replace(
                _alias(name, draw(spellings(name.key)).lower()),
                manifest=None if unmanaged else manifest,
                manifest_key=None if unmanaged else key,
                status=draw(st.sampled_from(STATUSES)),
                resumes_as=AliasStatus.ACTIVE,  # a suspended one: for an unpaid invoice
                note=draw(notes),
                labels=draw(labels),
                destinations=draw(destinations),
                version=draw(st.integers(1, 9)),
            )
        )
    theirs = [name for name in NAMES if name not in names]
    reasons = st.sampled_from([Reason.TAKEN, Reason.HELD, Reason.QUARANTINED, Reason.CONFUSABLE])
    lost = draw(st.lists(st.sampled_from(theirs), unique=True, max_size=2)) if theirs else []
    return AccountState(
        aliases=tuple(held), availability={name: Availability(reason=draw(reasons)) for name in lost}
    )


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Generate a manifest, sometimes with a reserved or repeated name."""
    unique = draw(st.sampled_from([True, True, True, False]))
    names = draw(st.lists(st.sampled_from(NAMES), unique=unique, max_size=len(KEYS)))
    keys = draw(st.permutations(KEYS).map(lambda each: each[: len(names)]))
    desired = []
    for key, name in zip(keys, names, strict=True):
        local_part = draw(st.one_of(*[spellings(name.key)] * 19, st.just("postmaster")))
        desired.append(
            DesiredAlias(
                key=key,
                domain=name.domain,
                local_part=local_part,
                destinations=draw(destinations),
                enabled=draw(st.booleans()),
                note=draw(notes),
                labels=draw(labels),
            )
        )
    return Manifest(
        name=OURS,
        labels={},
        prune=draw(st.booleans()),
        on_conflict=draw(st.sampled_from(OnConflict)),
        aliases=tuple(desired),
    )


def name_of(desired: DesiredAlias) -> Name:
    """Return the unique name of a desired alias."""
    return Name(desired.domain, validate_local_part(desired.local_part, domain=desired.domain).key)
