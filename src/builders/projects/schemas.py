"""Requests of projects, and the answer to a change."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StrictBool, StrictInt

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody
from builders.kit.http.members import create_of, patch_of, written_of
from builders.kit.values.docs import doc
from builders.projects.fields import MAX_METADATA, MetadataKey, MetadataValue, parse_integral
from builders.projects.records import Project

ProjectWritten = written_of(Project)


@create_of(
    Project,
    "name",
    slug=None,
    description=None,
    website=None,
    allowed_domains=None,
    default_destination=None,
    webhook_ids=None,
    alias_limit=None,
    metadata=None,
)
class ProjectCreate(Body):
    """A project to create. Only its name is required."""


@patch_of(
    Project,
    *("name", "slug", "description", "website", "allowed_domains", "default_destination", "webhook_ids"),
    "alias_limit",
)
class ProjectUpdate(PatchBody):
    """A merge patch of a project (RFC 7396): absent members keep their value, null clears. At least one member."""

    conditions = frozenset({"version"})

    metadata: Annotated[
        dict[MetadataKey, MetadataValue | None] | None,
        Field(max_length=2 * MAX_METADATA, description="Pairs to set; a pair with null is removed."),
    ] = None
    archived: Annotated[StrictBool, NOT_NULL, doc("False restores an archived project, true archives it.")] = (
        ABSENT
    )
    version: Annotated[
        StrictInt,
        NOT_NULL,
        Field(
            ge=1,
            description="The version that the patch applies to, like If-Match; it does not count as a change.",
        ),
        BeforeValidator(parse_integral),
    ] = ABSENT


# What a support session with write access can send: neither the default destination nor the webhooks.
SUPPORT_FIELDS = (
    *("name", "slug", "description", "website", "allowed_domains"),
    *("alias_limit", "metadata", "archived", "version"),
)
