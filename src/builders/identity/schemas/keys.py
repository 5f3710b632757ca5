"""Requests and replies of API keys."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import AwareDatetime, Field, StringConstraints

from builders.identity import key_limits
from builders.identity.records import MAX_LABEL, MAX_NETWORKS, ApiKey, KeyKind, NewApiKey, Preset
from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.values import texts
from builders.kit.values.texts import checked


def _cidr(text: str) -> str:
    return str(key_limits.parse_network(text))


class ApiKeyCreate(Body):
    """An API key to create. The preset sets its scopes."""

    label: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL, pattern=r"\S"),
        texts.Plain,
        Field(description="Your name for the key."),
    ]
    key_kind: Annotated[
        KeyKind, Field(description="`live` keys have real effects; `test` keys work on the sandbox.")
    ]
    preset: Annotated[
        Preset,
        Field(
            description="Role preset that sets the scopes: `developer_full` for builders, `domainer_full` for "
            "domain portfolios."
        ),
    ]
    expires_at: Annotated[
        AwareDatetime | None, Field(description="When the key expires, in the future; null: never.")
    ] = None
    allowed_ips: Annotated[
        list[Annotated[str, checked(_cidr, "network")]] | None,
        Field(
            min_length=1,
            max_length=MAX_NETWORKS,
            description="The networks that the key works from, IPv4 or IPv6, in CIDR notation; null: any.",
        ),
    ] = None


class ApiKeyRotate(Body):
    """The overlap of a rotation, in which the old key still works."""

    overlap_hours: Annotated[
        int,
        Field(ge=0, le=168, description="Hours for which the old key still works, 0 to 168; 24 by default."),
    ] = 24


class ApiKeyItem(Reply):
    """An API key in a list."""

    id: Annotated[UUID, Field(description="Identifier of the key; not the secret.")]
    label: Annotated[str, Field(description="Your name for the key.")]
    key_kind: Annotated[
        KeyKind, Field(description="`live` keys have real effects; `test` keys work on the sandbox.")
    ]
    preset: Annotated[Preset, Field(description="Role preset that sets the scopes.")]
    prefix: Annotated[str, Field(description="The public beginning of the secret.")]
    last4: Annotated[str, Field(description="Last four characters of the secret, to recognize the key.")]
    created_at: Annotated[datetime, Field(description="When the key was minted.")]
    expires_at: Annotated[datetime | None, Field(description="When the key expires; null: never.")]
    revoked_at: Annotated[datetime | None, Field(description="When the key was revoked; null while it works.")]
    last_used_at: Annotated[
        datetime | None, Field(description="When the key was last used, to within five minutes.")
    ]
    allowed_ips: Annotated[list[str] | None, Field(description="The networks that the key works from; null: any.")]


class ApiKeyReply(ApiKeyItem):
    """An API key."""

    scopes: Annotated[list[str], Field(description="Scopes of the preset, with those that they imply.")]


class ApiKeyCreated(ApiKeyReply, WriteReply):
    """A new API key. Store the secret at once: it is never shown again."""

    shown_once: ClassVar[frozenset[str]] = frozenset({"secret"})

    secret: Annotated[
        str | None, Field(description="The key itself; absent when an Idempotency-Key repeats the response.")
    ] = None


class ScopeReply(Reply):
    """A scope."""

    scope: Annotated[str, Field(description="Name of the scope, `area:access`.")]
    description: Annotated[str, Field(description="The operations that the scope allows.")]
    presets: Annotated[list[Preset], Field(description="Role presets that include it.")]


def created_reply(new: NewApiKey) -> ApiKeyCreated:
    """Return the reply with the secret."""
    return ApiKeyCreated(**key_reply(new.key).model_dump(), secret=new.secret)


def key_reply(key: ApiKey) -> ApiKeyReply:
    """Return the reply without the secret."""
    return ApiKeyReply.model_validate(key)
