"""The live state that a manifest or a plan concerns, read in a handful of statements whatever its size."""

from collections.abc import Sequence
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import LIVE, Name, Wanted
from builders.catalog import service as catalog
from builders.kit.db import Conn
from builders.sandbox.checks import Judged
from builders.sandbox.plan import Live
from builders.sandbox.records import Action, AliasWish


async def judge(conn: Conn, *, wishes: Sequence[AliasWish]) -> list[Judged]:
    """The wishes, each with its catalog domain and what the rules say of its name. One statement."""
    labels = {wish.domain: catalog.find_a_label(wish.domain) for wish in wishes}
    domains = await catalog.find_domains(conn, domains={label for label in labels.values() if label})
    judged = []
    for wish in wishes:
        domain = domains.get(labels[wish.domain] or "")
        verdict = None
        if domain is not None:
            verdict = aliases.judge(wish.local_part, domain=domain.domain, rules=domain.rules)
        judged.append(Judged(wish=wish, domain=domain, verdict=verdict))
    return judged


async def of_wishes(conn: Conn, *, account_id: UUID, manifest: str, wishes: Sequence[Judged]) -> Live:
    """What the account has of the manifest, and why it cannot have the rest. Two statements."""
    wanted = [
        Wanted(domain=name.domain, key=name.key, skeleton=each.verdict.skeleton)
        for each in wishes
        if (name := each.name) is not None and each.verdict is not None
    ]
    names = [Name(each.domain, each.key) for each in wanted]
    return Live(
        aliases=await aliases.list_aliases(conn, account_id=account_id, manifest=manifest, names=names),
        standings=await aliases.look_up(conn, realm=LIVE, wanted=wanted, account_id=account_id),
        domains={},
    )


async def of_actions(conn: Conn, *, account_id: UUID, actions: Sequence[Action]) -> Live:
    """What planned actions stand on, as it is now. Three statements."""
    places = [action.place for action in actions if action.place is not None]
    wanted = [Wanted(domain=place.domain, key=place.key, skeleton=place.skeleton) for place in places]
    names = [Name(place.domain, place.key) for place in places]
    alias_ids = [action.alias_id for action in actions if action.alias_id is not None]
    return Live(
        aliases=await aliases.list_aliases(conn, account_id=account_id, names=names, alias_ids=alias_ids),
        standings=await aliases.look_up(conn, realm=LIVE, wanted=wanted, account_id=account_id),
        domains=await catalog.find_domains(conn, domains={place.domain for place in places}),
    )
