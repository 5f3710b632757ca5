"""Resources of a manifest in a request body."""

from typing import Annotated, Self
from uuid import UUID

from email_validator import EmailNotValidError, validate_email
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import StrictBody
from builders.kit.values import texts
from builders.kit.values.texts import checked
from builders.projects import fields
from builders.projects.records import (
    MAX_ALIAS_LIMIT,
    MAX_DESCRIPTION,
    MAX_DOMAINS,
    MAX_METADATA,
    MAX_METADATA_KEY,
    MAX_METADATA_VALUE,
    MAX_NAME,
    MAX_WEBHOOKS,
    SLUG,
)
from builders.sandbox.manifest import GENERATE, DesiredAlias, DesiredWebhook, DomainView, ProjectView


def _parse_mailbox(written: str) -> str:
    """Return the address of a mailbox (RFC 5321), with the A-label of its domain."""
    try:
        found = validate_email(written, check_deliverability=False, strict=True)
    except EmailNotValidError as error:
        raise PydanticCustomError("email", "Not an email address: {reason}", {"reason": str(error)}) from None
    return f"{found.local_part}@{found.ascii_domain.lower()}"


def parse_integral(value: object) -> object:
    """Return 3.0 as the integer 3 (JSON Schema 2020-12, core, 4.2.3)."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[StrictInt, Field(ge=0), BeforeValidator(parse_integral)]
Key = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Unique in the manifest.")]
Mailbox = Annotated[
    str, Field(max_length=254), AfterValidator(_parse_mailbox), Field(json_schema_extra={"format": "email"})
]
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
    str,
    Field(min_length=1, max_length=63, description="A project: its key in this manifest, its slug or its id."),
]
Domain = Annotated[str, Field(min_length=1, max_length=253)]
AllowedDomain = Annotated[Domain, checked(fields.parse_domain, "domain_name")]
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
Metadata = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=MAX_METADATA_KEY)],
        Annotated[str, Field(max_length=MAX_METADATA_VALUE)],
    ],
    Field(max_length=MAX_METADATA),
]
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME),
    checked(texts.plain, "text_form"),
]
Description = Annotated[
    str, Field(min_length=1, max_length=MAX_DESCRIPTION), checked(fields.parse_description, "text_form")
]
Website = Annotated[str, Field(min_length=1, max_length=texts.MAX_URL), checked(texts.web_address, "web_address")]
AliasLimit = Annotated[
    StrictInt,
    Field(ge=1, le=MAX_ALIAS_LIMIT, description="Maximum number of its aliases."),
    BeforeValidator(parse_integral),
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
        ProjectReference | None,
        Field(description="Project of the alias; absent: the `project` of the manifest."),
    ] = None
    enabled: Annotated[StrictBool, Field(description="Whether mail is forwarded.")] = True
    note: Annotated[
        Annotated[str, Field(max_length=200), texts.OneLine] | None,
        Field(description="Your own note, stored with the alias."),
    ] = None
    labels: Annotated[Labels, Field(description="Your own pairs of text, stored with the alias.")] = Field(
        default_factory=dict
    )

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
            project=self.project,
        )


class ManifestProject(StrictBody):
    """A desired project; absent members are cleared, except the slug, which stays or is derived from the name."""

    key: Key
    name: Annotated[Name, Field(description="Name of the project.")]
    slug: Annotated[
        str | None,
        Field(pattern=SLUG, description="Short name for URLs, unique among the account's active projects."),
    ] = None
    description: Annotated[Description | None, Field(description="Text about the project.")] = None
    website: Annotated[Website | None, Field(description="An http or https address.")] = None
    allowed_domains: Annotated[
        list[AllowedDomain],
        Field(max_length=MAX_DOMAINS, description="Domains allowed for its aliases; empty: any."),
    ] = Field(default_factory=list)
    default_destination: Annotated[
        Mailbox | None, Field(description="Recipient for its aliases without destinations.")
    ] = None
    webhook_ids: Annotated[
        list[UUID],
        Field(max_length=MAX_WEBHOOKS, description="Webhook destinations of the project."),
    ] = Field(default_factory=list)
    alias_limit: Annotated[
        AliasLimit | None, Field(description="Maximum number of its aliases; null: no limit.")
    ] = None
    metadata: Annotated[Metadata, Field(description="Your own pairs of text.")] = Field(default_factory=dict)

    def desired(self) -> ProjectView:
        """Return the desired resource as a record."""
        unique = {name: tuple(dict.fromkeys(getattr(self, name))) for name in ("allowed_domains", "webhook_ids")}
        return ProjectView(**dict(self) | unique)


class ManifestWebhook(StrictBody):
    """A desired webhook destination, without its secret."""

    key: Key
    label: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"\S"),
        texts.Plain,
        Field(description="Your name for the destination."),
    ]
    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=texts.MAX_URL,
            description="Public http or https address that events are sent to.",
        ),
    ]
    enabled: Annotated[StrictBool, Field(description="Whether it receives events.")] = True
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
    domain: Annotated[Domain, Field(description="Name of the domain, in Unicode or as an A-label.")]
    default_destination: Annotated[
        Mailbox | None, Field(description="Default recipient of mail to names without destinations.")
    ] = None
    catch_all: Annotated[
        StrictBool, Field(description="Forward all mail to default_destination; no name can be claimed then.")
    ] = False

    def desired(self) -> DomainView:
        """Return the desired resource as a record."""
        return DomainView(**dict(self))
