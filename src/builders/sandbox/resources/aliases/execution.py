"""The execution of actions on aliases, and the detection of drift."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from builders.aliases import account_aliases, billing, claims as alias_claims, forwarding
from builders.aliases.errors import AliasesChanged, KeysTaken, NamesRefused, PricesChanged
from builders.aliases.records import AliasChange, AliasName, AliasSpec, Name
from builders.catalog import availability as catalog_availability
from builders.domains import bulk
from builders.invoices import invoices
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.projects import service as projects
from builders.sandbox.manifest import AliasView
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.resources.aliases import names, terms
from builders.sandbox.resources.aliases.terms import CLAIMS
from builders.sandbox.resources.kinds import Batch, Executor, StepsRefused, Task, list_versions
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import index_domains
from builders.sandbox.step_errors import StepError

KEY_IN_USE = "The key now belongs to another name."
CHANGED = "The alias was changed or released in the meantime."
PRICE_CHANGED = "The price of the name, or the paid period that the claim would continue, has changed."
COOLING_OFF_ENDED = "The cooling-off period of the claim has ended: a release no longer cancels it."
DOMAIN_CHANGED = StepError(code="domain_changed", message="Names can no longer be claimed on the domain.")


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    by_id = {alias.id: alias for alias in live.aliases}
    mine = {alias.name for alias in live.aliases}
    planned = {action.resource_id for action in actions}
    keys = {each.manifest_key for each in live.aliases if each.manifest == manifest and each.id not in planned}
    for action in actions:
        alias = None if action.resource_id is None else by_id.get(action.resource_id)
        if action.resource_id is not None and (alias is None or alias.version != action.version):
            yield Finding(code="alias_changed", address=action.address, message=CHANGED)
        elif action.undoable_until is not None and action.undoable_until <= clock.now():
            yield Finding(code="cooling_off_ended", address=action.address, message=COOLING_OFF_ENDED)
        elif action.place is not None and (claims := list(_claim_drift(action, live, mine))):
            yield from claims
        elif action.after is not None and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)
    yield from _project_drift(actions, live)
    yield from names.find_loop_drift(actions, live)
    yield from terms.refuse_overdue(actions, live.overdue)


def _project_drift(actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the aliases that a project refuses, unless this plan changes the project first."""
    added = {
        at: each
        for at, each in enumerate(actions)
        if terms.adds_to_project(each) and not any(address.startswith("project.") for address in each.requires)
    }
    existing = {project.id: project for project in live.projects}
    for at, fault in terms.project_faults(added, map_projects(added, {}), existing, live.sizes).items():
        yield Finding(code=fault.code, address=actions[at].address, message=fault.message)


def _claim_drift(action: Action, live: LiveState, mine: set[Name]) -> Iterator[Finding]:
    assert action.place is not None  # noqa: S101 - the caller passes claims only
    place, name = action.place, Name(action.place.domain, action.place.key)
    if name in mine:
        yield Finding(code="alias_exists", address=action.address, message="The account now has this name.")
        return
    decision = catalog_availability.decide_name(place.local_part, live.domains.get(place.domain))
    if found := names.find_refusal(decision, live.availability.get(name)):
        yield Finding(code=found[0], address=action.address, message=found[1])
        return
    domain, validation = decision.domain, decision.validation
    assert domain is not None  # noqa: S101 - or the decision would refuse
    if validation.key != place.key:
        yield Finding(code="rules_changed", address=action.address, message="The domain now has other rules.")
        return
    if terms.price_claim(domain, validation, live) != (action.price, action.continues):
        yield Finding(code="price_changed", address=action.address, message=PRICE_CHANGED)


