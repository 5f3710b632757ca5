"""Aliases in a manifest: the diff (pure), the detection of drift, and the execution."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.aliases import billing, claims as alias_claims, loops
from builders.aliases.errors import NamesRefused, PricesChanged
from builders.aliases.records import Alias, AliasChange, AliasSpec, AliasStatus, Name
from builders.catalog import availability as catalog_availability
from builders.domains import account_domains
from builders.invoices import invoices
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.plans.records import (
    Action,
    ActionKind,
    AliasView,
    Finding,
    Kind,
    Manifest,
    OnConflict,
    Place,
    Risk,
    StepError,
)
from builders.plans.resources import alias_rules
from builders.plans.resources.alias_rules import ResolvedAlias, list_errors, list_routes, match_existing
from builders.plans.resources.kinds import (
    Batch,
    Executor,
    KindDiff,
    ManagedKind,
    StepsRefused,
    Task,
    list_versions,
)
from builders.plans.resources.live_state import Domains, LiveState, TargetProject, index_domains, index_project
from builders.projects import service as projects
from builders.projects.records import Project

ALIAS: ManagedKind[Alias] = ManagedKind(
    kind=Kind.ALIAS,
    view=lambda each: AliasView(
        address=each.address, key=each.manifest_key or "", project_id=each.project_id, **each.settings()
    ),
    describe=lambda each: each.address,
    sensitive=frozenset({"destinations", "enabled", "project_id", "block", "pause_until", "reply"}),
    consequence="",
    risk=Risk.HIGH,
    changed=StepError(code="alias_changed", message="The alias was changed or released in the meantime."),
    key_in_use=StepError(code="key_in_use", message="The key now belongs to another name."),
)


def diff(manifest: Manifest, resolved: Sequence[ResolvedAlias], live: LiveState, domains: Domains) -> KindDiff:
    """Return the actions on aliases that lead from the live state to the desired one, with all errors."""
    desired = match_existing(resolved, live.aliases)
    keys, names = {each.desired.key for each in desired}, {each.name for each in desired}
    dropped = [each for each in live.aliases if each.manifest == manifest.name and each.name not in names]
    # An alias is replaced if its key now has another name, and left if its key is no longer in the manifest.
    replaced = {alias.manifest_key: alias for alias in dropped if alias.manifest_key in keys}
    left = [alias for alias in dropped if alias.manifest_key not in keys]
    pruned = [alias for alias in left if not alias.is_blocked] if manifest.prune else []
    released = {alias.name for alias in (*replaced.values(), *pruned) if not alias.is_blocked}

    routes = list_routes([*live.aliases, *live.forwarded], domains)
    routes = {name: forwards for name, forwards in routes.items() if name not in released}
    errors = list(list_errors(desired, routes, live.availability))
    refused = {error.address for error in errors}
    outcomes = [
        plan_claim(each, replaced.get(each.desired.key), live)
        if each.mine is None
        else plan_change(manifest, each, each.mine, replaced.get(each.desired.key))
        for each in desired
        if each.mine is not None or each.address not in refused
    ]
    planned = [each for each in outcomes if isinstance(each, Action)]
    errors += [each for each in outcomes if isinstance(each, Finding)]
    projects = {each.address: each.project for each in desired if each.project}
    errors += alias_rules.refuse_by_project(planned, projects, live.sizes)
    errors += alias_rules.refuse_overdue(planned, live.overdue)
    removed = [
        replace(ALIAS.delete(each), undoable_until=alias_rules.undoable_until(each, live)) for each in pruned
    ]
    return KindDiff(
        actions=tuple(planned),
        removed=tuple(removed),
        errors=tuple(errors),
        warnings=(
            *_warn_suspended(manifest, desired),
            *alias_rules.warn_released([*planned, *removed], live.releases),
            *(left_alone(each) for each in left if each not in pruned),
        ),
    )


def plan_claim(each: ResolvedAlias, old: Alias | None, live: LiveState) -> Action | Finding:
    """Return the action that claims a free name and releases the former name of the key, or the error."""
    if old is not None and old.is_blocked:
        message = f"The key belongs to {old.address}, which the operator suspended: use a new key."
        return Finding(code="alias_suspended", address=each.address, message=message)
    domain, validation = each.decision.domain, each.decision.validation
    assert domain is not None  # noqa: S101 - only names without errors are claimed
    price, continues = alias_rules.price_claim(domain, validation, live)
    reason = "The name is free." if old is None else f"The name replaces {old.address}."
    claim = Action(
        address=each.address,
        kind=Kind.ALIAS,
        action=ActionKind.CREATE,
        after=_desired_view(each),
        reason=" ".join([reason, *alias_rules.explain_free(Name(domain.domain, validation.key), continues, live)]),
        risk=Risk.LOW,
        price=price,
        place=Place(
            domain=domain.domain,
            local_part=validation.normalized,
            key=validation.key,
            skeleton=validation.skeleton,
            is_own=each.is_own,
        ),
        after_unknown=each.unknown,
        requires=each.requires,
        continues=continues,
    )
    if old is None:
        return claim
    replaced = ALIAS.change(old, _desired_view(each), unknown=each.unknown)
    return replace(
        claim,
        action=ActionKind.REPLACE,
        before=replaced.before,
        changed_fields=replaced.changed_fields,
        risk=Risk.HIGH,
        resource_id=old.id,
        version=old.version,
        undoable_until=alias_rules.undoable_until(old, live),
    )


def plan_change(manifest: Manifest, each: ResolvedAlias, mine: Alias, old: Alias | None) -> Action | Finding:
    """Return the action on a name of the account, or the error if this manifest cannot change it.

    `old` is the former alias of the key, if its name is no longer in the manifest.
    """
    if _is_suspended(manifest, each, mine):
        return replace(ALIAS.change(mine, ALIAS.view(mine)), reason="It is suspended and does not change.")
    if mine.status is AliasStatus.SUSPENDED:
        return Finding(code="alias_suspended", address=each.address, message="This name is suspended.")
    if old is not None:
        message = f"The key belonged to {old.address}, and the account already has {mine.address}: use a new key."
        return Finding(code="key_in_use", address=each.address, message=message)
    is_adopted = mine.manifest != manifest.name
    if is_adopted and manifest.on_conflict is not OnConflict.ADOPT:
        return ALIAS.conflict(each.desired.key, "this name", mine.manifest)
    return ALIAS.change(
        mine, _desired_view(each), is_adopted=is_adopted, unknown=each.unknown, requires=each.requires
    )


def left_alone(alias: Alias) -> Finding:
    """Return the warning for a name that is no longer in the manifest and stays."""
    if not alias.is_blocked:
        return ALIAS.leave(alias)
    return Finding(
        code="alias_suspended",
        address=f"alias.{alias.manifest_key}",
        message=f"{alias.address} is no longer in the manifest; the operator suspended it, so it does not change.",
    )


def _warn_suspended(manifest: Manifest, desired: Sequence[ResolvedAlias]) -> Iterator[Finding]:
    for each in desired:
        if each.mine is not None and _is_suspended(manifest, each, each.mine):
            message = f"{each.mine.address} is suspended and does not change until the suspension ends."
            yield Finding(code="alias_suspended", address=each.address, message=message)


def _is_suspended(manifest: Manifest, each: ResolvedAlias, mine: Alias) -> bool:
    """Return whether a managed name is suspended; the rest of the manifest is planned."""
    key = (manifest.name, each.desired.key)
    return mine.status is AliasStatus.SUSPENDED and (mine.manifest, mine.manifest_key) == key


def _desired_view(each: ResolvedAlias) -> AliasView:
    """Return the desired alias. The order of destinations has no meaning."""
    mine, settings = each.mine, each.desired.settings()
    if mine is not None and set(mine.destinations) == set(each.desired.destinations):
        settings["destinations"] = mine.destinations
    return AliasView(
        address=each.normal,
        key=each.desired.key,
        project_id=each.project.project_id if each.project else None,
        **settings,
    )


PRICE_CHANGED = StepError(
    code="price_changed",
    message="The price of the name, or the paid period that the claim would continue, has changed.",
)
COOLING_OFF_ENDED = StepError(
    code="cooling_off_ended",
    message="The cooling-off period of the claim has ended: a release no longer cancels it.",
)


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    mine = {alias.name for alias in live.aliases}

    def find_other(action: Action) -> StepError | None:
        if action.undoable_until is not None and action.undoable_until <= clock.now():
            return COOLING_OFF_ENDED
        return None if action.place is None else _find_claim_drift(action, action.place, live, mine)

    yield from ALIAS.list_drift(manifest, actions, live.aliases, find_other)
    # The aliases that a project refuses, unless this plan changes the project first.
    added = [each for each in actions if not any(address.startswith("project.") for address in each.requires)]
    yield from alias_rules.refuse_by_project(added, _targets(map_projects(added, {}), live.projects), live.sizes)
    yield from alias_rules.list_loop_drift(actions, live)
    yield from alias_rules.refuse_overdue(actions, live.overdue)


def _find_claim_drift(action: Action, place: Place, live: LiveState, mine: set[Name]) -> StepError | None:
    if place.name in mine:
        return StepError(code="alias_exists", message="The account now has this name.")
    decision = catalog_availability.decide_name(place.local_part, live.domains.get(place.domain))
    if found := alias_rules.find_refusal(decision, live.availability.get(place.name)):
        return found
    domain, validation = decision.domain, decision.validation
    assert domain is not None  # noqa: S101 - or the decision would refuse
    if validation.key != place.key:
        return StepError(code="rules_changed", message="The domain now has other rules.")
    if alias_rules.price_claim(domain, validation, live) != (action.price, action.continues):
        return PRICE_CHANGED
    return None


def map_projects(actions: Sequence[Action], made: Mapping[str, UUID]) -> dict[str, UUID]:
    """Return the projects of the actions' aliases by address; `made` are the projects that the plan creates."""
    found: dict[str, UUID] = {}
    for action in actions:
        if "project_id" in action.after_unknown:
            found[action.address] = next(made[each] for each in action.requires if each.startswith("project."))
        elif isinstance(action.after, AliasView) and action.after.project_id is not None:
            found[action.address] = action.after.project_id
    return found


