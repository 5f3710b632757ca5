"""Look-ups of claimed names in the FastAPI + ORM stack."""

from collections.abc import Sequence, Set as AbstractSet

from sqlalchemy import ARRAY, DateTime, Text, and_, bindparam, column, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from bench.fastapi_orm_tables import AliasName, AliasSkeleton
from builders.aliases.records import LIVE
from builders.catalog.suggestions import Candidate
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
        AliasSkeleton,
        and_(
            AliasSkeleton.realm == LIVE,
            AliasSkeleton.domain == _wanted_rows.c.domain,
            AliasSkeleton.skeleton == _wanted_rows.c.skeleton,
            AliasSkeleton.names > 0,
        ),
    )
    .where(or_(AliasName.realm.is_not(None), AliasSkeleton.realm.is_not(None)))
)


async def find_taken(session: AsyncSession, names: Sequence[tuple[str, str, str]]) -> set[Name]:
    """Return those of the (domain, key, skeleton) that cannot be claimed, in one statement."""
    domains, keys, skeletons = (list(each) for each in zip(*names, strict=True))
    row = {"domains": domains, "keys": keys, "skeletons": skeletons, "now": clock.now()}
    return {(each[0], each[1]) for each in await session.execute(_LOOK_UP, row)}


def keys_of(candidates: Sequence[Candidate]) -> list[tuple[str, str, str]]:
    """Return the parameters of `find_taken` for these candidates."""
    return [(each.domain.domain, each.key, each.skeleton) for each in candidates]


def without_taken(candidates: Sequence[Candidate], taken: AbstractSet[Name]) -> list[Candidate]:
    """Return the candidates that are not taken."""
    return [each for each in candidates if (each.domain.domain, each.key) not in taken]
