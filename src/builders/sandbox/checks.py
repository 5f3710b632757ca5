"""What is wrong with a manifest: every error of every alias, not the first. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from builders.aliases.records import Alias, Name, Standing
from builders.catalog import service as catalog
from builders.sandbox.records import AliasWish, Finding

Routes = Mapping[Name, Sequence[Name]]  # from a name to those that mail to it is sent on to


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A wish, with what the catalog and the rules say of it."""

    wish: AliasWish
    written: str  # the address as the manifest has it, but for case and the form of the domain
    own: Name | None  # where it is unique if the account has it already, on a domain that is not shown too
    ruling: catalog.Ruling  # if it has not
    forwards: Sequence[Name]  # those of its destinations that are on domains of the catalog
    mine: Alias | None = None  # of this name, which the account has already

    @property
    def address(self) -> str:
        """Its name in a plan."""
        return f"alias.{self.wish.key}"

    @property
    def normal(self) -> str:
        """The address as it is delivered; one that is there keeps the spelling it was claimed in."""
        if self.mine is not None:
            return self.mine.address
        domain = self.ruling.domain
        return f"{self.ruling.verdict.normalized}@{domain.domain}" if domain else self.written

    @property
    def name(self) -> Name | None:
        """Where it is unique; None for what can be no name."""
        if self.mine is not None:
            return self.mine.name
        domain, key = self.ruling.domain, self.ruling.verdict.key
        return Name(domain.domain, key) if domain and key else None


def errors(wishes: Sequence[Judged], routes: Routes, standings: Mapping[Name, Standing]) -> Iterator[Finding]:
    """All that stands against the wishes; `routes` are those that are there already."""
    names = Counter(each.name for each in wishes)
    ahead: dict[Name, list[Name]] = {}
    for each in wishes:
        if each.name is not None:
            ahead.setdefault(each.name, []).extend(each.forwards)
    endless = _endless({**routes, **ahead})
    for each in wishes:
        if each.mine is None and (found := refusal(each.ruling, standings.get(each.name) if each.name else None)):
            yield Finding(code=found[0], address=each.address, message=found[1])
        if each.name is not None and names[each.name] > 1:
            message = "Another alias of the manifest has this name."
            yield Finding(code="duplicate_name", address=each.address, message=message)
        if each.name in endless:
            message = "Mail to it would go round in a circle of aliases."
            yield Finding(code="destination_loop", address=each.address, message=message)


def refusal(ruling: catalog.Ruling, standing: Standing | None) -> tuple[str, str] | None:
    """Code and message for why a name cannot be had, the same as the catalog's check gives; None when it can."""
    reason = ruling.refusal or (standing.reason if standing else None)
    if reason is None:
        return None
    return ruling.verdict.detail or reason, catalog.say(reason, ruling.verdict)


def _endless(routes: Routes) -> set[Name]:
    """The names from which mail gets into a circle: what is left when all that end somewhere are taken away."""
    sorter = TopologicalSorter(routes)
    try:
        sorter.prepare()
    except CycleError:
        pass  # the sorter still gives all that does not lead into one
    else:
        return set()
    endless = {name for name, ahead in routes.items() if ahead}
    while sorter.is_active() and (ends := sorter.get_ready()):
        endless.difference_update(ends)
        sorter.done(*ends)
    return endless
