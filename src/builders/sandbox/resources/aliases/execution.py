"""The execution of actions on aliases, and the detection of drift."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from builders.aliases import billing, claims as alias_claims, forwarding
from builders.aliases.errors import AliasesChanged, KeysTaken, NamesRefused, PricesChanged
from builders.aliases.records import AliasChange, AliasSpec, Name
from builders.catalog import availability as catalog_availability
from builders.domains import account_domains
from builders.invoices import invoices
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.projects import service as projects
from builders.projects.records import Project
from builders.sandbox.records import Action, ActionKind, AliasView, Finding, Place, StepError
from builders.sandbox.resources.aliases import names, terms
from builders.sandbox.resources.aliases.diff import ALIAS
from builders.sandbox.resources.kinds import Batch, Executor, StepsRefused, Task, list_versions
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import TargetProject, index_domains, index_project

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

    yield from ALIAS.find_drift(manifest, actions, live.aliases, find_other)
    # The aliases that a project refuses, unless this plan changes the project first.
    added = [each for each in actions if not any(address.startswith("project.") for address in each.requires)]
    yield from terms.refuse_by_project(added, _targets(map_projects(added, {}), live.projects), live.sizes)
    yield from names.find_loop_drift(actions, live)
    yield from terms.refuse_overdue(actions, live.overdue)


def _find_claim_drift(action: Action, place: Place, live: LiveState, mine: set[Name]) -> StepError | None:
    if place.name in mine:
        return StepError(code="alias_exists", message="The account now has this name.")
    decision = catalog_availability.decide_name(place.local_part, live.domains.get(place.domain))
    if found := names.find_refusal(decision, live.availability.get(place.name)):
        return found
    domain, validation = decision.domain, decision.validation
    assert domain is not None  # noqa: S101 - or the decision would refuse
    if validation.key != place.key:
        return StepError(code="rules_changed", message="The domain now has other rules.")
    if terms.price_claim(domain, validation, live) != (action.price, action.continues):
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
    await forwarding.lock_routes(conn, **owner)
    project_ids = map_projects([task.action for task in batch.tasks], batch.made)
    if refused := await _find_refusals(conn, batch, project_ids):
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


async def _find_refusals(conn: Conn, batch: Batch, project_ids: Mapping[str, UUID]) -> list[Finding]:
    """Return the errors of tasks by projects, by own domains on which they claim, and by an overdue invoice.

    Projects and domains are locked against concurrent changes.
    """
    account_id, actions = batch.target.account_id, [task.action for task in batch.tasks]
    refused: list[Finding] = []
    adding = {each.address for each in actions if terms.adds_to_project(each)} & project_ids.keys()
    if wanted := {address: project_ids[address] for address in adding}:
        ids = {*wanted.values()}
        found = await projects.lock_projects(conn, account_id=account_id, project_ids=ids)
        sizes = await alias_claims.count_by_project(conn, account_id=account_id, project_ids=ids)
        refused += terms.refuse_by_project(actions, _targets(wanted, found), sizes)
    own = {each.address: each.place.domain for each in actions if each.place and each.place.is_own}
    known = await account_domains.find_domains(conn, account_id=account_id, domains=own.values(), lock=True)
    refused += [
        Finding(code="domain_changed", address=address, message="Names can no longer be claimed on the domain.")
        for address, label in own.items()
        if label not in known or not known[label].is_claimable
    ]
    if any(map(terms.is_charged, actions)):
        overdue = await invoices.find_arrears(conn, account_id=account_id)
        refused += terms.refuse_overdue(actions, overdue)
    return refused


async def _check_loops(conn: Conn, batch: Batch) -> None:
    """Raise StepsRefused if the batch closes a loop; another change may have closed a part of it.

    The rules of domains are read only if there seems to be a loop.
    """
    account_id = batch.target.account_id
    redirected = [task for task in batch.tasks if names.changes_destination(task.action)]
    if not redirected:
        return
    ids = [task.step.resource_id for task in redirected if task.step.resource_id]
    existing = await forwarding.list_forwarded(
        conn, realm=batch.target.realm, account_id=account_id, alias_ids=ids, lock=True
    )
    if not names.find_loops(redirected, existing, forwarding.map_routes(existing)):
        return
    labels = {alias.domain for alias in existing}
    shown = await catalog_availability.find_domains(conn, domains=labels)
    known = index_domains(shown, await account_domains.find_domains(conn, account_id=account_id, domains=labels))
    if refused := names.find_loops(redirected, existing, names.list_routes(existing, known)):
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
        **ALIAS.faults(AliasesChanged, KeysTaken),
        NamesRefused: _explain_refused,
        PricesChanged: lambda _, task, refusal: (
            PRICE_CHANGED if task.action.place and task.action.place.name in refusal.names else None
        ),
    },
)
