"""What is to be said, and to whom, sealed for the time until it is said."""

import json
from typing import Any

from pydantic import TypeAdapter

from builders.kit.process.secret_keys import Keyring
from builders.mail.portfolio_notices import RenewalNotice
from builders.mail.records import (
    ApiKeyCreated,
    DomainUnproved,
    EmailChanged,
    EmailReplaced,
    InvoiceIssued,
    InvoicePaid,
    InvoiceReminder,
    InvoiceVoided,
    LeadConfirm,
    Letter,
    SampleNotice,
    SignInCode,
    TeamInvite,
    VerifyDestination,
    VerifyEmail,
    WebhookDisabled,
)
from builders.mail.store import Key

_PURPOSE = "mail"
LETTERS: tuple[type[Letter], ...] = (
    VerifyEmail,
    SignInCode,
    EmailChanged,
    EmailReplaced,
    ApiKeyCreated,
    LeadConfirm,
    VerifyDestination,
    TeamInvite,
    RenewalNotice,
    WebhookDisabled,
    DomainUnproved,
    InvoiceIssued,
    InvoicePaid,
    InvoiceVoided,
    InvoiceReminder,
    SampleNotice,
)
_adapters: dict[str, TypeAdapter[Any]] = {kind.name: TypeAdapter(kind) for kind in LETTERS}


def seal(keyring: Keyring, *, key: Key, to: str, letter: Letter) -> bytes:
    """The address and the letter's fields, bound to their row."""
    fields = _adapters[letter.name].dump_python(letter, mode="json")
    content = json.dumps({"to": to, "letter": fields}).encode()
    return keyring.seal(_PURPOSE, content, context=key.account_id.bytes + key.id.bytes)


def unseal(keyring: Keyring, sealed: bytes, *, key: Key, name: str) -> tuple[str, Letter]:
    """The address and the letter again; raises Unsealable."""
    content = json.loads(keyring.unseal(_PURPOSE, sealed, context=key.account_id.bytes + key.id.bytes))
    letter: Letter = _adapters[name].validate_python(content["letter"])
    return content["to"], letter
