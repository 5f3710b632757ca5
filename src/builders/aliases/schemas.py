"""What is sent to the aliases."""

from typing import Annotated, Any

from email_validator import EmailNotValidError, validate_email
from pydantic import ConfigDict, Field, StrictBool

from builders.aliases.records import MAX_LABELS, AliasPatch
from builders.kit.http.bodies import Body, by_example
from builders.kit.http.merge_patches import PatchBody
from builders.kit.values import texts
from builders.kit.values.patches import UNSET
from builders.kit.values.texts import checked

MAX_DESTINATIONS = 10


def _mailbox(written: str) -> str:
    """An address that mail can be sent to (RFC 5321), its domain as an A-label. Raises ValueError."""
    try:
        found = validate_email(written, check_deliverability=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(f"Not an email address: {error}") from None
    return f"{found.local_part}@{found.ascii_domain.lower()}"


Mailbox = Annotated[
    str, Field(max_length=254), checked(_mailbox, "email"), Field(json_schema_extra={"format": "email"})
]
Label = Annotated[str, Field(max_length=40), texts.OneLine]


def _no_default(schema: dict[str, Any]) -> None:
    """A member that is left out stays as it is; null is no default."""
    schema.pop("default", None)


OPTIONAL = Field(json_schema_extra=_no_default)
LEFT_OUT: Any = None  # no value of the member: null is refused


class AliasUpdate(PatchBody):
    """A merge patch of an alias (RFC 7396): an absent member stays as it is, null clears. At least one member."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {"destinations": ["ada@example.net", "ops@example.net"]},
            {"enabled": False, "note": "On leave until May.", "labels": {"team": "ops", "old": None}},
        )
    )

    destinations: Annotated[
        list[Mailbox],
        Field(
            min_length=1,
            max_length=MAX_DESTINATIONS,
            json_schema_extra=_no_default,
            description="All of them. The reader of one that is new to the account is asked by mail first.",
        ),
    ] = LEFT_OUT
    enabled: Annotated[StrictBool, OPTIONAL, Field(description="Whether mail is forwarded; null enables.")] = (
        LEFT_OUT
    )
    note: Annotated[
        Annotated[str, Field(max_length=200), texts.OneLine] | None,
        Field(description="Your own note; null removes it."),
    ] = None
    labels: Annotated[
        dict[Label, Annotated[str, Field(max_length=500), texts.OneLine] | None] | None,
        Field(max_length=MAX_LABELS, description="Merged with those there; null removes a label, or all."),
    ] = None

    def patch(self) -> AliasPatch:
        """The record."""
        unique = {email.lower(): email for email in self.destinations or ()}
        return AliasPatch(
            destinations=tuple(unique.values()) or UNSET,
            enabled=UNSET if self.enabled is None else self.enabled,
            note=self.patch_of("note", self.note),
            labels=self.patch_of("labels", self.labels),
        )


class DestinationResend(Body):
    """Whose reader is to be asked again."""

    model_config = ConfigDict(json_schema_extra=by_example({"email": "ops@example.net"}))

    email: Annotated[Mailbox, Field(description="A destination of one of your names.")]
