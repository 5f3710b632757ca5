"""Rows of registrars' responses: domains, transfers and authorization codes as registrars write them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, ClassVar, TypeAlias, TypeVar

from pydantic import (
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
)
from pydantic.alias_generators import to_camel

from builders.kit.values import domain_names
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
    ChargeKind,
    HeldDomain,
    HeldStatus,
    HeldTransfer,
    TransferDirection,
    TransferState,
)

T = TypeVar("T")


def a_label(name: str) -> str:
    """Return the A-label of a name as a registrar writes it, or the name in lower case when it is no domain."""
    return domain_names.find_a_label(name) or name.strip().lower()


def read_time(value: object) -> datetime | None:
    """Return the UTC time of an ISO 8601 text; without a zone it is UTC. None for anything else."""
    try:
        found = datetime.fromisoformat(value.strip() if isinstance(value, str) else "")
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_total(text: str | None) -> int | None:
    """Return the total that a page names as a text; None without one. Raise RegistrarFailed for another text."""
    try:
        return int(text) if text and text.strip() else None
    except ValueError:
        raise RegistrarFailed(RegistrarFailure.MALFORMED) from None


def read_flag(value: object) -> bool | None:
    """Return a flag that a registrar writes as JSON boolean, number or word; None for anything else."""
    if isinstance(value, bool):
        return value
    return _FLAGS.get(str(value).strip().lower())


_FLAGS: dict[str, bool] = {
    **dict.fromkeys(("1", "yes", "true", "on", "enabled", "locked", "locking"), True),
    **dict.fromkeys(("0", "no", "false", "off", "disabled", "unlocked", "unlocking"), False),
}
# Sums and products of amounts below this limit are exact, and none overflows.
_AMOUNT_LIMIT = Decimal(10) ** 22
Amount = Annotated[Decimal, Field(gt=-_AMOUNT_LIMIT, lt=_AMOUNT_LIMIT)]
AmountOfFloat = Annotated[Amount, BeforeValidator(str)]
Flag = Annotated[bool | None, BeforeValidator(read_flag)]
Label = Annotated[str, BeforeValidator(lambda name: a_label(name) if isinstance(name, str) else name)]
Time = Annotated[datetime, BeforeValidator(read_time)]
OptionalTime = Annotated[datetime | None, BeforeValidator(read_time)]
# A list whose validation ends at the first error: each error of a long list takes memory.
Rows: TypeAlias = Annotated[tuple[T, ...], FailFast()]


class Row(BaseModel):
    """A part of a response whose members are in camel case; unknown members are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


def named(**members: str | AliasPath | AliasChoices) -> ConfigDict:
    """Return the configuration of a row whose fields have these members; the others have their own names."""
    return ConfigDict(alias_generator=AliasGenerator(validation_alias=lambda name: members.get(name, name)))


# What words for the state of a domain and of a transfer mean at every registrar, in lower case.
_STATUSES = {
    **dict.fromkeys(("active", "ok", "registered"), HeldStatus.ACTIVE),
    **dict.fromkeys(("creating", "increation", "registration_pending"), HeldStatus.PENDING),
    **dict.fromkeys(("expired", "grace1", "grace2", "unpaid"), HeldStatus.EXPIRED),
    **dict.fromkeys(("redemption", "redemption_period"), HeldStatus.REDEMPTION),
    "pending_delete": HeldStatus.PENDING_DELETE,
    "suspended": HeldStatus.SUSPENDED,
}
_STATES = {
    **dict.fromkeys(("accepted", "awaiting", "in_progress", "init", "new", "pending"), TransferState.PENDING),
    **dict.fromkeys(("pendingauth", "pendingsubmit", "pendingtransfer"), TransferState.PENDING),
    **dict.fromkeys(("pending_insert", "pending_transfer", "submitting_transfer"), TransferState.PENDING),
    "submitted": TransferState.PENDING,
    **dict.fromkeys(("completed", "done", "succeeded", "success", "successful"), TransferState.COMPLETED),
    **dict.fromkeys(("error", "failed", "rejected"), TransferState.FAILED),
    **dict.fromkeys(("canceled", "canceled_pending_refund", "cancelled"), TransferState.CANCELLED),
}
# The first one that occurs in a status that is a sentence.
_STATE_WORDS = (
    ("cancel", TransferState.CANCELLED),
    ("complete", TransferState.COMPLETED),
    ("fail", TransferState.FAILED),
    ("reject", TransferState.FAILED),
    ("awaiting", TransferState.ACTION_REQUIRED),
    ("waiting for", TransferState.ACTION_REQUIRED),
)


