"""The manifest in a request body, and its JSON Schema."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.kit.http.bodies import Reply, StrictBody
from builders.sandbox.manifest import MAX_RESOURCES, Manifest, OnConflict
from builders.sandbox.schemas import examples
from builders.sandbox.schemas.resources import (
    Labels,
    ManifestAlias,
    ManifestDomain,
    ManifestProject,
    ManifestWebhook,
    ProjectReference,
)

# Not in the OpenAPI document: generated clients drop the members of a schema with alternatives.
_EITHER: dict[str, Any] = {"anyOf": [{"required": ["address"]}, {"required": ["local_part", "domain"]}]}
Resource = ManifestAlias | ManifestDomain | ManifestProject | ManifestWebhook


class ManifestMetadata(StrictBody):
    """The identity of a manifest: it manages the resources created or adopted under its name."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$",
            description="Name of the manifest: it manages the resources created or adopted under this name.",
        ),
    ]
    labels: Annotated[Labels, Field(description="Your own pairs of text, kept with the plan.")] = Field(
        default_factory=dict
    )


class ManifestResources(StrictBody):
    """The desired resources; keys are unique in each list."""

    projects: Annotated[list[ManifestProject], Field(description="Desired projects.")] = Field(
        default_factory=list, max_length=MAX_RESOURCES
    )
    domains: Annotated[list[ManifestDomain], Field(description="Desired settings of the account's domains.")] = (
        Field(default_factory=list, max_length=MAX_RESOURCES)
    )
    webhooks: Annotated[list[ManifestWebhook], Field(description="Desired webhook destinations.")] = Field(
        default_factory=list, max_length=MAX_RESOURCES
    )
    aliases: Annotated[list[ManifestAlias], Field(description="Desired aliases.")] = Field(
        default_factory=list, max_length=MAX_RESOURCES
    )

    @model_validator(mode="after")
    def _validate_size(self) -> Self:
        lists = dict(self)
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
    """The desired state. Unknown members are refused, since a typo would change the plan."""

    api_version: Annotated[Literal["v1"], Field(description="Version of the format of a manifest.")]
    kind: Annotated[Literal["Manifest"], Field(description="Always `Manifest`.")]
    metadata: Annotated[ManifestMetadata, Field(description="Name and labels of the manifest.")]
    project: Annotated[ProjectReference | None, Field(description="Default project of the aliases.")] = None
    prune: Annotated[
        StrictBool,
        Field(description="Delete resources that this manifest created or adopted and no longer contains."),
    ] = False
    on_conflict: Annotated[
        OnConflict, Field(description="Treatment of existing resources that this manifest does not manage.")
    ] = OnConflict.FAIL
    resources: Annotated[
        ManifestResources, Field(description="The desired resources, 2,000 of all kinds at most.")
    ]

    @property
    def size(self) -> int:
        """Return the number of resources."""
        return sum(len(listed) for _, listed in self.resources)

    def manifest(self) -> Manifest:
        """Return the manifest as a record."""
        return Manifest(
            name=self.metadata.name,
            labels=self.metadata.labels,
            prune=self.prune,
            on_conflict=self.on_conflict,
            project=self.project,
            **{kind: tuple(each.desired() for each in listed) for kind, listed in self.resources},
        )


def json_schema(address: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a manifest for editors and linters; `address` is its URL.

    It cannot express that keys are unique, names are free, and referenced resources exist.
    """
    schema = SandboxManifest.model_json_schema()
    schema["$defs"]["ManifestAlias"] |= _EITHER
    schema["examples"] = [examples.MANIFEST]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": address}
    return head | schema


Json = Any  # any JSON value


class ManifestSchemaReply(Reply):
    """A JSON Schema (2020-12) of the body of `POST /v1/sandbox/plan`."""

    model_config = ConfigDict(extra="forbid")

    dialect: Annotated[str, Field(alias="$schema", description="Version of JSON Schema.")]
    address: Annotated[str, Field(alias="$id", description="Stable URL of the schema.")]
    title: Annotated[str, Field(description="Name of the schema.")]
    description: Annotated[str, Field(description="Purpose of the schema.")]
    type: Annotated[Literal["object"], Field(description="A manifest is a JSON object.")]
    required: Annotated[list[str], Field(description="Members that a manifest must have.")]
    properties: Annotated[dict[str, Json], Field(description="Schema of each member.")]
    definitions: Annotated[dict[str, Json], Field(alias="$defs", description="Referenced schemas.")]
    additional: Annotated[
        bool, Field(alias="additionalProperties", description="False: unknown members are refused.")
    ]
    examples: Annotated[list[Json], Field(description="Manifests that the schema accepts.")]
