"""Circles: names that forward to names, so that mail would go round and never arrive. Pure."""

from collections.abc import Container, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from builders.aliases.local_parts import key
from builders.aliases.records import Alias, Name, SeparatorPolicy
from builders.aliases.shape import normalize

Routes = Mapping[Name, Sequence[Name]]  # from a name to those that mail to it is sent on to


def endless(routes: Routes) -> set[Name]:
    """The names from which mail gets into a circle: what is left when all that end somewhere are taken away."""
    sorter = TopologicalSorter(routes)
    try:
        sorter.prepare()
    except CycleError:
        pass  # the sorter still gives all that does not lead into one
    else:
        return set()
    found = {name for name, ahead in routes.items() if ahead}
    while sorter.is_active() and (ends := sorter.get_ready()):
        found.difference_update(ends)
        sorter.done(*ends)
    return found


def spellings(destination: str) -> set[Name]:
    """The names that a destination can be, whichever separators its domain ignores; name+tag is sent to name."""
    local_part, _, domain = destination.rpartition("@")
    written = normalize(local_part.partition("+")[0])
    return {Name(domain, key(written, policy)) for policy in SeparatorPolicy} if written else set()


def routes_of(aliases: Sequence[Alias]) -> Routes:
    """Where aliases of one account send mail on among themselves.

    How a domain tells names apart is not known here, but can be read off each name: a destination is the name
    when it has its key under a rule that gives the name its key.
    """
    by_name = {alias.name: alias for alias in aliases}
    domains = {alias.domain for alias in aliases}
    return {alias.name: tuple(_ahead(alias, by_name, domains)) for alias in aliases}


def _ahead(alias: Alias, by_name: Mapping[Name, Alias], domains: Container[str]) -> Iterator[Name]:
    for destination in alias.destinations:
        if destination.rpartition("@")[2] not in domains:
            continue  # as most are
        for name in sorted(spellings(destination)):
            target = by_name.get(name)
            if target is not None and is_of(destination, target):
                yield name


def is_of(destination: str, alias: Alias) -> bool:
    """Whether mail to the destination is mail to the alias."""
    local_part, _, domain = destination.rpartition("@")
    written = normalize(local_part.partition("+")[0])
    return domain == alias.domain and any(
        key(written, policy) == alias.key
        for policy in SeparatorPolicy
        if key(alias.local_part, policy) == alias.key
    )
