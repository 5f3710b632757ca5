"""What the catalog, the account's own domains and the rules say of wanted names. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builders.aliases import service as aliases
from builders.aliases.records import Name, Verdict
from builders.catalog import service as catalog
from builders.catalog.records import CatalogDomain
from builders.sandbox.kinds.alias_checks import Judged
from builders.sandbox.kinds.homes import Homes
from builders.sandbox.wishes import AliasWish, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The domains that a manifest speaks of, by A-label."""

    domains: Mapping[str, CatalogDomain]

    def find(self, written: str) -> CatalogDomain | None:
        """The domain, in whatever form it is written."""
        return self.domains.get(catalog.find_a_label(written) or "")

    def judge(self, domain: CatalogDomain, local_part: str) -> Verdict:
        """What the rules say of a name on the domain."""
        return aliases.judge(local_part, domain=domain.domain, rules=domain.rules)

    def names(self, destinations: Sequence[str]) -> Iterator[Name]:
        """Those of the destinations, A-labels, that are names on these domains; name+tag is delivered to name."""
        for destination in destinations:
            local_part, _, label = destination.rpartition("@")
            domain = self.domains.get(label)
            if domain is not None:
                key = self.judge(domain, local_part.partition("+")[0]).key
                if key:
                    yield Name(domain.domain, key)


def labels(manifest: Manifest, defaults: Sequence[str]) -> set[str]:
    """The A-labels of all domains that the manifest speaks of; `defaults` are its projects' destinations."""
    written = [wish.domain for wish in manifest.aliases] + [wish.domain for wish in manifest.domains]
    found = {label for each in written if (label := catalog.find_a_label(each))}
    mailboxes = [*defaults, *(email for wish in manifest.aliases for email in wish.destinations)]
    return found | {email.rpartition("@")[2] for email in mailboxes}


def judge(manifest: Manifest, known: Directory, homes: Homes) -> list[Judged]:
    """The wishes, each with its project, and with what the catalog and the rules say of its name."""
    return [_judged(wish, known, homes, manifest.project) for wish in manifest.aliases]


def _judged(wish: AliasWish, known: Directory, homes: Homes, project: str | None) -> Judged:
    reference = wish.project or project
    home = homes.find(reference)
    if not wish.destinations and home is not None and home.project.default_destination:
        wish = replace(wish, destinations=(home.project.default_destination,))
    domain = known.find(wish.domain)
    key = known.judge(domain, wish.local_part).key if domain else ""
    return Judged(
        wish=wish,
        written=f"{wish.local_part.strip().lower()}@{domain.domain if domain else ''}",
        own=Name(domain.domain, key) if domain and key else None,
        ruling=catalog.rule(wish.local_part, domain),
        forwards=tuple(known.names(wish.destinations)),
        home=home,
        is_lost=reference is not None and home is None,
    )
