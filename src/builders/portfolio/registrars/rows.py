"""Rows of registrars' responses: domains, transfers and authorization codes as registrars write them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from builders.kit.values import clock, domain_names
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    AuthCode,
    ChargeKind,
    HeldStatus,
    HeldTransfer,
    RegistrarDomain,
    TransferDirection,
    TransferState,
)

T = TypeVar("T")
MAX_NAME = 255  # characters of a name that is kept


def a_label(name: str) -> str:
    """Return the A-label of a name as a registrar writes it, or the name in lower case when it is no domain."""
    return domain_names.find_a_label(name) or name.strip().lower()


FIRST_YEAR, LAST_YEAR = 1985, 2999  # of times of domains; the first ones were registered in 1985
UNREADABLE = datetime.min.replace(tzinfo=UTC)  # stands for a time that is there and that no domain has


def read_time(value: object, parse: Callable[[str], datetime] = datetime.fromisoformat) -> datetime | None:
    """Return the UTC time of a text or number, by default of ISO 8601; without a zone it is UTC.

    None for none, and UNREADABLE for another text and for a year that no domain has, such as 1 and 9999.
    """
    text = "" if value is None else str(value).strip()
    if text in _NO_TIMES:
        return None
    try:
        found = parse(text)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return UNREADABLE
    return found if FIRST_YEAR <= found.year <= LAST_YEAR else UNREADABLE


def time_by(parse: Callable[[str], datetime]) -> BeforeValidator:
    """Return the validator of a time that a registrar writes in its own form."""
    return BeforeValidator(lambda value: read_time(value, parse))


def known(at: datetime | None) -> datetime | None:
    """Return a time; None for one that could not be read."""
    return None if at == UNREADABLE else at


def _require_known(at: datetime) -> datetime:
    """Return a time. Raise ValueError for one that could not be read."""
    if at == UNREADABLE:
        raise ValueError("no time of a bill")
    return at


def _label(name: object) -> object:
    """Return the A-label of a name. Raise ValueError for one that cannot be stored."""
    label = a_label(name) if isinstance(name, str) else name
    if isinstance(label, str) and not (0 < len(label) <= MAX_NAME and "\0" not in label):
        raise ValueError("no name of a domain")
    return label


_NO_TIMES = {"", "0"}


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
_HeldLabel = Annotated[str, BeforeValidator(_label)]
OptionalTime = Annotated[datetime | None, BeforeValidator(read_time)]
BillTime = Annotated[datetime, AfterValidator(_require_known)]  # beside the validator that reads it
Time = Annotated[BillTime, BeforeValidator(read_time)]
# A list whose validation ends at the first error: each error of a long list takes memory.
Rows: TypeAlias = Annotated[tuple[T, ...], FailFast()]
_OptionalTexts = Annotated[tuple[str, ...] | None, Field(fail_fast=True)]


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
    **dict.fromkeys(("clienthold", "hold", "on hold", "serverhold", "suspended"), HeldStatus.SUSPENDED),
}
# EPP statuses (RFC 5731, 2.3; RFC 3915, 3.1) in lower case. The first one that a domain has decides.
_EPP_STATUSES = {
    "pendingdelete": HeldStatus.PENDING_DELETE,
    "redemptionperiod": HeldStatus.REDEMPTION,
    "pendingtransfer": HeldStatus.TRANSFERRING_OUT,
}
_HOLDS = {"clienthold", "serverhold"}
_LOCKS = {"clienttransferprohibited", "servertransferprohibited"}
_DAY = timedelta(days=1)
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


_TIMES = ("expires_at", "created_at")


class DomainRow(BaseModel):
    """A domain as a registrar writes it."""

    # The registrar's own words, in lower case, or how they begin: the first one that fits decides.
    states: ClassVar[Mapping[str, HeldStatus]] = {}
    domain: _HeldLabel
    expires_at: OptionalTime = None
    created_at: OptionalTime = None
    auto_renew: Flag = None
    locked: Flag = None
    privacy: Flag = None
    is_premium: Flag = None  # it has a price of its own, and not that of its suffix
    status_raw: str | None = None
    epp: _OptionalTexts = None  # EPP statuses
    on_hold: Flag = None  # the registrar suspends it
    disabled: Flag = None  # the same, of another registrar's words
    nameservers: _OptionalTexts = None
    _unread: list[str] = PrivateAttr(default_factory=list)

    @model_validator(mode="wrap")
    @classmethod
    def _leave_out(cls, value: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Leave out values that cannot be read, and keep their names. Raise ValidationError without a name."""
        try:
            row = read(value)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            wrong = {each["loc"][0] for each in found if each["loc"]}
            if not wrong or not isinstance(value, Mapping):
                raise
            row = read({name: each for name, each in value.items() if name not in wrong})
            row.leave_out(sorted(map(str, wrong)))
        row.leave_out([name for name in _TIMES if getattr(row, name) == UNREADABLE])
        return row

    def leave_out(self, names: Sequence[str]) -> None:
        """Leave out values that could not be read."""
        self._unread += names
        for name in {*names} & {*_TIMES}:
            setattr(self, name, None)

    def held(self) -> RegistrarDomain:
        """Return the domain that the account holds."""
        locks = None if self.epp is None else not _LOCKS.isdisjoint(map(str.lower, self.epp))
        return RegistrarDomain(
            domain=self.domain,
            expires_at=self.expires_at,
            created_at=self.created_at,
            auto_renew=self.auto_renew,
            locked=locks if self.locked is None else self.locked or bool(locks),
            privacy=self.privacy,
            status=self.status_of(),
            status_raw=self.status_raw or ", ".join(self.epp or ()) or None,
            nameservers=self.nameservers,
            unread=tuple(self._unread),
        )

    def status_of(self) -> HeldStatus:
        """Return the state: by EPP statuses, by the registrar's word, by a hold, and by the expiry."""
        word, epp = (self.status_raw or "").lower(), {each.lower() for each in self.epp or ()}
        said = next((status for start, status in self.states.items() if word.startswith(start)), None)
        status = said or _STATUSES.get(word, HeldStatus.UNKNOWN)
        late = next((status for name, status in _EPP_STATUSES.items() if name in epp), None)
        if late or status not in {HeldStatus.ACTIVE, HeldStatus.UNKNOWN}:
            return late or status
        if self.on_hold or self.disabled or not _HOLDS.isdisjoint(epp):
            return HeldStatus.SUSPENDED
        # A registrar can say "ok" years after the expiry. A word that is not known may say more than the expiry.
        is_over = self.expires_at is not None and self.expires_at + _DAY <= clock.now()
        return HeldStatus.EXPIRED if is_over and (status is HeldStatus.ACTIVE or not word) else status


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
            started_at=known(self.started_at),
            completed_at=known(self.completed_at),
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
        return AuthCode(code=self.auth_code, expires_at=known(self.expires))


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
