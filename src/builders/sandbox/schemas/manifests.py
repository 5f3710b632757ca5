"""The manifest in a request body, and its JSON Schema."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from builders.aliases.fields import Block
from builders.kit.http.bodies import Reply, StrictBody
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.instants import Instant
from builders.mail.addresses import Mailbox
from builders.projects.fields import (
    AliasLimit,
    Description,
    Domains,
    Metadata,
    Name,
    Slug,
    WebhookIds,
    Website,
    parse_integral,
)
from builders.sandbox.records import (
    GENERATE,
    MAX_RESOURCES,
    DesiredAlias,
    DesiredWebhook,
    DomainView,
    Manifest,
    OnConflict,
    ProjectView,
)

Count = Annotated[StrictInt, Field(ge=0), BeforeValidator(parse_integral)]
Key = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Unique in the manifest.")]
Labels = Annotated[
    dict[
        Annotated[str, Field(max_length=40), texts.OneLine], Annotated[str, Field(max_length=500), texts.OneLine]
    ],
    Field(max_length=20),
]


def _validate_reference(reference: str) -> str:
    """Refuse a secret, since repositories contain manifests; the message does not repeat it."""
    if reference.startswith("whsec_"):
        message = (
            "A manifest must not contain a secret: refer to a destination by its key or label, or send generate."
        )
        raise PydanticCustomError("secret_not_allowed", message)
    return reference


ProjectReference = Annotated[
    str, Field(min_length=1, max_length=63, description="A project: its key in this manifest, its slug or its id.")
]
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


class ManifestAlias(StrictBody):
    """A desired alias: send either `address`, or both `local_part` and `domain`."""

    key: Key
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
    destinations: Annotated[
        list[Mailbox] | None,
        Field(min_length=1, max_length=10, description="Absent: the default_destination of its project."),
    ] = None
    project: Annotated[
        ProjectReference | None, doc("Project of the alias; absent: the `project` of the manifest.")
    ] = None
    enabled: Annotated[StrictBool, doc("Whether mail is forwarded.")] = True
    note: Annotated[
        Annotated[str, Field(max_length=200), texts.OneLine] | None, doc("Your own note, stored with the alias.")
    ] = None
    labels: Annotated[Labels, doc("Your own pairs of text, stored with the alias.")] = Field(default_factory=dict)
    block: Annotated[Block, doc("Senders whose mail is refused: addresses, or domains with their subdomains.")] = (
        Field(default_factory=list)
    )
    pause_until: Annotated[
        Instant | None, doc("Mail is not accepted before this time; null or a past time: it is.")
    ] = None
    reply: Annotated[StrictBool, doc("Whether destinations may answer mail with the name as the sender.")] = False

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
        local_part, domain = self.local_part or "", self.domain or ""
        if self.address is not None:
            local_part, _, domain = self.address.rpartition("@")
        return DesiredAlias(
            key=self.key,
            domain=domain,
            local_part=local_part,
            destinations=tuple({email.lower(): email for email in self.destinations or ()}.values()),
            enabled=self.enabled,
            note=self.note,
            labels=self.labels,
            block=tuple(self.block),
            pause_until=self.pause_until,
            reply=self.reply,
            project=self.project,
        )


class ManifestProject(StrictBody):
    """A desired project; absent members are cleared, except the slug, which stays or is derived from the name."""

    key: Key
    name: Annotated[Name, doc("Name of the project.")]
    slug: Annotated[Slug | None, doc("Short name for URLs, unique among the account's active projects.")] = None
    description: Annotated[Description | None, doc("Text about the project.")] = None
    website: Annotated[Website | None, doc("An http or https address.")] = None
    allowed_domains: Annotated[Domains, doc("Domains allowed for its aliases; empty: any.")] = Field(
        default_factory=list
    )
    default_destination: Annotated[Mailbox | None, doc("Recipient for its aliases without destinations.")] = None
    webhook_ids: Annotated[WebhookIds, doc("Webhook destinations of the project.")] = Field(default_factory=list)
    alias_limit: Annotated[AliasLimit | None, doc("Maximum number of its aliases; null: no limit.")] = None
    metadata: Annotated[Metadata, doc("Your own pairs of text.")] = Field(default_factory=dict)

    def desired(self) -> ProjectView:
        """Return the desired resource as a record."""
        return ProjectView(**dict(self))


class ManifestWebhook(StrictBody):
    """A desired webhook destination, without its secret."""

    key: Key
    label: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"\S"),
        texts.Plain,
        doc("Your name for the destination."),
    ]
    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=texts.MAX_URL,
            description="Public http or https address that events are sent to.",
        ),
    ]
    enabled: Annotated[StrictBool, doc("Whether it receives events.")] = True
    events: Annotated[
        list[Annotated[str, Field(max_length=80)]],
        Field(min_length=1, max_length=100, description="Names of events, `area.*`, or `*` for all."),
    ]
    signing_secret_ref: SecretReference = GENERATE

    def desired(self) -> DesiredWebhook:
        """Return the desired resource as a record."""
        return DesiredWebhook(**dict(self) | {"events": tuple(self.events)})


class ManifestDomain(StrictBody):
    """Settings of a domain of the account; a manifest cannot add or delete domains."""

    key: Key
    domain: Annotated[Domain, doc("Name of the domain, in Unicode or as an A-label.")]
    default_destination: Annotated[
        Mailbox | None, doc("Default recipient of mail to names without destinations.")
    ] = None
    catch_all: Annotated[
        StrictBool, doc("Forward all mail to default_destination; no name can be claimed then.")
    ] = False

    def desired(self) -> DomainView:
        """Return the desired resource as a record."""
        return DomainView(**dict(self))


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


def json_schema(address: str) -> dict[str, Any]:
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
