"""What the operations on a name have in common."""

from typing import Annotated
from uuid import UUID

from fastapi import Path

from builders.aliases.errors import AliasNotFound
from builders.aliases.records import LIVE
from builders.kit.callers import Caller
from builders.kit.http.parameters import ResourceId

AliasId = Annotated[UUID, Path(description="Identifier of the alias."), ResourceId(AliasNotFound)]


def realm_of(caller: Caller) -> UUID:
    """Return the realm of the caller's names."""
    return LIVE if caller.is_live else caller.account_id
