"""Forwarding loops that later changes or single steps of a plan would close. Pure."""

from collections.abc import Iterator, Sequence

from builders.aliases import service as aliases
from builders.aliases.records import Alias, Name
from builders.sandbox.manifest import AliasView
from builders.sandbox.planning.live_state import LiveState, Routes
from builders.sandbox.planning.references import DomainIndex
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.resources.kinds import Task
from builders.sandbox.step_errors import StepError

LOOP = "Mail to it would loop through aliases."
_ORDER = list(ActionKind)


def list_routes(existing: Sequence[Alias], known: DomainIndex) -> Routes:
    """Return the names that aliases forward to: on known domains by their rules, else the other given aliases."""
    guessed = aliases.map_routes(existing)
    return {
        alias.name: (
            *known.names(alias.destinations),
            *(name for name in guessed[alias.name] if name.domain not in known.domains),
        )
        for alias in existing
    }


def drift(actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the loops that run through aliases created or changed after the plan was made."""
    known, by_id = DomainIndex(domains=live.domains), {alias.id: alias.name for alias in live.aliases}
    routes = dict(list_routes([*live.aliases, *live.forwarded], known))
    wanted = dict[Name, Action]()
    for action in actions:
        old = by_id.get(action.resource_id) if action.resource_id else None
        if old is not None:
            routes.pop(old, None)  # the plan releases or redirects it
        name = Name(action.place.domain, action.place.key) if action.place else old
        if name is not None and isinstance(action.after, AliasView):
            wanted[name] = action
    views = ((name, action.after) for name, action in wanted.items())
    routes |= {name: tuple(known.names(view.destinations)) for name, view in views if isinstance(view, AliasView)}
    for name in aliases.find_looping_names(routes) & wanted.keys():
        yield Finding(code="destination_loop", address=wanted[name].address, message=LOOP)


def list_redirected(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks after which an alias forwards to another destination."""
    return [task for task in tasks if _changes_destination(task.action)]


def find_faults(tasks: Sequence[Task], existing: Sequence[Alias], found: Routes) -> dict[int, StepError]:
    """Return the errors of executed tasks that close a loop, by position; `found` are the current routes."""
    looping_names = aliases.find_looping_names(found)
    looping = {alias.id for alias in existing if alias.name in looping_names}
    error = StepError(code="destination_loop", message=LOOP)
    return {task.position: error for task in tasks if task.resource_id in looping}


def need_one_batch(actions: Sequence[Action]) -> bool:
    """Return whether all actions on aliases must be one batch.

    An early stage can close a loop that a later stage opens again, and would stay if the later stage failed. The
    check compares only domains, and only within the plan.
    """
    changing = [each for each in actions if each.action is not ActionKind.NO_OP]
    views = [view for each in changing for view in (each.before, each.after) if isinstance(view, AliasView)]
    domains = {view.address.rpartition("@")[2] for view in views}
    closing = [each for each in changing if _changes_destination(each) and _forwards_to(each.after, domains)]
    opening = [
        each
        for each in changing
        if (_changes_destination(each) or not each.after) and _forwards_to(each.before, domains)
    ]
    return bool(closing and opening) and min(map(_stage, closing)) < max(map(_stage, opening))


def _stage(action: Action) -> int:
    return _ORDER.index(action.action)


def _changes_destination(action: Action) -> bool:
    before, after = action.before, action.after
    if not isinstance(after, AliasView):
        return False
    if action.place is not None or not isinstance(before, AliasView):
        return True
    return set(before.destinations) != set(after.destinations)


def _forwards_to(view: object, domains: set[str]) -> bool:
    return isinstance(view, AliasView) and any(each.rpartition("@")[2] in domains for each in view.destinations)
