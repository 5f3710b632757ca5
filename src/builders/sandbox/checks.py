"""What is wrong with a manifest: every error of every alias, not the first. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from builders.aliases.records import Name, Reason, Verdict
from builders.catalog.records import CatalogDomain
from builders.sandbox.records import AliasWish, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A wish, with what the catalog and the rules say of it."""

    wish: AliasWish
    domain: CatalogDomain | None
    verdict: Verdict | None  # None without a domain

    @property
    def address(self) -> str:
        """Its name in a plan."""
        return f"alias.{self.wish.key}"

    @property
    def name(self) -> Name | None:
        """Where it is unique; None for what can be no name."""
        if self.domain is None or self.verdict is None or not self.verdict.key:
            return None
        return Name(self.domain.domain, self.verdict.key)


def errors(wishes: Sequence[Judged]) -> Iterator[Finding]:
    names = Counter(each.name for each in wishes if each.name is not None)
    owners = {each.name: each for each in wishes}
    for each in wishes:
        problem = _refusal(each)
        if problem is not None:
            yield Finding(code=problem[0], address=each.address, message=problem[1])
        elif each.name is not None and names[each.name] > 1:
            yield Finding(
                code="duplicate_name",
                address=each.address,
                message="Another alias of the manifest has this name.",
            )
        elif _loops(each, owners):
            yield Finding(
                code="destination_loop", address=each.address, message="It forwards to itself, in a circle."
            )


def _refusal(each: Judged) -> tuple[str, str] | None:
    if each.domain is None or each.verdict is None:
        return Reason.DOMAIN_UNKNOWN, f"{each.wish.domain} is not a domain of the catalog."
    if not each.domain.claimable:
        if each.domain.catch_all:
            return Reason.CATCH_ALL, f"All names on {each.domain.domain} belong to one owner."
        return Reason.DOMAIN_NOT_LIVE, f"Names on {each.domain.domain} cannot be claimed now."
    if not each.verdict.is_ok:
        return each.verdict.detail or each.verdict.reason, each.verdict.message
    return None


def _loops(start: Judged, owners: Mapping[Name | None, Judged]) -> bool:
    """Whether mail to the alias can come back to it by way of the manifest's other aliases."""
    by_address = {
        f"{each.verdict.normalized}@{name.domain}": each
        for name, each in owners.items()
        if name is not None and each.verdict is not None
    }
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for destination in ahead.pop().wish.destinations:
            following = by_address.get(destination.lower())
            if following is start:
                return True
            if following is not None and following.wish.key not in seen:
                seen.add(following.wish.key)
                ahead.append(following)
    return False
