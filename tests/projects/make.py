"""Create projects through the API, and build the records that a promotion passes."""

from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.projects.records import Project, ProjectChange, ProjectSpec, change_of
from tests.cast import Client

Json = dict[str, Any]
PATH = "/v1/builders/projects"
UNKNOWN_ID = "0193a1b2-0000-7000-8000-00000000000f"
ALL: Json = {
    "name": "Acme mail",
    "slug": "acme",
    "description": "Names for Acme.\nAsk Ada.",
    "website": "https://acme.example/mail",
    "allowed_domains": ["harbour.example"],
    "default_destination": "ops@example.net",
    "webhook_ids": [],
    "alias_limit": 500,
    "metadata": {"team": "growth"},
}

EMPTY: Json = {
    **dict.fromkeys(("slug", "description", "website", "default_destination", "alias_limit")),
    "allowed_domains": [],
    "webhook_ids": [],
    "metadata": {},
}


async def create(client: Client, name: str = "Lander", **members: Any) -> Json:
    """Create a project; return the reply."""
    answer = await client.post(PATH, json={"name": name, **members})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def read(client: Client, made: Json) -> Json:
    """Return the current project."""
    answer = await client.get(f"{PATH}/{made['id']}")
    assert answer.status_code == 200, answer.text
    shown: Json = answer.json()
    return shown


async def patch(client: Client, made: Json, **members: Any) -> Json:
    """Change the project; return the reply."""
    answer = await client.patch(f"{PATH}/{made['id']}", json=members)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


async def archive(client: Client, made: Json) -> Json:
    """Archive the project; return the reply."""
    answer = await client.delete(f"{PATH}/{made['id']}")
    assert answer.status_code == 200, answer.text
    archived: Json = answer.json()
    return archived


async def list_names(client: Client, **params: Any) -> list[str]:
    """Return the names of the projects on the first page of the list."""
    answer = await client.get(PATH, params=params)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["items"]]


async def published_events(conn: Conn, account_id: UUID) -> list[tuple[str, Json]]:
    """Return the events of the account's projects, oldest first: name and data."""
    cursor = await conn.execute(
        "SELECT name, data::json FROM kit_outbox WHERE account_id = %s AND name LIKE 'project.%%' ORDER BY id",
        [account_id],
    )
    return [(row[0], row[1]) for row in await cursor.fetchall()]


def spec(name: str = "Lander", **members: Any) -> ProjectSpec:
    """Return a project to create."""
    return ProjectSpec(id=ids.new(), **{**EMPTY, "name": name, **members})


def change(project: Project, **members: Any) -> ProjectChange:
    """Return a change of the project."""
    return change_of(project, **members)
