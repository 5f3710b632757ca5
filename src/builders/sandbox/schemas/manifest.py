"""The manifest, as it is sent."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.kit.http.bodies import StrictBody, by_example
from builders.sandbox.examples import plans as examples
from builders.sandbox.manifest import MAX_RESOURCES, Manifest, OnConflict
from builders.sandbox.schemas.resources import (
    ManifestAlias,
    ManifestDomain,
    ManifestProject,
    ManifestWebhook,
    ProjectReference,
)
from builders.sandbox.schemas.values import Labels

# Not in the OpenAPI document: generated clients drop the members of a schema that has alternatives.
_EITHER: dict[str, Any] = {"anyOf": [{"required": ["address"]}, {"required": ["local_part", "domain"]}]}
Resource = ManifestAlias | ManifestDomain | ManifestProject | ManifestWebhook


class ManifestMetadata(StrictBody):
    """What the manifest is called; the same name manages the same resources."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$",
            description="Name of the manifest: it manages the resources that were made under this name.",
        ),
    ]
    labels: Annotated[Labels, Field(description="Your own pairs of text, kept with the plan.")] = Field(
        default_factory=dict
    )


class ManifestResources(StrictBody):
    """What is wanted; keys are unique in each list."""

    projects: Annotated[list[ManifestProject], Field(description="Wanted projects.")] = Field(
        default_factory=list, max_length=MAX_RESOURCES
    )
    domains: Annotated[
        list[ManifestDomain], Field(description="Wanted settings of domains that the account has.")
    ] = Field(default_factory=list, max_length=MAX_RESOURCES)
    webhooks: Annotated[list[ManifestWebhook], Field(description="Wanted webhook destinations.")] = Field(
        default_factory=list, max_length=MAX_RESOURCES
    )
    aliases: Annotated[list[ManifestAlias], Field(description="Wanted names.")] = Field(
        default_factory=list, max_length=MAX_RESOURCES
    )

    @model_validator(mode="after")
    def _in_bounds(self) -> Self:
        lists = {name: getattr(self, name) for name in type(self).model_fields}
        if sum(map(len, lists.values())) > MAX_RESOURCES:
            raise PydanticCustomError(
                "too_many_resources", "A manifest has at most {most} resources.", {"most": MAX_RESOURCES}
            )
        lines = [line for name, listed in lists.items() for line in _repeated(name, listed)]
        if lines:
            raise ValidationError.from_exception_data("resources", lines)
        return self


def _repeated(name: str, listed: Sequence[Resource]) -> Iterator[InitErrorDetails]:
    first: dict[str, int] = {}
    error = PydanticCustomError("duplicate_key", "Another resource of this kind in the manifest has this key.")
    for at, each in enumerate(listed):
        if first.setdefault(each.key, at) != at:
            yield InitErrorDetails(type=error, loc=(name, at, "key"), input=None)


class SandboxManifest(StrictBody):
    """Wanted state. Unknown members are refused, since a typo would change what is planned."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.MANIFEST))

    api_version: Annotated[Literal["v1"], Field(description="Version of the form of a manifest.")]
    kind: Annotated[Literal["Manifest"], Field(description="Always `Manifest`.")]
    metadata: Annotated[ManifestMetadata, Field(description="Name and labels of the manifest.")]
    project: Annotated[ProjectReference | None, Field(description="Of the aliases that name none.")] = None
    prune: Annotated[
        StrictBool, Field(description="Delete what this manifest created or adopted, and no longer has.")
    ] = False
    on_conflict: Annotated[OnConflict, Field(description="For what the account has, but not by this one.")] = (
        OnConflict.FAIL
    )
    resources: Annotated[ManifestResources, Field(description="The wanted resources, 2,000 of all kinds at most.")]

    @property
    def size(self) -> int:
        """The number of resources."""
        named = self.resources
        return len(named.projects) + len(named.domains) + len(named.webhooks) + len(named.aliases)

    def manifest(self) -> Manifest:
        """The record."""
        return Manifest(
            name=self.metadata.name,
            labels=self.metadata.labels,
            prune=self.prune,
            on_conflict=self.on_conflict,
            aliases=tuple(each.desired() for each in self.resources.aliases),
            projects=tuple(each.desired() for each in self.resources.projects),
            domains=tuple(each.desired() for each in self.resources.domains),
            webhooks=tuple(each.desired() for each in self.resources.webhooks),
            project=self.project,
        )


def json_schema(address: str) -> dict[str, Any]:
    """The manifest's JSON Schema (2020-12) as editors and linters take it; `address` is where it is published.

    It says all but what a schema cannot: that keys are unique, that names can be had, that what is named is there.
    """
    schema = SandboxManifest.model_json_schema()
    schema["$defs"]["ManifestAlias"] |= _EITHER
    schema["examples"] = [examples.MANIFEST]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": address}
    return head | schema
