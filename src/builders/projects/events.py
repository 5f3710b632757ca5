"""Events of projects."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from builders.kit.events.outbox import declare
from builders.kit.http.bodies import EventManifest, EventManifestKey, Version
from builders.mail import addresses
from builders.projects.records import Project


class ProjectData(BaseModel):
    """A project. Its default destination is masked, because webhook receivers store events."""

    id: Annotated[UUID, Field(description="Identifier of the project.")]
    name: Annotated[str, Field(description="Name of the project.")]
    slug: Annotated[str, Field(description="Short name for URLs and manifests.")]
    status: Annotated[str, Field(description="`active` or `archived`.")]
    changed: Annotated[list[str], Field(description="Names of the members that changed; empty for a new project.")]
    website: Annotated[str | None, Field(description="http or https address; null when not set.")]
    allowed_domains: Annotated[list[str], Field(description="Domains allowed for its aliases; empty: any.")]
    default_destination: Annotated[
        str | None,
        Field(description="Default recipient of its aliases, masked; null when not set."),
    ]
    alias_limit: Annotated[int | None, Field(description="Maximum number of its aliases; null: no limit.")]
    manifest: EventManifest
    manifest_key: EventManifestKey
    version: Version


PROJECT_CREATED = declare(name="project.created", description="A project was created.", data=ProjectData)
PROJECT_UPDATED = declare(
    name="project.updated",
    description="Fields of a project changed; `changed` names them.",
    data=ProjectData,
)
PROJECT_ARCHIVED = declare(
    name="project.archived",
    description="A project was archived. It accepts no new aliases; its aliases continue to work.",
    data=ProjectData,
)
PROJECT_RESTORED = declare(
    name="project.restored", description="An archived project was restored.", data=ProjectData
)


def project_data(project: Project, changed: Sequence[str] = ()) -> ProjectData:
    """Return the data of an event about the project, of which these fields changed."""
    members = {name: getattr(project, name) for name in ProjectData.model_fields if name != "changed"}
    if project.default_destination is not None:
        members["default_destination"] = addresses.mask(project.default_destination)
    return ProjectData(changed=list(changed), **members)