def list_wanted(tasks: Sequence[Task]) -> list[AliasName]:
    """Return the names that the tasks claim."""
    return [
        AliasName(
            domain=task.action.place.domain,
            key=task.action.place.key,
            skeleton=task.action.place.skeleton,
            alias_id=task.step.resource_id,
        )
        for task in tasks
        if task.action.place is not None and task.step.resource_id is not None
    ]


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch, all tasks or none. Raise one of the refusals.

    The account's routes are locked first, as for a change through the API: each transaction sees the result of the
    other, and lock order prevents deadlocks. All names are locked at once, in order.
    """
    owner, realm = {"account_id": batch.target.account_id}, batch.target.realm
    await forwarding.lock_routes(conn, **owner)
    project_ids = map_projects({task.step.position: task.action for task in batch.tasks}, batch.made)
    await _check_projects(conn, batch, project_ids)
    await _check_own(conn, batch)
    await _check_overdue(conn, batch)
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
    claiming = [task for task in batch.tasks if task.action.action in CLAIMS]
    if specs := [each for task in claiming for each in _specs(task, batch, project_ids)]:
        await alias_claims.create_aliases(conn, **owner, realm=realm, specs=specs)
    await _check_loops(conn, batch)
    undone = {each.action.resource_id for each in batch.tasks if each.action.undoable_until is not None}
    await billing.withdraw_charges(conn, **owner, alias_ids=released, undone={each for each in undone if each})


async def _check_loops(conn: Conn, batch: Batch) -> None:
    """Raise StepsRefused if the batch closes a loop; another change may have closed a part of it.

    The rules of domains are read only if there seems to be a loop.
    """
    account_id, redirected = batch.target.account_id, names.list_redirected(batch.tasks)
    if not redirected:
        return
    ids = [task.step.resource_id for task in redirected if task.step.resource_id]
    existing = await forwarding.lock_forwarded(
        conn, realm=batch.target.realm, account_id=account_id, alias_ids=ids
    )
    if not names.find_loop_faults(redirected, existing, forwarding.map_routes(existing)):
        return
    labels = {alias.domain for alias in existing}
    shown = await catalog_availability.find_domains(conn, domains=labels)
    own = await bulk.find_domains(conn, account_id=account_id, domains=labels)
    known = index_domains(shown, own)
    if refused := names.find_loop_faults(redirected, existing, names.list_routes(existing, known)):
        raise StepsRefused(refused)


async def _check_projects(conn: Conn, batch: Batch, project_ids: Mapping[int, UUID]) -> None:
    """Raise StepsRefused if a project refuses a task; the projects are locked against concurrent batches."""
    actions = {task.step.position: task.action for task in batch.tasks}
    targets = {at: each for at, each in project_ids.items() if terms.adds_to_project(actions[at])}
    if not targets:
        return
    owner = {"account_id": batch.target.account_id}
    found = await projects.lock_projects(conn, **owner, project_ids={*targets.values()})
    sizes = await account_aliases.count_by_project(conn, **owner, project_ids={*targets.values()})
    if refused := terms.project_faults(actions, targets, {each.id: each for each in found}, sizes):
        raise StepsRefused(refused)


async def _check_own(conn: Conn, batch: Batch) -> None:
    """Lock the account's own domains on which names are claimed. Raise StepsRefused if one cannot be used."""
    places = {task.step.position: task.action.place for task in batch.tasks}
    own = {at: place.domain for at, place in places.items() if place is not None and place.is_own}
    if not own:
        return
    found = await bulk.find_domains(conn, account_id=batch.target.account_id, domains={*own.values()}, lock=True)
    claimable = {label for label, domain in found.items() if domain.is_claimable}
    if lost := {at: DOMAIN_CHANGED for at, label in own.items() if label not in claimable}:
        raise StepsRefused(lost)


async def _check_overdue(conn: Conn, batch: Batch) -> None:
    """Raise StepsRefused for names with a price if the account has an overdue invoice."""
    if not any(terms.is_charged(task.action) for task in batch.tasks):
        return
    overdue = await invoices.find_arrears(conn, account_id=batch.target.account_id)
    if refused := terms.overdue_faults(batch.tasks, overdue):
        raise StepsRefused(refused)


def map_projects(actions: Mapping[int, Action], made: Mapping[str, UUID]) -> dict[int, UUID]:
    """Return the projects of the actions' aliases by position; `made` are the projects that the plan creates."""
    found: dict[int, UUID] = {}
    for at, action in actions.items():
        if "project_id" in action.after_unknown:
            found[at] = next(made[each] for each in action.requires if each.startswith("project."))
        elif isinstance(action.after, AliasView) and action.after.project_id is not None:
            found[at] = action.after.project_id
    return found


def fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    """Return the error of this task after a refusal of the batch, or None."""
    action = task.action
    match refusal:
        case NamesRefused():
            availability = action.place and refusal.refused.get(Name(action.place.domain, action.place.key))
            if availability:
                return StepError(
                    code=availability.reason, message=catalog_availability.describe_reason(availability.reason)
                )
        case PricesChanged():
            if action.place and Name(action.place.domain, action.place.key) in refusal.names:
                return StepError(code="price_changed", message=PRICE_CHANGED)
        case KeysTaken():
            if action.after is not None and (manifest, action.after.key) in refusal.keys:
                return StepError(code="key_in_use", message=KEY_IN_USE)
        case AliasesChanged():
            if action.resource_id in refusal.changed:
                return StepError(code="alias_changed", message=CHANGED)
    return None


def _specs(task: Task, batch: Batch, project_ids: Mapping[int, UUID]) -> Iterator[AliasSpec]:
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
            project_id=project_ids.get(task.step.position),
            continues=task.action.continues is not None,
            paid_until=task.action.continues.until if task.action.continues else None,
            **after.settings(),
        )


def _changes(task: Task, batch: Batch, project_ids: Mapping[int, UUID]) -> Iterator[AliasChange]:
    action, after = task.action, task.action.after
    if isinstance(after, AliasView) and action.resource_id is not None and action.version is not None:
        yield AliasChange(
            id=action.resource_id,
            version=action.version,
            manifest=batch.manifest,
            manifest_key=after.key,
            project_id=project_ids.get(task.step.position),
            **after.settings(),
        )


EXECUTOR = Executor(
    drift=drift,
    execute=execute,
    fault=fault,
    refusals=(
        NamesRefused,
        PricesChanged,
        KeysTaken,
        AliasesChanged,
        StepsRefused,
    ),
)