def _targets(project_ids: Mapping[str, UUID], found: Sequence[Project]) -> dict[str, TargetProject | None]:
    """Return the projects by the addresses of their aliases; None for one that does not exist."""
    by_id = {each.id: index_project(each) for each in found}
    return {address: by_id.get(project_id) for address, project_id in project_ids.items()}


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch, all tasks or none. Raise one of the refusals.

    The account's routes are locked first, as for a change through the API: each transaction sees the result of the
    other, and lock order prevents deadlocks. All names are locked at once, in order.
    """
    owner, realm = {"account_id": batch.target.account_id}, batch.target.realm
    await loops.lock_routes(conn, **owner)
    project_ids = map_projects([task.action for task in batch.tasks], batch.made)
    if refused := await _list_refusals(conn, batch, project_ids):
        raise StepsRefused(refused)
    by_kind = {kind: [task for task in batch.tasks if task.action.action is kind] for kind in ActionKind}
    versions = list_versions([task for task in batch.tasks if task.action.action is not ActionKind.CREATE])
    if len([kind for kind, tasks in by_kind.items() if tasks]) > 1:
        await alias_claims.lock_unchanged(conn, **owner, versions=versions)
    if released := list_versions(by_kind[ActionKind.REPLACE] + by_kind[ActionKind.DELETE]):
        await alias_claims.release_aliases(
            conn, **owner, realm=realm, versions=released, quarantine=batch.parameters.quarantine
        )
    changing = by_kind[ActionKind.UPDATE] + by_kind[ActionKind.ADOPT]
    if changes := [each for task in changing for each in _changes(task, batch, project_ids)]:
        await alias_claims.update_aliases(conn, **owner, changes=changes)
    if specs := [each for task in batch.tasks for each in _specs(task, batch, project_ids)]:
        await alias_claims.create_aliases(conn, **owner, realm=realm, specs=specs)
    await _check_loops(conn, batch)
    undone = {each.action.resource_id for each in batch.tasks if each.action.undoable_until is not None}
    await billing.withdraw_charges(conn, **owner, alias_ids=released, undone={each for each in undone if each})


async def _list_refusals(conn: Conn, batch: Batch, project_ids: Mapping[str, UUID]) -> list[Finding]:
    """Return the errors of tasks by projects, by own domains on which they claim, and by an overdue invoice.

    Projects and domains are locked against concurrent changes.
    """
    account_id, actions = batch.target.account_id, [task.action for task in batch.tasks]
    refused: list[Finding] = []
    adding = {each.address for each in actions if alias_rules.adds_to_project(each)} & project_ids.keys()
    if wanted := {address: project_ids[address] for address in adding}:
        ids = {*wanted.values()}
        found = await projects.lock_projects(conn, account_id=account_id, project_ids=ids)
        sizes = await alias_claims.count_by_project(conn, account_id=account_id, project_ids=ids)
        refused += alias_rules.refuse_by_project(actions, _targets(wanted, found), sizes)
    own = {each.address: each.place.domain for each in actions if each.place and each.place.is_own}
    known = await account_domains.load_domains(conn, account_id=account_id, domains=own.values(), lock=True)
    refused += [
        Finding(code="domain_changed", address=address, message="Names can no longer be claimed on the domain.")
        for address, label in own.items()
        if label not in known or not known[label].claimable
    ]
    if any(map(alias_rules.is_charged, actions)):
        overdue = await invoices.find_arrears(conn, account_id=account_id)
        refused += alias_rules.refuse_overdue(actions, overdue)
    return refused


async def _check_loops(conn: Conn, batch: Batch) -> None:
    """Raise StepsRefused if the batch closes a loop; another change may have closed a part of it.

    The rules of domains are read only if there seems to be a loop.
    """
    account_id = batch.target.account_id
    redirected = [task for task in batch.tasks if alias_rules.changes_destination(task.action)]
    if not redirected:
        return
    ids = [task.step.resource_id for task in redirected if task.step.resource_id]
    existing = await loops.list_forwarded(
        conn, realm=batch.target.realm, account_id=account_id, alias_ids=ids, lock=True
    )
    if not alias_rules.list_loops(redirected, existing, loops.map_routes(existing)):
        return
    labels = {alias.domain for alias in existing}
    shown = await catalog_availability.load_domains(conn, domains=labels)
    known = index_domains(shown, await account_domains.load_domains(conn, account_id=account_id, domains=labels))
    if refused := alias_rules.list_loops(redirected, existing, alias_rules.list_routes(existing, known)):
        raise StepsRefused(refused)


def _specs(task: Task, batch: Batch, project_ids: Mapping[str, UUID]) -> Iterator[AliasSpec]:
    place, after, price = task.action.place, task.action.after, task.action.price
    if place and isinstance(after, AliasView) and price and task.step.resource_id:
        yield AliasSpec(
            id=task.step.resource_id,
            domain=place.domain,
            local_part=place.local_part,
            key=place.key,
            skeleton=place.skeleton,
            manifest=batch.manifest,
            manifest_key=after.key,
            price=price.money,
            interval=price.interval,
            project_id=project_ids.get(task.action.address),
            continues=task.action.continues is not None,
            paid_until=task.action.continues.until if task.action.continues else None,
            **after.settings(),
        )


def _changes(task: Task, batch: Batch, project_ids: Mapping[str, UUID]) -> Iterator[AliasChange]:
    action, after = task.action, task.action.after
    if isinstance(after, AliasView) and action.resource_id is not None and action.version is not None:
        yield AliasChange(
            id=action.resource_id,
            version=action.version,
            manifest=batch.manifest,
            manifest_key=after.key,
            project_id=project_ids.get(task.action.address),
            **after.settings(),
        )


def _explain_refused(_: str, task: Task, refusal: NamesRefused) -> StepError | None:
    availability = task.action.place and refusal.refused.get(task.action.place.name)
    if not availability:
        return None
    return StepError(code=availability.reason, message=catalog_availability.describe_reason(availability.reason))


EXECUTOR = Executor(
    drift,
    execute,
    {
        **ALIAS.faults(),
        NamesRefused: _explain_refused,
        PricesChanged: lambda _, task, refusal: (
            PRICE_CHANGED if task.action.place and task.action.place.name in refusal.names else None
        ),
    },
)
