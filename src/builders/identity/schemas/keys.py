"""What goes over the wire at identity."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints
from pydantic.config import JsonDict

from builders.identity import networks
from builders.identity.records import MAX_LABEL, MAX_NETWORKS, ApiKey, KeyKind, NewApiKey, Preset
from builders.identity.scopes import DESCRIPTIONS, of_preset
from builders.kit.http.bodies import Body, Reply, WriteReply, by_example
from builders.kit.values import texts
from builders.kit.values.texts import checked

_ITEM: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000001",
    "label": "ci",
    "key_kind": "test",
    "preset": "developer_full",
    "prefix": "svc_test_4fGh7Kq2LmN8",
    "last4": "mple",
    "created_at": "2026-01-05T09:30:00Z",
    "expires_at": None,
    "revoked_at": None,
    "last_used_at": None,
    "allowed_ips": ["192.0.2.0/24", "2001:db8::/48"],
}
_KEY: JsonDict = {**_ITEM, "scopes": [*of_preset(Preset.DEVELOPER_FULL)]}

_BY_PRESET = (
    "Callers do not choose scopes: the preset decides what a key may do. GET /v1/api-keys/scopes lists them."
)
_WHOLE = "A key reaches the whole account; it cannot be limited to a part of it. allowed_ips says where it works."
# A credential that is less limited than its holder believes is a hole: more names than elsewhere are refused here.
_NOT_CHOSEN: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("scope", "scopes", "permissions", "role", "roles", "access", "policy", "policies"), _BY_PRESET
        ),
        **dict.fromkeys(("project", "projects", "project_id", "project_ids", "domain", "domains"), _WHOLE),
        **dict.fromkeys(("alias", "aliases", "resource", "resources"), _WHOLE),
        **dict.fromkeys(("ip", "ips", "ip_addresses", "cidr", "cidrs", "source_ips"), "Use allowed_ips."),
    }
)


def _cidr(text: str) -> str:
    return str(networks.parse(text))


class ApiKeyCreate(Body):
    """A request for an API key: the preset decides what it may do."""

    model_config = ConfigDict(
        json_schema_extra=by_example({"label": "ci", "key_kind": "test", "preset": "developer_full"})
    )

    not_offered = _NOT_CHOSEN

    label: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL, pattern=r"\S"),
        texts.Plain,
        Field(description="What you call it."),
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
        AwareDatetime | None, Field(description="When the key ends, in the future; null: never.")
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
    """How long the old key goes on."""

    not_offered = _NOT_CHOSEN

    model_config = ConfigDict(json_schema_extra=by_example({"overlap_hours": 48}))

    overlap_hours: Annotated[
        int,
        Field(ge=0, le=168, description="Hours for which the old key still works, 0 to 168; 24 when left out."),
    ] = 24


class ApiKeyItem(Reply):
    """An API key in a list."""

    model_config = ConfigDict(json_schema_extra=by_example(_ITEM))

    id: Annotated[UUID, Field(description="Identifier of the key; not the secret.")]
    label: Annotated[str, Field(description="Your name for the key.")]
    key_kind: Annotated[
        KeyKind, Field(description="`live` keys have real effects; `test` keys work on the sandbox.")
    ]
    preset: Annotated[Preset, Field(description="Role preset that sets the scopes.")]
    prefix: Annotated[str, Field(description="The public start of the key.")]
    last4: Annotated[str, Field(description="Last four characters of the secret, to recognize the key.")]
    created_at: Annotated[datetime, Field(description="When the key was minted.")]
    expires_at: Annotated[datetime | None, Field(description="From when the key is refused; null: never.")]
    revoked_at: Annotated[datetime | None, Field(description="When the key was revoked; null while it works.")]
    last_used_at: Annotated[datetime | None, Field(description="To within five minutes.")]
    allowed_ips: Annotated[list[str] | None, Field(description="The networks that the key works from; null: any.")]


class ApiKeyReply(ApiKeyItem):
    """An API key."""

    model_config = ConfigDict(json_schema_extra=by_example(_KEY))

    scopes: Annotated[list[str], Field(description="Scopes of the preset, with those that they imply.")]


class ApiKeyCreated(ApiKeyReply, WriteReply):
    """A new API key. Store the secret at once: it is never shown again."""

    model_config = ConfigDict(
        json_schema_extra=by_example({**_KEY, "secret": "svc_test_4fGh7Kq2LmN8_onlyAnExample", "warnings": []})
    )

    shown_once: ClassVar[frozenset[str]] = frozenset({"secret"})

    secret: Annotated[
        str | None, Field(description="The key itself; absent when an Idempotency-Key repeats the answer.")
    ] = None


class ScopeReply(Reply):
    """A scope."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {"scope": "keys:read", "description": DESCRIPTIONS["keys:read"], "presets": list(Preset)}
        )
    )

    scope: Annotated[str, Field(description="Name of the scope, `area:access`.")]
    description: Annotated[str, Field(description="What it allows.")]
    presets: Annotated[list[Preset], Field(description="Role presets that include it.")]


def created(new: NewApiKey) -> ApiKeyCreated:
    """The answer that shows the secret."""
    return ApiKeyCreated(**shown(new.key).model_dump(), secret=new.secret)


def shown(key: ApiKey) -> ApiKeyReply:
    """The answer without it."""
    return ApiKeyReply.model_validate(key)
