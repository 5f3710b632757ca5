"""Events of projects."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel

from builders.kit.events.outbox import declare
from builders.kit.events.payloads import event_of, values_of
from builders.kit.values.docs import doc
from builders.projects.records import Project


@event_of(
    Project,
    *("id", "name", "slug", "status", "changed", "website", "allowed_domains", "default_destination"),
    *("alias_limit", "manifest", "manifest_key", "version"),
)
class ProjectData(BaseModel):
    """A project. Its default destination is masked, because webhook receivers store events."""

    status: Annotated[str, doc("`active` or `archived`.")]
    changed: Annotated[list[str], doc("Names of the members that changed; empty for a new project.")]


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
    return ProjectData(changed=list(changed), **values_of(project, ProjectData))