class DomainRow(BaseModel):
    """A domain as a registrar writes it."""

    states: ClassVar[Mapping[str, HeldStatus]] = {}  # the registrar's own words, in lower case
    domain: Label
    expires_at: OptionalTime = None
    created_at: OptionalTime = None
    auto_renew: Flag = None
    locked: Flag = None
    privacy: Flag = None
    is_premium: Flag = None  # it has a price of its own, and not that of its suffix
    status_raw: str | None = None
    nameservers: tuple[str, ...] | None = None

    def held(self) -> HeldDomain:
        """Return the domain that the account holds."""
        word = (self.status_raw or "").lower()
        return HeldDomain(
            domain=self.domain,
            expires_at=self.expires_at,
            created_at=self.created_at,
            auto_renew=self.auto_renew,
            locked=self.locked,
            privacy=self.privacy,
            status=self.states.get(word) or _STATUSES.get(word, HeldStatus.UNKNOWN),
            status_raw=self.status_raw,
            nameservers=self.nameservers,
        )


class TransferRow(BaseModel):
    """A transfer as a registrar writes it; an unknown state requires an action."""

    states: ClassVar[Mapping[str, TransferState]] = {}  # the registrar's own words, in lower case
    domain: Label = ""
    status_raw: str
    is_out: Annotated[bool, BeforeValidator(lambda kind: "out" in str(kind).lower())] = False
    started_at: OptionalTime = None
    completed_at: OptionalTime = None
    message: str | None = None

    def held(self) -> HeldTransfer:
        """Return the transfer of the domain."""
        word = self.status_raw.lower()
        return HeldTransfer(
            direction=TransferDirection.OUT if self.is_out else TransferDirection.IN,
            state=self.states.get(word) or _STATES.get(word, TransferState.ACTION_REQUIRED),
            status_raw=self.status_raw,
            started_at=self.started_at,
            completed_at=self.completed_at,
            message=self.message,
        )


class SentenceRow(TransferRow):
    """A transfer whose status is a sentence; it is pending unless a word says otherwise."""

    def held(self) -> HeldTransfer:
        """Find the state by a word."""
        text = self.status_raw.lower()
        found = next((state for word, state in _STATE_WORDS if word in text), TransferState.PENDING)
        state = self.states.get(text, found)
        return replace(super().held(), state=state)


class CodeRow(BaseModel):
    """The authorization code of a domain as a registrar writes it."""

    auth_code: str | None = Field(
        default=None, repr=False, validation_alias=AliasChoices("authCode", "auth_code", "AuthCode", "authinfo")
    )
    expires: OptionalTime = None

    def code(self) -> AuthCode:
        """Return the code."""
        return AuthCode(code=self.auth_code, expires_at=self.expires)


def classify(description: str, *, total: Decimal = Decimal(0)) -> ChargeKind:
    """Return the kind of a charge by the words of its description; OTHER when none is known.

    A negative total is a refund.
    """
    if total < 0:
        return ChargeKind.REFUND
    text = _NO_REFUND.sub(" ", description.lower())
    return next((kind for word, kind in _KIND_WORDS if word in text), ChargeKind.OTHER)


# Credit that is no refund: a way to pay, or money that is paid into the account.
_NO_REFUND = re.compile(
    r"credit[\s-]*cards?|(?:account|store|pre-?paid)[\s-]+credits?|credits?[\s-]+(?:added|purchased?|top[\s-]?up)"
    r"|(?:add|added|buy|bought|purchased?|top[\s-]?up)[\s-]+(?:of[\s-]+)?credits?"
)
# The first word that occurs decides: "Domain Name Renewal" is no registration.
_KIND_WORDS = (
    ("refund", ChargeKind.REFUND),
    ("credit", ChargeKind.REFUND),
    ("privacy", ChargeKind.PRIVACY),
    ("whois", ChargeKind.PRIVACY),
    ("redempt", ChargeKind.REDEMPTION),
    ("restor", ChargeKind.REDEMPTION),
    ("renew", ChargeKind.RENEWAL),
    ("transfer", ChargeKind.TRANSFER),
    ("regist", ChargeKind.REGISTRATION),
    ("create", ChargeKind.REGISTRATION),
    ("icann", ChargeKind.TAX),
    ("tax", ChargeKind.TAX),
    ("vat", ChargeKind.TAX),
)
