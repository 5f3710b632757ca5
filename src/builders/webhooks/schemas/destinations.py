"""Schemas of webhook destinations."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, SecretStr, StrictBool, StringConstraints
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import ABSENT, NOT_NULL, Body, PatchBody, Reply, WriteReply
from builders.kit.http.fields import CreatedAt, Livemode, UpdatedAt, Version
from builders.kit.values import texts
from builders.webhooks.catalog import MAX_EVENTS
from builders.webhooks.records import Destination, DestinationPatch, NewDestination

MAX_LABEL = 120  # characters
MAX_URL = 2048


def whole_number(value: object) -> object:
    """Refuse booleans and strings. Put it after the bounds, which the document omits otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL, pattern=r"\S"),
    texts.Plain,
]
Url = Annotated[str, StringConstraints(min_length=1, max_length=MAX_URL)]
Events = Annotated[list[str], Field(min_length=1, max_length=MAX_EVENTS)]
Secret = Annotated[
    SecretStr,
    Field(
        description="`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters, whose UTF-8 "
        "bytes are the key. Default: a generated one."
    ),
]


class WebhookCreate(Body):
    """A webhook destination to create."""

    label: Annotated[Label, Field(description="Your name for the destination.")]
    url: Annotated[Url, Field(description="A public http or https address.")]
    enabled: Annotated[StrictBool, Field(description="Whether it receives events.")]
    events: Annotated[Events, Field(description="Names of events, `area.*`, or `*` for all.")]
    signing_secret: Annotated[
        Secret | None,
        Field(
            description="`whsec_` and the base64 of 24 to 64 bytes, or 16 to 256 printable characters. "
            "Default: one is generated and shown once."
        ),
    ] = None


class WebhookUpdate(PatchBody):
    """Changes to a webhook destination: absent members do not change. At least one member."""

    label: Annotated[Label, NOT_NULL, Field(description="Your name for the destination; cannot be null.")] = ABSENT
    url: Annotated[
        Url, NOT_NULL, Field(description="Public http or https address that events are sent to; cannot be null.")
    ] = ABSENT
    enabled: Annotated[
        StrictBool,
        NOT_NULL,
        Field(description="Whether it receives events; `true` enables it again after `gone` or `failing`."),
    ] = ABSENT
    events: Annotated[
        Events, NOT_NULL, Field(description="Names of events, `area.*`, or `*` for all; replaces the list.")
    ] = ABSENT

    def patch(self) -> DestinationPatch:
        """Return the request as a record."""
        return DestinationPatch(
            label=self.patch_of("label", self.label),
            url=self.patch_of("url", self.url),
            enabled=self.patch_of("enabled", self.enabled),
            events=self.patch_of("events", self.events),
        )


class WebhookRotate(Body):
    """The overlap of a rotation, and optionally the new secret."""

    overlap_hours: Annotated[
        int, Field(ge=0, le=168, description="Both secrets sign during this time."), BeforeValidator(whole_number)
    ] = 24
    signing_secret: Annotated[
        Secret | None,
        Field(
            description="The new secret, in the form of `signing_secret` at creation. Default: one is "
            "generated and shown once."
        ),
    ] = None


class LastFailure(Reply):
    """The last failed attempt."""

    at: Annotated[datetime, Field(description="When the attempt failed.")]
    status: Annotated[int | None, Field(description="HTTP status of the response; null without a response.")]
    error: Annotated[str, Field(description="Class of the failure, such as `http_status` or `timeout`.")]


class WebhookReply(Reply):
    """A webhook destination with its health."""

    id: Annotated[UUID, Field(description="Identifier of the destination.")]
    label: Annotated[str, Field(description="Your name for the destination.")]
    url: Annotated[str, Field(description="Address that events are sent to.")]
    enabled: Annotated[bool, Field(description="Whether it receives events.")]
    events: Annotated[list[str], Field(description="Names of events, `area.*`, or `*` for all.")]
    status: Annotated[
        Literal["enabled", "disabled", "failing"],
        Field(description="`failing`: enabled, and every attempt since `failing_since` failed."),
    ]
    disabled_reason: Annotated[
        Literal["gone", "failing", "manual"] | None,
        Field(
            description="`gone`: the receiver answered 410; `failing`: attempts failed for days; `manual`: by you."
        ),
    ]
    disabled_at: Annotated[datetime | None, Field(description="When it was disabled; null while enabled.")]
    failing_since: Annotated[
        datetime | None,
        Field(description="Time of the first failure since the last success; null while deliveries succeed."),
    ]
    last_success_at: Annotated[datetime | None, Field(description="When a delivery last succeeded; null: never.")]
    last_failure: Annotated[LastFailure | None, Field(description="The newest failed attempt; null without one.")]
    pending: Annotated[int, Field(description="Deliveries that are not finished.")]
    success_rate_24h: Annotated[
        float | None,
        Field(
            description="Share of successful attempts of the last day, of at most 1,000; null without attempts."
        ),
    ]
    secret_hint: Annotated[
        str,
        Field(
            description=(
                "The last characters of the signing secret; empty for a secret of fewer than 32 characters."
            )
        ),
    ]
    old_secret_until: Annotated[
        datetime | None, Field(description="Time until which the previous secret also signs.")
    ]
    livemode: Livemode
    version: Version
    created_at: CreatedAt
    updated_at: UpdatedAt


class WebhookWritten(WebhookReply, WriteReply):
    """A webhook destination after a change."""


class WebhookSecretReply(WebhookWritten):
    """A webhook destination with its new secret. Store it at once: it is never shown again."""

    shown_once: ClassVar[frozenset[str]] = frozenset({"signing_secret"})

    signing_secret: Annotated[
        str | None,
        Field(description="The generated secret; null if you set it. An idempotent repetition omits it."),
    ] = None


def secret_of(body: WebhookCreate | WebhookRotate) -> str | None:
    """Return the secret in the body, even an empty one, which the service refuses."""
    return None if body.signing_secret is None else body.signing_secret.get_secret_value()


def webhook_reply(destination: Destination, *, livemode: bool) -> WebhookReply:
    """Return the reply of a read."""
    return WebhookReply.from_record(destination, **_computed(destination, livemode=livemode))


def webhook_written(destination: Destination, *, livemode: bool) -> WebhookWritten:
    """Return the reply of a write."""
    return WebhookWritten.from_record(destination, **_computed(destination, livemode=livemode))


def webhook_secret_reply(new: NewDestination, *, livemode: bool) -> WebhookSecretReply:
    """Return the reply with the generated secret."""
    computed = _computed(new.destination, livemode=livemode)
    return WebhookSecretReply.from_record(new.destination, **computed, signing_secret=new.secret)


def _computed(destination: Destination, *, livemode: bool) -> dict[str, Any]:
    failing = "failing" if destination.failing_since else "enabled"
    return {"livemode": livemode, "status": failing if destination.enabled else "disabled"}
