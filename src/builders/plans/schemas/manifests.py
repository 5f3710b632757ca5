"""The manifest in a request body, and its JSON Schema."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.aliases.fields import Destinations, Labels
from builders.kit.http.bodies import Reply, StrictBody
from builders.kit.http.members import manifest_of
from builders.kit.values.docs import doc
from builders.mail.addresses import Mailbox
from builders.plans.records import (
    GENERATE,
    MAX_RESOURCES,
    DesiredAlias,
    DesiredWebhook,
    DomainView,
    Manifest,
    OnConflict,
    ProjectReference,
    ProjectView,
)
from builders.projects.fields import parse_integral

Count = Annotated[StrictInt, Field(ge=0), BeforeValidator(parse_integral)]


def _validate_reference(reference: str) -> str:
    """Refuse a secret, since repositories contain manifests; the message does not repeat it."""
    if reference.startswith("whsec_"):
        message = (
            "A manifest must not contain a secret: refer to a destination by its key or label, or send generate."
        )
        raise PydanticCustomError("secret_not_allowed", message)
    return reference


Domain = Annotated[str, Field(min_length=1, max_length=253)]
SecretReference = Annotated[
    str,
    Field(
        min_length=1,
        max_length=80,
        description="`generate`: a new secret, which the promotion shows once. Otherwise the webhook whose secret "
        "is copied: the key of a webhook in this manifest, or the label of an existing one. It has no effect on "
        "an existing webhook.",
        json_schema_extra={"not": {"pattern": "^whsec_"}},
    ),
    AfterValidator(_validate_reference),
]


@manifest_of(
    DesiredAlias, enabled=True, note=None, labels=dict, block=list, pause_until=None, reply=False, project=None
)
class ManifestAlias(StrictBody):
    """A desired alias: send either `address`, or both `local_part` and `domain`."""

    address: Annotated[
        str | None,
        Field(
            max_length=320,
            description="The whole address, such as `ada@harbour.example`; instead of `local_part` and `domain`.",
        ),
    ] = None
    local_part: Annotated[
        str | None, Field(max_length=256, description="The part before the `@`; with `domain`.")
    ] = None
    domain: Annotated[
        str | None,
        Field(max_length=253, description="Domain of the name, in Unicode or as an A-label; with `local_part`."),
    ] = None
    destinations: Annotated[Destinations | None, doc("Absent: the default_destination of its project.")] = None

    @model_validator(mode="after")
    def _validate_address(self) -> Self:
        parts = (self.local_part, self.domain)
        if (self.address is None) == (parts == (None, None)) or (self.address is None and None in parts):
            raise PydanticCustomError("address_form", "Send either address, or both local_part and domain.")
        if self.address is not None and "@" not in self.address:
            raise PydanticCustomError("address_form", "An address has an @ between local part and domain.")
        return self

    def desired(self) -> DesiredAlias:
        """Return the desired resource as a record."""
        values = self.values()
        if self.address is not None:
            values["local_part"], _, values["domain"] = self.address.rpartition("@")
        return DesiredAlias(**{**values, "destinations": tuple(values["destinations"])})


@manifest_of(
    ProjectView,
    "name",
    **dict.fromkeys(("slug", "description", "website", "alias_limit")),
    **dict.fromkeys(("allowed_domains", "webhook_ids"), list),
    metadata=dict,
)
class ManifestProject(StrictBody):
    """A desired project; absent members are cleared, except the slug, which stays or is derived from the name."""

    default_destination: Annotated[Mailbox | None, doc("Recipient for its aliases without destinations.")] = None

    def desired(self) -> ProjectView:
        """Return the desired resource as a record."""
        return ProjectView(**self.values())


@manifest_of(DesiredWebhook, "label", "url", "events", enabled=True)
class ManifestWebhook(StrictBody):
    """A desired webhook destination, without its secret."""

    signing_secret_ref: SecretReference = GENERATE

    def desired(self) -> DesiredWebhook:
        """Return the desired resource as a record."""
        return DesiredWebhook(**self.values())


@manifest_of(DomainView, catch_all=False)
class ManifestDomain(StrictBody):
    """Settings of a domain of the account; a manifest cannot add or delete domains."""

    domain: Annotated[Domain, doc("Name of the domain, in Unicode or as an A-label.")]
    default_destination: Annotated[
        Mailbox | None, doc("Default recipient of mail to names without destinations.")
    ] = None

    def desired(self) -> DomainView:
        """Return the desired resource as a record."""
        return DomainView(**self.values())


# Not in the OpenAPI document: generated clients drop the members of a schema with alternatives.
_EITHER: dict[str, Any] = {"anyOf": [{"required": ["address"]}, {"required": ["local_part", "domain"]}]}
_LISTED: Any = Field(default_factory=list, max_length=MAX_RESOURCES)
_EXAMPLES = json.loads(Path(__file__).parents[1].joinpath("examples.json").read_bytes())["SandboxManifest"]


class ManifestMetadata(StrictBody):
    """The identity of a manifest: it manages the resources created or adopted under its name."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$",
            description="Name of the manifest: it manages the resources created or adopted under this name.",
        ),
    ]
    labels: Annotated[Labels, doc("Your own pairs of text, kept with the plan.")] = Field(default_factory=dict)


