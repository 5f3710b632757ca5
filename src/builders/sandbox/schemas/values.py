"""Values of more than one body."""

from typing import Annotated

from email_validator import EmailNotValidError, validate_email
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictInt,
)
from pydantic_core import PydanticCustomError

from builders.kit.values import texts


def _mailbox(written: str) -> str:
    """An address that mail can be sent to (RFC 5321), its domain as an A-label."""
    try:
        found = validate_email(written, check_deliverability=False, strict=True)
    except EmailNotValidError as error:
        raise PydanticCustomError("email", "Not an email address: {reason}", {"reason": str(error)}) from None
    return f"{found.local_part}@{found.ascii_domain.lower()}"


def whole(value: object) -> object:
    """JSON has one kind of number: 3.0 is the integer 3 (JSON Schema 2020-12, core, 4.2.3)."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[StrictInt, Field(ge=0), BeforeValidator(whole)]
Key = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$", description="Unique in the manifest.")]
Mailbox = Annotated[
    str, Field(max_length=254), AfterValidator(_mailbox), Field(json_schema_extra={"format": "email"})
]
Labels = Annotated[
    dict[
        Annotated[str, Field(max_length=40), texts.OneLine], Annotated[str, Field(max_length=500), texts.OneLine]
    ],
    Field(max_length=20),
]
