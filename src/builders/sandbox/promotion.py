"""What a promotion checks before it writes, and how a batch of like actions is done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import AliasChange, AliasSpec, Name, ReservedClass, Wanted
from builders.catalog import service as catalog
from builders.kit.db import Conn
from builders.sandbox.checks import refusal
from builders.sandbox.plan import Live
from builders.sandbox.records import Action, ActionKind, Finding, Price, StepError

# Updates first: they give up the keys that others take. Deletions last: what goes wrong before has lost nothing.
ORDER = (ActionKind.UPDATE, ActionKind.ADOPT, ActionKind.CREATE, ActionKind.REPLACE, ActionKind.DELETE)
CLAIMS = {ActionKind.CREATE, ActionKind.REPLACE}
KEY_IN_USE = "The key stands for another name by now."
CHANGED = "The alias was changed or released in the meantime."


Refusal = aliases.NamesRefused | aliases.KeysTaken | aliases.AliasesChanged


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An action, its position in the plan, and the id of the alias that it makes, if it makes one."""

    position: int
    action: Action
    new_id: UUID | None


def drift(manifest: str, actions: Sequence[Action], live: Live) -> Iterator[Finding]:
    """Where the live state is no longer what was planned on."""
    by_id = {alias.id: alias for alias in live.aliases}
    mine = {alias.name for alias in live.aliases}
    planned = {action.alias_id for action in actions}
    keys = {each.manifest_key for each in live.aliases if each.manifest == manifest and each.id not in planned}
    for action in actions:
        alias = None if action.alias_id is None else by_id.get(action.alias_id)
        if action.alias_id is not None and (alias is None or alias.version != action.version):
            yield Finding(code="alias_changed", address=action.address, message=CHANGED)
        elif action.place is not None and (claims := list(_claim_drift(action, live, mine))):
            yield from claims
        elif action.after is not None and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)


def _claim_drift(action: Action, live: Live, mine: set[Name]) -> Iterator[Finding]:
    assert action.place is not None  # noqa: S101 - only claims come here
    place, name = action.place, Name(action.place.domain, action.place.key)
    if name in mine:
        yield Finding(code="alias_exists", address=action.address, message="The account has this name by now.")
        return
    ruling = catalog.rule(place.local_part, live.domains.get(place.domain))
    if found := refusal(ruling, live.standings.get(name)):
        yield Finding(code=found[0], address=action.address, message=found[1])
        return
    domain, verdict = ruling.domain, ruling.verdict
    assert domain is not None  # noqa: S101 - or the ruling would refuse
    if verdict.key != place.key:
        yield Finding(code="rules_changed", address=action.address, message="The domain has other rules by now.")
        return
    now = domain.price_for(verdict.key, is_premium=verdict.reserved_class is ReservedClass.PREMIUM)
    if Price(money=now.money, interval=now.interval.value) != action.price:
        yield Finding(code="price_changed", address=action.address, message="The price is another by now.")


def wanted(tasks: Sequence[Task]) -> list[Wanted]:
    """The names that the tasks claim."""
    return [
        Wanted(
            domain=task.action.place.domain,
            key=task.action.place.key,
            skeleton=task.action.place.skeleton,
            alias_id=task.new_id,
        )
        for task in tasks
        if task.action.place is not None
    ]


async def execute(
    conn: Conn, *, account_id: UUID, manifest: str, tasks: Sequence[Task], quarantine: timedelta
) -> None:
    """Does a batch of actions of one kind, all or none.

    Raises NamesRefused, KeysTaken and AliasesChanged, which say for which of them it could not be done.
    """
    kind = tasks[0].action.action
    if kind in {ActionKind.REPLACE, ActionKind.DELETE}:
        versions = {task.action.alias_id: task.action.version for task in tasks}
        gone = {each: version for each, version in versions.items() if each and version}
        await aliases.release(conn, account_id=account_id, versions=gone, quarantine=quarantine)
    if kind in CLAIMS:
        specs = [each for task in tasks for each in _specs(task, manifest)]
        await aliases.create(conn, account_id=account_id, specs=specs)
    if kind in {ActionKind.ADOPT, ActionKind.UPDATE}:
        changes = [each for task in tasks for each in _alias_changes(task.action, manifest)]
        await aliases.update(conn, account_id=account_id, changes=changes)


def blame(manifest: str, tasks: Sequence[Task], refusal: Refusal) -> dict[int, StepError]:
    """Which of a batch's tasks, by position, could not be done, and why."""
    faults = {task.position: _fault(manifest, task.action, refusal) for task in tasks}
    return {position: fault for position, fault in faults.items() if fault is not None}


def _fault(manifest: str, action: Action, refusal: Refusal) -> StepError | None:
    match refusal:
        case aliases.NamesRefused():
            standing = action.place and refusal.refused.get(Name(action.place.domain, action.place.key))
            if standing:
                return StepError(code=standing.reason, message=catalog.say(standing.reason), retryable=True)
        case aliases.KeysTaken():
            if action.after is not None and (manifest, action.after.key) in refusal.keys:
                return StepError(code="key_in_use", message=KEY_IN_USE, retryable=True)
        case aliases.AliasesChanged():
            if action.alias_id in refusal.changed:
                return StepError(code="alias_changed", message=CHANGED, retryable=False)
    return None


def _specs(task: Task, manifest: str) -> Iterator[AliasSpec]:
    place, after, price = task.action.place, task.action.after, task.action.price
    if place is not None and after is not None and price is not None and task.new_id is not None:
        yield AliasSpec(
            id=task.new_id,
            domain=place.domain,
            local_part=place.local_part,
            key=place.key,
            skeleton=place.skeleton,
            destinations=after.destinations,
            enabled=after.enabled,
            note=after.note,
            labels=after.labels,
            manifest=manifest,
            manifest_key=after.key,
            price=price.money,
            interval=price.interval,
        )


def _alias_changes(action: Action, manifest: str) -> Iterator[AliasChange]:
    after = action.after
    if after is not None and action.alias_id is not None and action.version is not None:
        yield AliasChange(
            id=action.alias_id,
            version=action.version,
            destinations=after.destinations,
            enabled=after.enabled,
            note=after.note,
            labels=after.labels,
            manifest=manifest,
            manifest_key=after.key,
        )
