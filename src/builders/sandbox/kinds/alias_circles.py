"""Circles of mail that a plan would close by now, or between its steps, and not when it was made. Pure."""

from collections.abc import Iterator, Sequence

from builders.aliases import service as aliases
from builders.aliases.records import Alias, Name
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.alias_judging import Directory
from builders.sandbox.kinds.live import Live, Routes
from builders.sandbox.kinds.work import Task
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.views import AliasView

LOOP = "Mail to it would go round in a circle of aliases by now."
_ORDER = list(ActionKind)


def routes(there: Sequence[Alias], known: Directory) -> Routes:
    """Where aliases send mail on among the names of known domains, and among themselves on others."""
    guessed = aliases.routes_of(there)
    return {
        alias.name: (
            *known.names(alias.destinations),
            *(name for name in guessed[alias.name] if name.domain not in known.domains),
        )
        for alias in there
    }


def drift(actions: Sequence[Action], live: Live) -> Iterator[Finding]:
    """Where mail would go round by way of an alias that was none, or led elsewhere, when the plan was made."""
    known, by_id = Directory(domains=live.domains), {alias.id: alias.name for alias in live.aliases}
    routes, wanted = dict(live.routes), dict[Name, Action]()
    for action in actions:
        old = by_id.get(action.resource_id) if action.resource_id else None
        if old is not None:
            routes.pop(old, None)  # it is given up, or leads where the plan says
        name = Name(action.place.domain, action.place.key) if action.place else old
        if name is not None and isinstance(action.after, AliasView):
            wanted[name] = action
    views = ((name, action.after) for name, action in wanted.items())
    routes |= {name: tuple(known.names(view.destinations)) for name, view in views if isinstance(view, AliasView)}
    for name in aliases.endless(routes) & wanted.keys():
        yield Finding(code="destination_loop", address=wanted[name].address, message=LOOP)


def redirected(tasks: Sequence[Task]) -> list[Task]:
    """The tasks after which an alias forwards where it did not before."""
    return [task for task in tasks if _leads_elsewhere(task.action)]


def faults(tasks: Sequence[Task], there: Sequence[Alias], found: Routes) -> dict[int, StepError]:
    """Which of the tasks, now done, have mail go round, by position; `found` are the routes from them."""
    endless = aliases.endless(found)
    looping = {alias.id for alias in there if alias.name in endless}
    error = StepError(code="destination_loop", message=LOOP)
    return {task.position: error for task in tasks if task.resource_id in looping}


def are_tangled(actions: Sequence[Action]) -> bool:
    """Whether a circle could stand until a later stage opens it: then all stages of aliases are to be done as one.

    Else it would stay when that stage fails. It needs an alias that is sent to another, and one that no more is
    later; which names they are is not looked at, nor names that the plan does not have.
    """
    changing = [each for each in actions if each.action is not ActionKind.NO_OP]
    views = [view for each in changing for view in (each.before, each.after) if isinstance(view, AliasView)]
    domains = {view.address.rpartition("@")[2] for view in views}
    closing = [each for each in changing if _leads_elsewhere(each) and _leads_to(each.after, domains)]
    opening = [
        each for each in changing if (_leads_elsewhere(each) or not each.after) and _leads_to(each.before, domains)
    ]
    return bool(closing and opening) and min(map(_stage, closing)) < max(map(_stage, opening))


def _stage(action: Action) -> int:
    return _ORDER.index(action.action)


def _leads_elsewhere(action: Action) -> bool:
    before, after = action.before, action.after
    if not isinstance(after, AliasView):
        return False
    if action.place is not None or not isinstance(before, AliasView):
        return True
    return set(before.destinations) != set(after.destinations)


def _leads_to(view: object, domains: set[str]) -> bool:
    return isinstance(view, AliasView) and any(each.rpartition("@")[2] in domains for each in view.destinations)
