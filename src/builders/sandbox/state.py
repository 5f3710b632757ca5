"""The live state that a manifest or a plan concerns, read in a handful of statements whatever its size."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import LIVE, Name, Verdict, Wanted
from builders.catalog import service as catalog
from builders.catalog.records import CatalogDomain
from builders.kit.db import Conn
from builders.sandbox.checks import Judged
from builders.sandbox.plan import Live
from builders.sandbox.records import Action, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The catalog domains that a manifest speaks of, by A-label."""

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


async def directory(conn: Conn, *, manifest: Manifest) -> Directory:
    """The catalog domains that the manifest speaks of. One statement."""
    labels = {label for wish in manifest.aliases if (label := catalog.find_a_label(wish.domain))}
    labels |= {email.rpartition("@")[2] for wish in manifest.aliases for email in wish.destinations}
    return Directory(domains=await catalog.find_domains(conn, domains=labels))


def judge(manifest: Manifest, known: Directory) -> list[Judged]:
    """The wishes, each with what the catalog and the rules say of its name."""
    judged = []
    for wish in manifest.aliases:
        domain = known.find(wish.domain)
        key = known.judge(domain, wish.local_part).key if domain else ""
        judged.append(
            Judged(
                wish=wish,
                written=f"{wish.local_part.strip().lower()}@{domain.domain if domain else ''}",
                own=Name(domain.domain, key) if domain and key else None,
                ruling=catalog.rule(wish.local_part, domain),
                forwards=tuple(known.names(wish.destinations)),
            )
        )
    return judged


async def of_wishes(
    conn: Conn, *, account_id: UUID, manifest: Manifest, wishes: Sequence[Judged], known: Directory
) -> Live:
    """What the account has of the manifest, and why it cannot have the rest. Two statements."""
    wanted = [
        Wanted(domain=name.domain, key=name.key, skeleton=each.ruling.verdict.skeleton)
        for each in wishes
        if (name := each.name) is not None
    ]
    # One step beyond the manifest: a circle by way of an alias that is there already is seen too.
    names = {each.own for each in wishes if each.own} | {name for each in wishes for name in each.forwards}
    there = await aliases.list_aliases(conn, account_id=account_id, manifest=manifest.name, names=sorted(names))
    return Live(
        aliases=there,
        standings=await aliases.look_up(conn, realm=LIVE, wanted=wanted, account_id=account_id),
        domains=known.domains,
        routes={alias.name: tuple(known.names(alias.destinations)) for alias in there},
    )


async def of_actions(conn: Conn, *, account_id: UUID, manifest: str, actions: Sequence[Action]) -> Live:
    """What planned actions stand on, as it is now. Three statements."""
    places = [action.place for action in actions if action.place is not None]
    wanted = [Wanted(domain=place.domain, key=place.key, skeleton=place.skeleton) for place in places]
    there = await aliases.list_aliases(
        conn,
        account_id=account_id,
        manifest=manifest,
        names=[each.name for each in wanted],
        alias_ids=[action.alias_id for action in actions if action.alias_id is not None],
    )
    return Live(
        aliases=there,
        standings=await aliases.look_up(conn, realm=LIVE, wanted=wanted, account_id=account_id),
        domains=await catalog.find_domains(conn, domains={place.domain for place in places}),
        routes={},
    )
