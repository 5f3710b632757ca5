"""What projects tell."""

from uuid import UUID

from pydantic import BaseModel

from builders.kit.outbox import Event, declare


class ProjectData(BaseModel):
    """A project; its default destination is masked, since news travels far."""

    id: UUID
    name: str
    slug: str
    status: str
    changed: list[str]
    website: str | None
    allowed_domains: list[str]
    default_destination: str | None
    alias_limit: int | None
    manifest: str | None
    manifest_key: str | None
    version: int


_EXAMPLE = ProjectData(
    id=UUID("0193a1b2-0000-7000-8000-000000000006"),
    name="Acme mail",
    slug="acme-mail",
    status="active",
    changed=[],
    website="https://acme.example/",
    allowed_domains=["harbour.example"],
    default_destination="o***@example.net",
    alias_limit=500,
    manifest=None,
    manifest_key=None,
    version=1,
)
_CHANGED = _EXAMPLE.model_copy(update={"changed": ["alias_limit"], "version": 2})
_ARCHIVED = _EXAMPLE.model_copy(update={"status": "archived", "version": 3})
_RESTORED = _EXAMPLE.model_copy(update={"version": 4})

PROJECT_CREATED = declare(
    Event(name="project.created", version=1, description="A project was opened.", example=_EXAMPLE)
)
PROJECT_UPDATED = declare(
    Event(
        name="project.updated",
        version=1,
        description="What a project says or allows is another; `changed` names the members.",
        example=_CHANGED,
    )
)
PROJECT_ARCHIVED = declare(
    Event(
        name="project.archived",
        version=1,
        description="A project takes no new names; those it has go on working.",
        example=_ARCHIVED,
    )
)
PROJECT_RESTORED = declare(
    Event(
        name="project.restored", version=1, description="An archived project is active again.", example=_RESTORED
    )
)
