"""What is sent to the sandbox."""

from typing import Annotated, Literal, Self
from uuid import UUID

from email_validator import EmailNotValidError, validate_email
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

from builders.kit.bodies import StrictBody, by_example
from builders.kit.money import Money
from builders.sandbox import examples
from builders.sandbox.records import MAX_RESOURCES, AliasWish, Manifest, OnConflict, OnError, Order


def _mailbox(written: str) -> str:
    """An address that mail can be sent to (RFC 5321), its domain as an A-label."""
    try:
        found = validate_email(written, check_deliverability=False, strict=True)
    except EmailNotValidError as error:
        raise PydanticCustomError("email", "Not an email address: {reason}", {"reason": str(error)}) from None
    return f"{found.local_part}@{found.ascii_domain.lower()}"


def _whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is the integer 3 (JSON Schema 2020-12, core, 4.2.3)."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[StrictInt, Field(ge=0), BeforeValidator(_whole)]
Key = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Unique in the manifest.")]
Mailbox = Annotated[
    str, Field(max_length=254), AfterValidator(_mailbox), Field(json_schema_extra={"format": "email"})
]
Labels = Annotated[
    dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=500)]], Field(max_length=20)
]


class ManifestAlias(StrictBody):
    """A wanted name: `address`, or `local_part` and `domain`."""

    key: Key
    address: Annotated[str | None, Field(max_length=320)] = None
    local_part: Annotated[str | None, Field(max_length=256)] = None
    domain: Annotated[str | None, Field(max_length=253)] = None
    destinations: Annotated[list[Mailbox], Field(min_length=1, max_length=10)]
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
            destinations=tuple({email.lower(): email for email in self.destinations}.values()),
            enabled=self.enabled,
            note=self.note,
            labels=self.labels,
        )


class ManifestMetadata(StrictBody):
    """What the manifest is called; the same name manages the same resources."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
    labels: Labels = Field(default_factory=dict)


class ManifestResources(StrictBody):
    """What is wanted."""

    aliases: list[ManifestAlias] = Field(default_factory=list, max_length=MAX_RESOURCES)

    @model_validator(mode="after")
    def _keys_are_unique(self) -> Self:
        first: dict[str, int] = {}
        repeated = [at for at, alias in enumerate(self.aliases) if first.setdefault(alias.key, at) != at]
        if repeated:
            error = PydanticCustomError("duplicate_key", "Another alias of the manifest has this key.")
            lines = [InitErrorDetails(type=error, loc=("aliases", at, "key"), input=None) for at in repeated]
            raise ValidationError.from_exception_data("resources", lines)
        return self


class SandboxManifest(StrictBody):
    """Wanted state. Unknown members are refused, since a typo would change what is planned."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.MANIFEST))

    api_version: Literal["v1"]
    kind: Literal["Manifest"]
    metadata: ManifestMetadata
    prune: Annotated[
        StrictBool, Field(description="Release names that this manifest claimed and no longer has.")
    ] = False
    on_conflict: Annotated[OnConflict, Field(description="For names the account has, but not by this one.")] = (
        OnConflict.FAIL
    )
    resources: ManifestResources

    def manifest(self) -> Manifest:
        """The record."""
        return Manifest(
            name=self.metadata.name,
            labels=self.metadata.labels,
            prune=self.prune,
            on_conflict=self.on_conflict,
            aliases=tuple(alias.wish() for alias in self.resources.aliases),
        )


class SandboxPromoteRequest(StrictBody):
    """Consent to a plan as it was reviewed."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CONSENT))

    plan_id: str
    digest: Annotated[str, Field(description="The plan's digest, which binds what was reviewed.")]
    confirm_deletes: Annotated[Count | None, Field(description="How many names the plan gives up.")] = None
    max_total: Annotated[Money | None, Field(description="Refuse when more than this is due now.")] = None
    on_error: OnError = OnError.STOP
    resume: Annotated[StrictBool, Field(description="Try the failed and skipped steps of a promotion again.")] = (
        False
    )

    def order(self, plan_id: UUID | None) -> Order:
        """The record."""
        return Order(
            plan_id=plan_id,
            digest=self.digest,
            confirm_deletes=self.confirm_deletes,
            max_total=self.max_total,
            on_error=self.on_error,
            resume=self.resume,
        )
