"""Requests about registrar connections."""

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    StrictBool,
    StrictInt,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from builders.kit.http.bodies import PatchBody
from builders.kit.values import texts
from builders.portfolio.registrars.change_records import ConnectionPatch
from builders.portfolio.registrars.records import MAX_SYNC_HOURS, Environment

MAX_CREDENTIAL = 1_000
MAX_CREDENTIALS = 20
MAX_LABEL = 80


def _credential(value: SecretStr) -> SecretStr:
    """Return a credential without blanks around it; requests carry ASCII only."""
    text = value.get_secret_value().strip()
    if not text or len(text) > MAX_CREDENTIAL or not (text.isascii() and text.isprintable()):
        message = "A credential has 1 to {most} printable ASCII characters."
        raise PydanticCustomError("credential_form", message, {"most": MAX_CREDENTIAL})
    return SecretStr(text)


Credential = Annotated[SecretStr, AfterValidator(_credential)]
Label = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LABEL),
    texts.checked(texts.plain, "text_form"),
]


class RegistrarConnect(PatchBody):
    """A connection to a registrar; omitted members do not change."""

    credentials: Annotated[
        dict[Annotated[str, Field(max_length=80)], Credential | None],
        Field(
            default_factory=dict,
            max_length=MAX_CREDENTIALS,
            description="By the names in `credential_fields`. An omitted secret stays; null clears an optional "
            "one.",
        ),
    ]
    label: Annotated[Label | None, Field(description="Your own text for the connection; null clears it.")] = None
    environment: Annotated[
        Environment, Field(description="By default `live`; with a test key `sandbox`, if the registrar has one.")
    ] = Environment.LIVE
    base_url: Annotated[
        str | None,
        Field(
            max_length=2048,
            description=(
                "Base URL of requests instead of the registrar's, with a test key only; null clears it. A new "
                "base URL requires all credentials."
            ),
        ),
    ] = None
    enabled: Annotated[StrictBool, Field(description="False: no request is sent to the registrar.")] = True
    sync_interval_hours: Annotated[
        StrictInt, Field(ge=1, le=MAX_SYNC_HOURS, description="Hours between two syncs.")
    ] = 24
    verify: Annotated[
        StrictBool,
        Field(description="Whether to verify the credentials with a request to the registrar before saving them."),
    ] = True
    require_valid: Annotated[
        StrictBool,
        Field(
            description=(
                "Whether to reject the request with 424 when the registrar does not accept the credentials."
            )
        ),
    ] = False

    @model_validator(mode="after")
    def _require_change(self) -> Self:
        """Accept an empty body: a registrar without an API needs no credentials."""
        return self

    def patch(self) -> ConnectionPatch:
        """Return the changes of the body."""
        return ConnectionPatch(
            credentials={
                name: None if value is None else value.get_secret_value()
                for name, value in self.credentials.items()
            },
            label=self.patch_of("label", self.label),
            environment=self.patch_of("environment", self.environment),
            base_url=self.patch_of("base_url", self.base_url),
            is_enabled=self.patch_of("enabled", self.enabled),
            sync_interval_hours=self.patch_of("sync_interval_hours", self.sync_interval_hours),
            verify=self.verify,
            require_valid=self.require_valid,
        )
