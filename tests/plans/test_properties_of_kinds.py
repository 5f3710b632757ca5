"""As test_properties, for projects, webhooks and domains."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from hypothesis import event, given, strategies as st

from builders.domains.records import AccountDomain, AccountDomainStatus, DnsHealth, DomainProof, DomainSource
from builders.kit.values import clock, ids
from builders.plans import planning
from builders.plans.promotion.batches import STAGES
from builders.plans.records import (
    GENERATE,
    Action,
    ActionKind,
    DesiredWebhook,
    DomainView,
    Kind,
    Manifest,
    OnConflict,
    ProjectView,
    WebhookView,
)
from builders.plans.resources.live_state import LiveState
from builders.projects.records import Project
from builders.webhooks.records import ManagedDestination

OURS, ALICE = "ours", ids.new()
KEYS, SLUGS = ("one", "two", "three"), ("aaa", "bbb", "ccc", "ddd")
URLS, NAMES = (
    tuple(f"https://93.184.215.14/{at}" for at in range(4)),
    ("own.example", "mine.example", "his.example"),
)
managers = st.sampled_from([(OURS, key) for key in KEYS] * 2 + [("other", key) for key in KEYS] + [(None, None)])


def project(slug: str, manifest: str | None, key: str | None) -> Project:
    return Project(
        account_id=ALICE,
        id=ids.new(),
        name="Acme",
        slug=slug,
        description=None,
        website=None,
        allowed_domains=[],
        default_destination=None,
        webhook_ids=[],
        alias_limit=None,
        metadata={},
        manifest=manifest,
        manifest_key=key,
        version=1,
        created_at=clock.now(),
        updated_at=clock.now(),
        archived_at=None,
    )


def webhook(url: str, manifest: str | None, key: str | None) -> ManagedDestination:
    return ManagedDestination(
        id=ids.new(),
        label=url,
        url=url,
        enabled=True,
        events=["*"],
        manifest=manifest,
        manifest_key=key,
        version=1,
    )


def domain(name: str, manifest: str | None, key: str | None) -> AccountDomain:
    return AccountDomain(
        account_id=ALICE,
        id=ids.new(),
        realm=ids.new(),
        domain=name,
        source=DomainSource.OWNED,
        status=AccountDomainStatus.LIVE,
        proof=DomainProof.DNS,
        token="",
        catch_all=False,
        default_destination=None,
        manifest=manifest,
        manifest_key=key,
        added_at=clock.now(),
        updated_at=clock.now(),
        health=DnsHealth(),
        asked_at=None,
        lost_at=None,
        checks=0,
        next_check_at=None,
        verified_at=None,
        suspended_at=None,
        released_at=None,
        version=1,
    )


EMPTY = LiveState(aliases=(), availability={}, domains={})


@st.composite
def lives(draw: st.DrawFn) -> LiveState:
    """Generate resources of each kind, managed by our manifest, by another or by none; keys are unique."""

    def owned(names: Sequence[str]) -> list[tuple[str, str | None, str | None]]:
        some = draw(st.lists(st.sampled_from(names), unique=True))
        owners = draw(st.lists(managers, min_size=len(some), max_size=len(some)))
        unique = [each if each not in owners[:at] else (None, None) for at, each in enumerate(owners)]
        return [(name, *owner) for name, owner in zip(some, unique, strict=True)]

    return replace(
        EMPTY,
        projects=[project(*each) for each in owned(SLUGS)],
        webhooks=[webhook(*each) for each in owned(URLS)],
        own={each[0]: domain(*each) for each in owned(NAMES)},
    )


texts = st.sampled_from(["Acme", "Other"])


@st.composite
def desired_projects(draw: st.DrawFn, key: str, slug: str) -> ProjectView:
    """Generate a desired project."""
    return ProjectView(
        key=key,
        name=draw(texts),
        slug=slug,
        description=None,
        website=None,
        allowed_domains=[],
        default_destination=None,
        webhook_ids=[],
        alias_limit=draw(st.sampled_from([None, 5])),
        metadata={},
    )


@st.composite
def desired_webhooks(draw: st.DrawFn, key: str, url: str) -> DesiredWebhook:
    """Generate a desired webhook destination."""
    return DesiredWebhook(
        key=key,
        label=draw(texts),
        url=url,
        enabled=draw(st.booleans()),
        events=["*"],
        signing_secret_ref=GENERATE,
    )


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Generate a manifest with resources of each kind."""

    def keyed(names: Sequence[str]) -> list[tuple[str, str]]:
        keys = draw(st.lists(st.sampled_from(KEYS), unique=True))
        some = draw(st.lists(st.sampled_from(names), min_size=len(keys), max_size=len(keys), unique=True))
        return list(zip(keys, some, strict=True))

    domains = [
        DomainView(key=key, domain=name, default_destination="a@example.net", catch_all=draw(st.booleans()))
        for key, name in keyed(NAMES)
    ]
    return Manifest(
        name=OURS,
        labels={},
        prune=draw(st.booleans()),
        on_conflict=draw(st.sampled_from(OnConflict)),
        projects=tuple(draw(desired_projects(*each)) for each in keyed(SLUGS)),
        webhooks=tuple(draw(desired_webhooks(*each)) for each in keyed(URLS)),
        domains=tuple(domains),
    )


