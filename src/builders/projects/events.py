"""Events of projects."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.http.bodies import EventManifest, EventManifestKey
from builders.kit.values.docs import Version, doc
from builders.mail import addresses
from builders.projects.records import Project


class ProjectData(BaseModel):
    """A project. Its default destination is masked, because webhook receivers store events."""

    id: Annotated[UUID, doc("Identifier of the project.")]
    name: Annotated[str, doc("Name of the project.")]
    slug: Annotated[str, doc("Short name for URLs and manifests.")]
    status: Annotated[str, doc("`active` or `archived`.")]
    changed: Annotated[list[str], doc("Names of the members that changed; empty for a new project.")]
    website: Annotated[str | None, doc("http or https address; null when not set.")]
    allowed_domains: Annotated[list[str], doc("Domains allowed for its aliases; empty: any.")]
    default_destination: Annotated[str | None, doc("Default recipient of its aliases, masked; null when not set.")]
    alias_limit: Annotated[int | None, doc("Maximum number of its aliases; null: no limit.")]
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
