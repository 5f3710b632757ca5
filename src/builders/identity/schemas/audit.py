"""What goes over the wire of the audit list."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from builders.identity.records import AuditAction
from builders.kit.http.bodies import Reply, by_example

_ACTOR: JsonDict = {"type": "key", "id": "0193a1b2-0000-7000-8000-000000000001", "label": None}
_ENTRY: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-0000000000a1",
    "at": "2026-01-05T09:30:00Z",
    "action": "api_key.minted",
    "actor": _ACTOR,
    "request_id": "9f8c1d2e3b4a59687786958473625140",
    "about": {
        "key_id": "0193a1b2-0000-7000-8000-000000000002",
        "label": "ci",
        "key_kind": "test",
        "preset": "developer_full",
    },
}


class ActorReply(Reply):
    """Who did it."""

    model_config = ConfigDict(json_schema_extra=by_example(_ACTOR))

    type: Annotated[
        Literal["key", "user", "support", "operator"],
        Field(
            description="An API key, a person who signed in, the vendor's support signed in as the account, "
            "or the operator at the command line."
        ),
    ]
    id: Annotated[UUID | None, Field(description="Of the key, the session, or the login-as grant.")]
    label: Annotated[str | None, Field(description="Of support and the operator: a name or an address.")]


class AuditEntryReply(Reply):
    """Something that was done with the account."""

    model_config = ConfigDict(json_schema_extra=by_example(_ENTRY))

    id: Annotated[UUID, Field(description="Identifier of the entry.")]
    at: Annotated[datetime, Field(description="When it happened.")]
    action: Annotated[AuditAction, Field(description="What was done. More values can be added.")]
    actor: Annotated[ActorReply, Field(description="The person, key or employee who did it.")]
    request_id: Annotated[str | None, Field(description="Null for what was done at the command line.")]
    about: Annotated[
        dict[str, str | int | bool | None],
        Field(description="What it was done to; its members depend on the action. Never a secret."),
    ]
