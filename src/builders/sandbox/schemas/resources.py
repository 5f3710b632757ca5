"""What a manifest lists, as it is sent."""

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from builders.kit import texts
from builders.kit.bodies import StrictBody
from builders.kit.texts import checked
from builders.projects import service as projects
from builders.projects.records import (
    MAX_ALIASES,
    MAX_DESCRIPTION,
    MAX_DOMAINS,
    MAX_METADATA,
    MAX_METADATA_KEY,
    MAX_METADATA_VALUE,
    MAX_NAME,
    MAX_WEBHOOKS,
    SLUG,
)
from builders.sandbox.schemas.values import Key, Labels, Mailbox, whole
from builders.sandbox.wishes import GENERATE, AliasWish, DomainWish, ProjectWish, WebhookWish


def _no_literal(reference: str) -> str:
    """A reference; manifests get committed, so what looks like a secret is refused, and not repeated."""
    if reference.startswith("whsec_"):
        message = "A manifest holds no secret: name a destination by its key or label, or say generate."
        raise PydanticCustomError("secret_not_allowed", message)
    return reference


ProjectReference = Annotated[
    str,
    Field(min_length=1, max_length=63, description="A project: its key in this manifest, its slug or its id."),
]
Domain = Annotated[str, Field(min_length=1, max_length=253)]
AllowedDomain = Annotated[Domain, checked(projects.read_domain, "domain_name")]
SecretReference = Annotated[
    str,
    Field(
        min_length=1,
        max_length=80,
        description="`generate`: one is made, and shown once when it is promoted. Else whose secret it shares: a "
        "webhook of this manifest by its key, or one that is there by its label. Of a webhook that is there it "
        "changes nothing.",
        json_schema_extra={"not": {"pattern": "^whsec_"}},
    ),
    AfterValidator(_no_literal),
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
    str, Field(min_length=1, max_length=MAX_DESCRIPTION), checked(projects.read_description, "text_form")
]
Website = Annotated[str, Field(min_length=1, max_length=texts.MAX_URL), checked(texts.web_address, "web_address")]
AliasLimit = Annotated[
    StrictInt, Field(ge=1, le=MAX_ALIASES, description="How many names it may have."), BeforeValidator(whole)
]
_EITHER: dict[str, Any] = {"anyOf": [{"required": ["address"]}, {"required": ["local_part", "domain"]}]}


class ManifestAlias(StrictBody):
    """A wanted name: `address`, or `local_part` and `domain`."""

    model_config = ConfigDict(json_schema_extra=_EITHER)

    key: Key
    address: Annotated[str | None, Field(max_length=320)] = None
    local_part: Annotated[str | None, Field(max_length=256)] = None
    domain: Annotated[str | None, Field(max_length=253)] = None
    destinations: Annotated[
        list[Mailbox] | None,
        Field(min_length=1, max_length=10, description="Left out: its project's default_destination."),
    ] = None
    project: ProjectReference | None = None
    enabled: StrictBool = True
    note: Annotated[str | None, Field(max_length=200)] = None
    labels: Labels = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        parts = (self.local_part, self.domain)
        if (self.address is None) == (parts == (None, None)) or (self.address is None and None in parts):
            raise PydanticCustomError("address_form", "Give either address, or both local_part and domain.")
        if self.address is not None and "@" not in self.address:
            raise PydanticCustomError("address_form", "An address has an @ between local part and domain.")
        return self

    def wish(self) -> AliasWish:
        """The record."""
        local_part, domain = self.local_part or "", self.domain or ""
        if self.address is not None:
            local_part, _, domain = self.address.rpartition("@")
        return AliasWish(
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
    """A wanted project; what is left out is cleared, but for the slug, which stays or is derived from the name."""

    key: Key
    name: Name
    slug: Annotated[str | None, Field(pattern=SLUG)] = None
    description: Description | None = None
    website: Website | None = None
    allowed_domains: Annotated[
        list[AllowedDomain], Field(max_length=MAX_DOMAINS, description="Where its names may be; empty: anywhere.")
    ] = Field(default_factory=list)
    default_destination: Annotated[
        Mailbox | None, Field(description="Of its aliases that have no destinations.")
    ] = None
    webhook_ids: Annotated[list[UUID], Field(max_length=MAX_WEBHOOKS)] = Field(default_factory=list)
    alias_limit: AliasLimit | None = None
    metadata: Metadata = Field(default_factory=dict)

    def wish(self) -> ProjectWish:
        """The record."""
        return ProjectWish(
            key=self.key,
            name=self.name,
            slug=self.slug,
            description=self.description,
            website=self.website,
            allowed_domains=tuple(dict.fromkeys(self.allowed_domains)),
            default_destination=self.default_destination,
            webhook_ids=tuple(dict.fromkeys(self.webhook_ids)),
            alias_limit=self.alias_limit,
            metadata=self.metadata,
        )


class ManifestWebhook(StrictBody):
    """A wanted webhook destination, without its secret."""

    key: Key
    label: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"\S")]
    url: Annotated[str, Field(min_length=1, max_length=texts.MAX_URL)]
    enabled: StrictBool = True
    events: Annotated[list[Annotated[str, Field(max_length=80)]], Field(min_length=1, max_length=100)]
    signing_secret_ref: SecretReference = GENERATE

    def wish(self) -> WebhookWish:
        """The record."""
        return WebhookWish(
            key=self.key,
            label=self.label,
            url=self.url,
            enabled=self.enabled,
            events=tuple(self.events),
            signing_secret_ref=self.signing_secret_ref,
        )


class ManifestDomain(StrictBody):
    """Settings of a domain that the account has; a manifest makes no domain and takes none away."""

    key: Key
    domain: Domain
    default_destination: Mailbox | None = None
    catch_all: Annotated[
        StrictBool, Field(description="All mail goes to default_destination; no name can be claimed then.")
    ] = False

    def wish(self) -> DomainWish:
        """The record."""
        return DomainWish(
            key=self.key,
            domain=self.domain,
            default_destination=self.default_destination,
            catch_all=self.catch_all,
        )
