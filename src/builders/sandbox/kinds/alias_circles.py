"""Circles of mail that a plan would close by now, though it did not when it was made. Pure."""

from collections.abc import Iterator, Sequence

from builders.aliases import service as aliases
from builders.aliases.records import Name
from builders.sandbox.kinds.alias_judging import Directory
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import Action, Finding
from builders.sandbox.views import AliasView

LOOP = "Mail to it would go round in a circle of aliases by now."


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