class ManifestResources(StrictBody):
    """The desired resources; keys are unique in each list."""

    projects: Annotated[list[ManifestProject], _LISTED, doc("Desired projects.")]
    domains: Annotated[list[ManifestDomain], _LISTED, doc("Desired settings of the account's domains.")]
    webhooks: Annotated[list[ManifestWebhook], _LISTED, doc("Desired webhook destinations.")]
    aliases: Annotated[list[ManifestAlias], _LISTED, doc("Desired aliases.")]

    @model_validator(mode="after")
    def _validate_size(self) -> Self:
        lists = dict(self)
        if sum(map(len, lists.values())) > MAX_RESOURCES:
            raise PydanticCustomError(
                "too_many_resources", "A manifest has at most {most} resources.", {"most": MAX_RESOURCES}
            )
        error = PydanticCustomError("duplicate_key", "Another resource of this kind in the manifest has this key.")
        first: dict[tuple[str, str], int] = {}
        lines = [
            InitErrorDetails(type=error, loc=(name, at, "key"), input=None)
            for name, listed in lists.items()
            for at, each in enumerate(listed)
            if first.setdefault((name, each.key), at) != at
        ]
        if lines:
            raise ValidationError.from_exception_data("resources", lines)
        return self


class SandboxManifest(StrictBody):
    """The desired state. Unknown members are refused, since a typo would change the plan."""

    api_version: Annotated[Literal["v1"], doc("Version of the format of a manifest.")]
    kind: Annotated[Literal["Manifest"], doc("Always `Manifest`.")]
    metadata: Annotated[ManifestMetadata, doc("Name and labels of the manifest.")]
    project: Annotated[ProjectReference | None, doc("Default project of the aliases.")] = None
    prune: Annotated[
        StrictBool, doc("Delete resources that this manifest created or adopted and no longer contains.")
    ] = False
    on_conflict: Annotated[
        OnConflict, doc("Treatment of existing resources that this manifest does not manage.")
    ] = OnConflict.FAIL
    resources: Annotated[ManifestResources, doc("The desired resources, 2,000 of all kinds at most.")]

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


@lru_cache(maxsize=1)  # of this service: anyone may read it, and making it takes 5 ms
def json_schema(address: str) -> Mapping[str, Any]:
    """Return the JSON Schema (2020-12) of a manifest for editors and linters; `address` is its URL.

    It cannot express that keys are unique, names are free, and referenced resources exist.
    """
    schema = SandboxManifest.model_json_schema()
    schema["$defs"]["ManifestAlias"] |= _EITHER
    schema["examples"] = _EXAMPLES
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": address}
    return head | schema


class ManifestSchemaReply(Reply):
    """A JSON Schema (2020-12) of the body of `POST /v1/sandbox/plan`."""

    model_config = ConfigDict(extra="forbid")

    dialect: Annotated[str, Field(alias="$schema", description="Version of JSON Schema.")]
    address: Annotated[str, Field(alias="$id", description="Stable URL of the schema.")]
    title: Annotated[str, doc("Name of the schema.")]
    description: Annotated[str, doc("Purpose of the schema.")]
    type: Annotated[Literal["object"], doc("A manifest is a JSON object.")]
    required: Annotated[list[str], doc("Members that a manifest must have.")]
    properties: Annotated[dict[str, Any], doc("Schema of each member.")]
    definitions: Annotated[dict[str, Any], Field(alias="$defs", description="Referenced schemas.")]
    additional: Annotated[
        bool, Field(alias="additionalProperties", description="False: unknown members are refused.")
    ]
    examples: Annotated[list[Any], doc("Manifests that the schema accepts.")]
