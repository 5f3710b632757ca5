"""The id of a resource in a path is a ResourceId: a malformed id gives the same 404 as an unknown one."""

from collections.abc import Iterable, Iterator
from typing import Annotated
from uuid import UUID

import pytest
from fastapi import APIRouter, Path
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from builders.app import ROUTERS
from builders.kit.http.parameters import ResourceId
from builders.projects.errors import ProjectNotFound

# Other types of ids in paths, with the reason.
OTHERS: dict[str, tuple[type, str]] = {
    "member_account_id": (UUID, "the specification makes it a uuid: a malformed one is 422"),
    "domain_id": (str, "the domain of a portfolio is found by its name too"),
}


def is_id(name: str) -> bool:
    return name == "id" or name.endswith("_id")


def parameters(dependant: Dependant) -> Iterator[tuple[str, object, bool]]:
    """Yield the path parameters of a handler and of what it depends on: name, type, whether it is a ResourceId."""
    for each in dependant.path_params:
        marked = any(isinstance(mark, ResourceId) for mark in each.field_info.metadata)
        yield each.alias, each.field_info.annotation, marked
    for inner in dependant.dependencies:
        yield from parameters(inner)


def unmarked(routes: Iterable[BaseRoute]) -> Iterator[str]:
    """Yield ids in paths that are not a ResourceId."""
    for route in routes:
        if isinstance(route, APIRoute):
            for name, kind, marked in parameters(route.dependant):
                if is_id(name) and not marked and (name not in OTHERS or kind is not OTHERS[name][0]):
                    yield f"{route.path}: annotate {name} with ResourceId"


def test_every_id_in_a_path_is_a_resource_id() -> None:
    routes = [each for router in ROUTERS for each in router.routes]
    assert any("{project_id}" in each.path for each in routes if isinstance(each, APIRoute))
    assert list(unmarked(routes)) == []


async def by_uuid(lamp_id: UUID) -> None: ...


async def by_text(lamp_id: str) -> None: ...


async def by_alias(which: Annotated[UUID, Path(alias="id")]) -> None: ...


async def by_id_or_name(domain_id: str) -> None: ...


async def by_resource_id(lamp_id: Annotated[UUID, Path(), ResourceId(ProjectNotFound)]) -> None: ...


async def by_uuid_of_the_specification(member_account_id: UUID) -> None: ...


@pytest.mark.parametrize(
    ("path", "handler", "count"),
    [
        ("/lamps/{lamp_id}", by_uuid, 1),
        ("/lamps/{lamp_id}", by_text, 1),
        ("/lamps/{id}", by_alias, 1),
        ("/lamps/{lamp_id}", by_resource_id, 0),
        ("/domains/{domain_id}", by_id_or_name, 0),
        ("/members/{member_account_id}", by_uuid_of_the_specification, 0),
    ],
)
def test_an_unmarked_id_is_found(path: str, handler: object, count: int) -> None:
    router = APIRouter()
    router.add_api_route(path, handler)  # type: ignore[arg-type] # a handler
    assert len(list(unmarked(router.routes))) == count