def draft(live: LiveState, manifest: Manifest) -> planning.Draft:
    return planning.diff(manifest, [], live, planning.resolve_references(manifest, live))


def after(live: LiveState, actions: Sequence[Action]) -> LiveState:
    """Return the state after the stages of a promotion; slugs and keys stay unique."""
    projects = {each.id: each for each in live.projects}
    webhooks = {each.id: each for each in live.webhooks}
    own = {each.id: each for each in live.own.values()}
    for stage in STAGES:
        for action in (each for each in actions if (each.kind, each.action) == stage):
            _do(action, projects, webhooks, own)
        slugs = [each.slug for each in projects.values()]
        assert len(slugs) == len({*slugs})
        for held in (projects, webhooks, own):
            keys = [(each.manifest, each.manifest_key) for each in held.values() if each.manifest]
            assert len(keys) == len({*keys})
    return replace(
        live,
        projects=list(projects.values()),
        webhooks=list(webhooks.values()),
        own={each.domain: each for each in own.values()},
    )


def _do(
    action: Action,
    projects: dict[UUID, Project],
    webhooks: dict[UUID, ManagedDestination],
    own: dict[UUID, AccountDomain],
) -> None:
    at = action.resource_id or ids.new()
    match action.after:
        case ProjectView() as view:
            old = projects.get(at) or project(view.slug or "", None, None)
            new = replace(old, id=at, name=view.name, slug=view.slug or "", alias_limit=view.alias_limit)
            projects[at] = replace(new, manifest=OURS, manifest_key=view.key)
        case WebhookView() as hook:
            there = webhooks.get(at) or webhook(hook.url, None, None)
            changed = replace(there, id=at, label=hook.label, url=hook.url, enabled=hook.enabled)
            webhooks[at] = replace(changed, manifest=OURS, manifest_key=hook.key)
        case DomainView() as settled:
            moved = replace(own[at], catch_all=settled.catch_all, default_destination=settled.default_destination)
            own[at] = replace(moved, manifest=OURS, manifest_key=settled.key)
        case _ if action.kind is Kind.DOMAIN:
            own[at] = replace(own[at], manifest=None, manifest_key=None, catch_all=False, default_destination=None)
        case _:
            del (projects if action.kind is Kind.PROJECT else webhooks)[at]


@given(lives(), manifests())
def test_a_promoted_plan_reaches_the_desired_state_and_replanning_is_empty(
    live: LiveState, manifest: Manifest
) -> None:
    drafted = draft(live, manifest)
    event("blocked" if drafted.errors else "ready")
    if drafted.errors:
        return
    done = after(live, drafted.actions)
    slugs = {each.manifest_key: (each.slug, each.name) for each in done.projects if each.manifest == OURS}
    urls = {each.manifest_key: (each.url, each.enabled) for each in done.webhooks if each.manifest == OURS}
    names = {
        each.manifest_key: (each.domain, each.catch_all) for each in done.own.values() if each.manifest == OURS
    }
    assert {desired.key: (desired.slug, desired.name) for desired in manifest.projects}.items() <= slugs.items()
    assert {desired.key: (desired.url, desired.enabled) for desired in manifest.webhooks}.items() <= urls.items()
    assert {
        desired.key: (desired.domain, desired.catch_all) for desired in manifest.domains
    }.items() <= names.items()
    if manifest.prune:
        desired = len(manifest.projects), len(manifest.webhooks), len(manifest.domains)
        assert desired == (len(slugs), len(urls), len(names))
    again = draft(done, manifest)
    assert again.errors == ()
    assert {action.action for action in again.actions} <= {ActionKind.NO_OP}


@given(lives(), manifests())
def test_only_managed_resources_are_deleted(live: LiveState, manifest: Manifest) -> None:
    drafted = draft(live, manifest)
    owners = {each.id: each.manifest for each in live.projects} | {
        each.id: each.manifest for each in live.webhooks
    }
    ours = {each for each, holder in owners.items() if holder == OURS}
    ours |= {each.id for each in live.own.values() if each.manifest == OURS}
    gone = {each.resource_id for each in drafted.actions if each.action is ActionKind.DELETE}
    assert gone <= ours
    assert not gone or manifest.prune
    if manifest.on_conflict is OnConflict.FAIL:
        others = {each for each, holder in owners.items() if holder != OURS}
        assert not others & {each.resource_id for each in drafted.actions}


@given(lives(), manifests())
def test_every_resource_has_one_action_or_an_error(live: LiveState, manifest: Manifest) -> None:
    drafted = draft(live, manifest)
    desired_addresses = (
        {f"project.{desired.key}" for desired in manifest.projects}
        | {f"webhook.{desired.key}" for desired in manifest.webhooks}
        | {f"domain.{desired.key}" for desired in manifest.domains}
    )
    addresses = [action.address for action in drafted.actions]
    wrong = {error.address for error in drafted.errors}
    assert len(addresses) == len({*addresses})
    assert wrong <= desired_addresses <= {*addresses} | wrong
