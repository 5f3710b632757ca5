"""The live state that a manifest or a plan concerns, read in a fixed number of statements whatever its size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import Alias, Name, Wanted
from builders.catalog import service as catalog
from builders.domains import service as domains
from builders.domains.records import AccountDomain, AccountDomainStatus
from builders.invoices import service as invoices
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.projects import service as projects
from builders.projects.records import Project
from builders.sandbox.kinds import alias_circles, alias_judging as judging, domain_plan, sites
from builders.sandbox.kinds.alias_checks import Judged
from builders.sandbox.kinds.alias_judging import Directory
from builders.sandbox.kinds.live import Live, Routes
from builders.sandbox.records import Action, Ground, Kind
from builders.sandbox.views import AliasView, ProjectView
from builders.sandbox.wishes import Manifest
from builders.webhooks import service as webhooks
from builders.webhooks.service import ValidatedUrls


async def of_manifest(conn: Conn, *, ground: Ground, manifest: Manifest, urls: ValidatedUrls) -> Live:
    """All that is there but the aliases; seven statements at most."""
    owner = {"account_id": ground.account_id}
    references = {wish.project for wish in manifest.aliases if wish.project} | {manifest.project or ""}
    slugs = references | {wish.slug for wish in manifest.projects if wish.slug}
    named = {found for each in references if (found := ids.find(each))}
    there = await projects.list_projects(conn, **owner, manifest=manifest.name, project_ids=named, slugs=slugs)
    mailboxes = {each.default_destination for each in manifest.projects} | {
        each.default_destination for each in there
    }
    labels = judging.labels(manifest, [each for each in mailboxes if each])
    return Live(
        aliases=(),
        standings={},
        domains=await catalog.find_domains(conn, domains=labels),
        routes={},
        projects=there,
        sizes=await _sizes(conn, ground, there),
        own=await _own(conn, ground, manifest.name, labels),
        webhooks=await webhooks.list_managed(conn, **owner),
        refused_urls=urls.refused,
    )


async def with_aliases(
    conn: Conn,
    *,
    ground: Ground,
    manifest: Manifest,
    wishes: Sequence[Judged],
    known: Directory,
    live: Live,
    cooling_off: timedelta,
) -> Live:
    """What the account has of the wanted names too, and why it cannot have the rest. Eight statements at most."""
    wanted = [
        Wanted(domain=name.domain, key=name.key, skeleton=each.ruling.verdict.skeleton)
        for each in wishes
        if (name := each.name) is not None
    ]
    names = {each.own for each in wishes if each.own}
    there = await aliases.list_aliases(
        conn, account_id=ground.account_id, manifest=manifest.name, names=sorted(names)
    )
    ahead = {name for each in wishes for name in each.forwards}
    going = [each for each in there if each.manifest == manifest.name and each.name not in names]
    return replace(
        live,
        aliases=there,
        standings=await aliases.look_up(conn, account_id=ground.account_id, realm=ground.realm, wanted=wanted),
        routes=await _routes(conn, ground, known, there, ahead),
        overdue=await invoices.find_arrears(conn, account_id=ground.account_id) if wanted else None,
        reclaims=await aliases.list_reclaims(
            conn, account_id=ground.account_id, names={each.name for each in wanted}
        ),
        releases=await aliases.list_release_terms(
            conn, account_id=ground.account_id, aliases=going, cooling_off=cooling_off
        ),
    )


async def of_actions(
    conn: Conn, *, ground: Ground, manifest: str, actions: Sequence[Action], urls: ValidatedUrls
) -> Live:
    """What planned actions stand on, as it is now; twelve statements at most."""
    places = [action.place for action in actions if action.place is not None]
    wanted = [Wanted(domain=place.domain, key=place.key, skeleton=place.skeleton) for place in places]
    owner = {"account_id": ground.account_id}
    by_kind = {kind: [each for each in actions if each.kind is kind] for kind in Kind}
    found = await _projects_of(conn, ground, manifest, actions) if by_kind[Kind.PROJECT] or homes(actions) else []
    mailboxes = [
        email for each in actions if isinstance(each.after, AliasView) for email in each.after.destinations
    ]
    labels = {place.domain for place in places} | {email.rpartition("@")[2] for email in mailboxes}
    own = await _own(conn, ground, manifest, labels | domain_plan.catch_all(actions).keys())
    shown = await catalog.find_domains(conn, domains=labels)
    known = Directory(domains=sites.sites(shown, own, domain_plan.catch_all(actions)))
    there = await aliases.list_aliases(
        conn,
        **owner,
        manifest=manifest,
        names=sorted({each.name for each in wanted}),
        alias_ids=[each.resource_id for each in by_kind[Kind.ALIAS] if each.resource_id is not None],
    )
    return Live(
        aliases=there,
        standings=await aliases.look_up(conn, **owner, realm=ground.realm, wanted=wanted) if wanted else {},
        domains=known.domains,
        routes=await _routes(conn, ground, known, there, {*known.names(mailboxes)}),
        projects=found,
        sizes=await _sizes(conn, ground, found),
        own=own,
        webhooks=await webhooks.list_managed(conn, **owner) if by_kind[Kind.WEBHOOK] else (),
        overdue=await invoices.find_arrears(conn, **owner) if places else None,
        reclaims=await aliases.list_reclaims(
            conn, account_id=ground.account_id, names={each.name for each in wanted}
        ),
        refused_urls=urls.refused,
    )


async def _routes(
    conn: Conn, ground: Ground, known: Directory, there: Sequence[Alias], ahead: set[Name]
) -> Routes:
    """Where the aliases that are there send mail on to, and those of the names ahead, however far."""
    beyond: list[Alias] = []
    if ahead:
        beyond = await aliases.list_ahead(
            conn, realm=ground.realm, account_id=ground.account_id, names=sorted(ahead)
        )
    return alias_circles.routes([*there, *beyond], known)


def homes(actions: Sequence[Action]) -> set[UUID]:
    """The projects that aliases are to be in, and are there already."""
    views = (action.after for action in actions)
    return {view.project_id for view in views if isinstance(view, AliasView) and view.project_id}


async def _projects_of(conn: Conn, ground: Ground, manifest: str, actions: Sequence[Action]) -> list[Project]:
    planned = [action for action in actions if action.kind is Kind.PROJECT]
    return await projects.list_projects(
        conn,
        account_id=ground.account_id,
        manifest=manifest,
        project_ids=homes(actions) | {each.resource_id for each in planned if each.resource_id},
        slugs={each.after.slug for each in planned if isinstance(each.after, ProjectView) and each.after.slug},
    )


async def _own(conn: Conn, ground: Ground, manifest: str, labels: set[str]) -> dict[str, AccountDomain]:
    """The account's own live domains: those of the labels, and those that the manifest manages."""
    found = await domains.find_domains(conn, account_id=ground.account_id, domains=labels)
    managed = await domains.list_managed(conn, account_id=ground.account_id, manifest=manifest)
    return {**{each.domain: each for each in managed if each.status is AccountDomainStatus.LIVE}, **found}


async def _sizes(conn: Conn, ground: Ground, found: Sequence[Project]) -> Mapping[UUID, int]:
    if not found:
        return {}
    return await aliases.count_by_project(
        conn, account_id=ground.account_id, project_ids=[each.id for each in found]
    )
