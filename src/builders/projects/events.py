"""What projects tell."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import Event, declare
from builders.kit.http.members import EventManifest, EventManifestKey, Version


class ProjectData(BaseModel):
    """A project; its default destination is masked, since news travels far."""

    id: Annotated[UUID, Field(description="Identifier of the project.")]
    name: Annotated[str, Field(description="Name of the project.")]
    slug: Annotated[str, Field(description="Short name for URLs and manifests.")]
    status: Annotated[str, Field(description="`active` or `archived`.")]
    changed: Annotated[list[str], Field(description="Names of the members that changed; empty for a new project.")]
    website: Annotated[str | None, Field(description="http or https address; null when not set.")]
    allowed_domains: Annotated[list[str], Field(description="Domains on which its names may be; empty: any.")]
    default_destination: Annotated[
        str | None,
        Field(description="Recipient of its names that have none of their own, masked; null without one."),
    ]
    alias_limit: Annotated[int | None, Field(description="Most names that it may have; null: no limit.")]
    manifest: EventManifest
    manifest_key: EventManifestKey
    version: Version


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
