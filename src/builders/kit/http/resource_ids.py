"""The id of a resource in a path: the handler gets a UUID; a malformed id is the same 404 as an unknown one."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from builders.kit.errors import Problem
from builders.kit.values import ids


@dataclass(frozen=True, slots=True)
class ResourceId:
    """Mark a path parameter as the id of a resource: `Annotated[UUID, Path(...), ResourceId(ProjectNotFound)]`.

    In the OpenAPI document the parameter is a plain string. The compiled route raises the refusal once it has read
    the whole request: a 422 or a 403 comes first, as for an unknown id.
    """

    not_found: type[Problem]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a text as an id; NIL for a malformed one, which `require` refuses later."""
        del source, handler
        return core_schema.no_info_after_validator_function(ids.parse, core_schema.str_schema())

    def require(self, resource_id: UUID) -> None:
        """Raise the refusal of the resource for a malformed id."""
        if resource_id == ids.NIL:
            raise self.not_found()
