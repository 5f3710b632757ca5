"""The registry of names as the usual stack asks it."""

from collections.abc import Sequence, Set as AbstractSet

from sqlalchemy import ARRAY, DateTime, Text, and_, bindparam, column, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from bench.tables import AliasLook, AliasName
from builders.aliases.records import LIVE
from builders.catalog.suggestions.scoring import Candidate
from builders.kit.values import clock

Name = tuple[str, str]  # a domain and a key

_wanted_rows = (
    func.unnest(
        bindparam("domains", type_=ARRAY(Text)),
        bindparam("keys", type_=ARRAY(Text)),
        bindparam("skeletons", type_=ARRAY(Text)),
    )
    .table_valued(column("domain", Text), column("key", Text), column("skeleton", Text), name="wanted")
    .render_derived()
)
_LOOK_UP = (
    select(_wanted_rows.c.domain, _wanted_rows.c.key)
    .select_from(_wanted_rows)
    .outerjoin(
        AliasName,
        and_(
            AliasName.realm == LIVE,
            AliasName.domain == _wanted_rows.c.domain,
            AliasName.key == _wanted_rows.c.key,
            or_(AliasName.until.is_(None), AliasName.until > bindparam("now", type_=DateTime(timezone=True))),
        ),
    )
    .outerjoin(
        AliasLook,
        and_(
            AliasLook.realm == LIVE,
            AliasLook.domain == _wanted_rows.c.domain,
            AliasLook.skeleton == _wanted_rows.c.skeleton,
            AliasLook.names > 0,
        ),
    )
    .where(or_(AliasName.realm.is_not(None), AliasLook.realm.is_not(None)))
)


async def taken(session: AsyncSession, names: Sequence[tuple[str, str, str]]) -> set[Name]:
    """Those of the (domain, key, skeleton) that are not free, in one statement."""
    domains, keys, skeletons = (list(each) for each in zip(*names, strict=True))
    row = {"domains": domains, "keys": keys, "skeletons": skeletons, "now": clock.now()}
    return {(each[0], each[1]) for each in await session.execute(_LOOK_UP, row)}


def wanted(candidates: Sequence[Candidate]) -> list[tuple[str, str, str]]:
    """What to ask for."""
    return [(each.domain.domain, each.key, each.skeleton) for each in candidates]


def free(candidates: Sequence[Candidate], taken: AbstractSet[Name]) -> list[Candidate]:
    """Those that are not taken."""
    return [each for each in candidates if (each.domain.domain, each.key) not in taken]
