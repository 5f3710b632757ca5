"""Records of connecting a machine, and their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from builders.identity.records import Preset
from builders.kit.limits import maximums
from builders.kit.mandates import Mandate
from builders.kit.values.docs import doc
from builders.kit.values.resources import HIDDEN, resource

MAX_HOST = 40  # characters of the name of a machine
MAX_OPEN = maximums.declare(
    "device_requests",
    10_000,
    of="service",
    counts="Machines that wait until a person types their code.",
    code="device_requests_full",
)


class DeviceStatus(StrEnum):
    """What happened to the request of a machine."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"  # before a person decided


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """A request of a machine for keys."""

    id: Annotated[UUID, doc("Identifier of the request; it opens nothing.")]
    host: Annotated[str, doc("The name that the machine claims. Anybody can claim any name.")]
    address: Annotated[str, doc("The address that the request came from; empty when unknown.")]
    presets: Annotated[Sequence[Preset], doc("The presets of test keys that the machine asks for.")]
    asks_live: Annotated[bool, doc("Whether the machine asks for a live key.")]
    asks_agent: Annotated[bool, doc("Whether it asks for an agent: its keys need a mandate.")]
    expires_at: Annotated[datetime, doc("Until when it can be decided.")]
    is_approved: Annotated[bool | None, HIDDEN]  # None: not decided

    def status_at(self, now: datetime) -> DeviceStatus:
        """Return what happened to the request."""
        if self.is_approved is not None:
            return DeviceStatus.APPROVED if self.is_approved else DeviceStatus.DENIED
        return DeviceStatus.PENDING if self.expires_at > now else DeviceStatus.EXPIRED


@resource("DeviceRequestReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRequest(DeviceRequest):
    """A machine that asks for keys, as the person sees it. Only the account that typed its code sees it."""

    status: Annotated[DeviceStatus, doc("`pending`, `approved`, `denied` or `expired`.")]
    keys_left: Annotated[int, doc("API keys that the account can still have.")]
    same_address: Annotated[bool, doc("Whether this request has the address of the machine.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCodes:
    """The codes of a new request, which are not stored."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)  # as it is shown: two groups of four


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """A request that its client has polled."""

    id: UUID
    expires_at: datetime
    is_approved: bool | None
    is_early: bool  # the interval had not passed
    interval_s: int  # until the next poll


@dataclass(frozen=True, slots=True, kw_only=True)
class Minting:
    """An approved request, locked to create its keys."""

    id: UUID
    account_id: UUID
    session_id: UUID
    host: str
    address: str
    test_presets: Sequence[Preset]
    live_preset: Preset | None
    mandate: Mandate | None
    mintings: int  # with this one
    key_ids: Sequence[UUID]  # of the keys that the last minting created
