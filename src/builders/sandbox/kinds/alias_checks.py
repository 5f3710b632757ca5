"""What is wrong with a manifest: every error of every alias, not the first. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from builders.aliases import service as aliases
from builders.aliases.records import Alias, Name, Standing
from builders.catalog import service as catalog
from builders.sandbox.kinds import findings
from builders.sandbox.kinds.homes import Home
from builders.sandbox.kinds.live import Routes
from builders.sandbox.records import Finding
from builders.sandbox.wishes import AliasWish


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A wish, with what the catalog and the rules say of it."""

    wish: AliasWish
    written: str  # the address as the manifest has it, but for case and the form of the domain
    own: Name | None  # where it is unique if the account has it already, on a domain that is not shown too
    ruling: catalog.Ruling  # if it has not
    forwards: Sequence[Name]  # those of its destinations that are on domains of the catalog
    mine: Alias | None = None  # of this name, which the account has already
    home: Home | None = None  # its project
    is_lost: bool = False  # it names a project that is not there
    is_own: bool = False  # on a domain of the account's own
    domain_address: str | None = None  # of the action on its domain, if the manifest has it

    @property
    def domain(self) -> str:
        """The A-label of its domain; empty when that is not known."""
        return self.own.domain if self.own else ""

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
    endless = aliases.endless({**routes, **ahead})
    for each in wishes:
        if each.mine is None and (found := refusal(each.ruling, standings.get(each.name) if each.name else None)):
            yield Finding(code=found[0], address=each.address, message=found[1])
        if each.is_lost:
            message = "There is no such project, by key, slug or id."
            yield Finding(code="project_not_found", address=each.address, message=message)
        if each.home is not None and each.home.is_pruned:
            yield Finding(code="project_pruned", address=each.address, message=findings.HOME_PRUNED)
        if not each.wish.destinations:
            message = "An alias needs a destination, its own or its project's default_destination."
            yield Finding(code="destination_missing", address=each.address, message=message)
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
