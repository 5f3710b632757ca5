"""A malformed id in a path is the 404 of an unknown resource, after everything else of the request was read."""

from typing import Annotated, Any
from uuid import UUID

import pytest
from fastapi import FastAPI, Header, Path, Query
from pydantic import BaseModel

from builders.identity.errors import SessionNotFound
from builders.kit.http import application
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import PathRouter, Router
from builders.projects.errors import ProjectNotFound
from tests.kit.asgi import ask

ID = "0189b0e2-7d3a-7000-8000-000000000000"
MALFORMED = ["x", "0189b0e27d3a70008000000000000000", f"%7B{ID}%7D", f"{ID}%20", "%ff", "%C3%A4"]


LampId = Annotated[UUID, Path(description="Identifier of the lamp."), ResourceId(ProjectNotFound)]
ShadeId = Annotated[UUID, Path(alias="id"), ResourceId(SessionNotFound)]


class LampUpdate(BaseModel):
    """A body with a rule."""

    watts: int


@pytest.fixture
def app() -> FastAPI:
    return application.make_app()


@pytest.fixture
def front(app: FastAPI) -> PathRouter:
    router = Router(prefix="/v1/lamps", tags=["lamps"])

    @router.get("/{lamp_id}")
    async def read(lamp_id: LampId, deep: Annotated[bool, Query()] = False) -> dict[str, Any]:
        return {"type": type(lamp_id).__name__, "id": str(lamp_id), "deep": deep}

    @router.patch("/{lamp_id}")
    async def change(lamp_id: LampId, body: LampUpdate) -> dict[str, Any]:
        return {"id": str(lamp_id), "watts": body.watts}

    # A header is read by FastAPI's own parser, and with it the path.
    @router.get("/{lamp_id}/shades/{id}")
    async def read_shade(
        lamp_id: LampId, shade_id: ShadeId, x_level: Annotated[int, Header()] = 1
    ) -> dict[str, Any]:
        return {"lamp": str(lamp_id), "shade": str(shade_id), "level": x_level}

    app.state.database = None  # no handler here asks for one
    return PathRouter(app, [router])


@pytest.mark.parametrize("text", [ID, ID.upper()])
async def test_the_handler_gets_a_uuid(front: PathRouter, text: str) -> None:
    answer = await ask(front, "GET", f"/v1/lamps/{text}?deep=yes")
    assert answer.json() == {"type": "UUID", "id": ID, "deep": True}


@pytest.mark.parametrize("text", MALFORMED)
async def test_a_malformed_id_is_the_404_of_the_resource(front: PathRouter, text: str) -> None:
    answer = await ask(front, "GET", f"/v1/lamps/{text}")
    assert (answer.status, answer.json()["code"]) == (404, "project_not_found")
    assert answer.json()["detail"] == ProjectNotFound().detail


async def test_each_id_of_a_path_has_its_own_404_and_the_first_wins(front: PathRouter) -> None:
    right = await ask(front, "GET", f"/v1/lamps/{ID}/shades/{ID}")
    shade = await ask(front, "GET", f"/v1/lamps/{ID}/shades/x")
    both = await ask(front, "GET", "/v1/lamps/x/shades/x")
    assert right.json() == {"lamp": ID, "shade": ID, "level": 1}
    assert (shade.status, shade.json()["detail"]) == (404, SessionNotFound.default_detail)
    assert (both.status, both.json()["code"]) == (404, "project_not_found")


async def test_other_errors_of_the_request_come_first(front: PathRouter) -> None:
    query = await ask(front, "GET", "/v1/lamps/x?deep=perhaps")
    json = [("Content-Type", "application/json")]
    body = await ask(front, "PATCH", "/v1/lamps/x", body=b'{"watts": "many"}', headers=json)
    header = await ask(front, "GET", "/v1/lamps/x/shades/x", headers=[("X-Level", "high")])
    assert [each.status for each in (query, body, header)] == [422, 422, 422]
    right = await ask(front, "PATCH", "/v1/lamps/x", body=b'{"watts": 5}', headers=json)
    assert (right.status, right.json()["code"]) == (404, "project_not_found")


def test_the_document_shows_a_plain_string(front: PathRouter, app: FastAPI) -> None:
    assert "GET" in front.table.find(f"/v1/lamps/{ID}")[0]
    [shown, _] = app.openapi()["paths"]["/v1/lamps/{lamp_id}"]["get"]["parameters"]
    assert (shown["name"], shown["in"], shown["schema"]["type"]) == ("lamp_id", "path", "string")
    assert not shown["schema"].keys() & {"format", "pattern", "anyOf"}
