"""Request bodies about registrar connections and inventories."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    StrictBool,
    StrictInt,
    StringConstraints,
)
from pydantic_core import PydanticCustomError

from builders.kit.errors import CURRENCY_PATTERN, Invalid
from builders.kit.http.bodies import PatchBody
from builders.kit.sheets.bodies import DomainNames, TableBody
from builders.kit.sheets.sources import TableOptions
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.patches import UNSET
from builders.portfolio.domain_files.columns import DOMAINS
from builders.portfolio.registrars.records import (
    MAX_SYNC_HOURS,
    ConnectionPatch,
    Environment,
    ImportMode,
    NewInventoryImport,
)

MAX_CREDENTIAL = 1_000
MAX_CREDENTIALS = 20
MAX_LABEL = 80
PROVIDER = "The registrar. One without an API is `manual:NAME`, and needs no connection."
CONNECTION = "Name of the connection, if the registrar has several."
MODE = (
    "`merge`: domains outside the list do not change. `replace_snapshot`: the list is complete, so domains "
    "outside it are missing, unless a row is refused or no row has a domain."
)
CURRENCY = "ISO 4217 code of amounts without a currency; USD by default."
ADD = "Whether to add domains that the portfolio does not have."


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

    refuses_similar = True

    credentials: Annotated[
        dict[Annotated[str, Field(max_length=80)], Credential | None],
        Field(
            default_factory=dict,
            max_length=MAX_CREDENTIALS,
            description="By the names in `credential_fields`. An omitted secret stays; null clears an optional "
            "one.",
        ),
    ]
    label: Annotated[Label | None, doc("Your own text for the connection; null clears it.")] = None
    environment: Annotated[
        Environment, doc("By default `live`; with a test key `sandbox`, if the registrar has one.")
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
    enabled: Annotated[StrictBool, doc("False: no request is sent to the registrar.")] = True
    sync_interval_hours: Annotated[
        StrictInt, Field(ge=1, le=MAX_SYNC_HOURS, description="Hours between two syncs.")
    ] = 24
    verify: Annotated[
        StrictBool, doc("Whether to verify the credentials with a request to the registrar before saving them.")
    ] = True
    require_valid: Annotated[
        StrictBool,
        doc("Whether to reject the request with 424 when the registrar does not accept the credentials."),
    ] = False

    def has_effect(self) -> bool:
        """Return True: an empty body connects a registrar without an API, which needs no credentials."""
        return True

    def patch(self) -> ConnectionPatch:
        """Return the changes of the body."""
        patches = self.patches("label", "environment", "base_url", "sync_interval_hours")
        patches["is_enabled"] = self.patch_of("enabled", self.enabled)
        return ConnectionPatch(
            credentials={
                name: None if value is None else value.get_secret_value()
                for name, value in self.credentials.items()
            },
            members={name: value for name, value in patches.items() if value is not UNSET},
            verify=self.verify,
            require_valid=self.require_valid,
        )


Currency = Annotated[str, StringConstraints(pattern=CURRENCY_PATTERN)]


class InventoryImportCreate(TableBody):
    """The list of domains of a registrar: exactly one of `csv`, `rows` and `domains`."""

    kind = DOMAINS

    domains: DomainNames = None
    provider: Annotated[
        str | None, StringConstraints(max_length=80), doc(f"{PROVIDER} Required here, or in the query.")
    ] = None
    connection: Annotated[str | None, StringConstraints(max_length=80), doc(CONNECTION)] = None
    mode: Annotated[ImportMode, doc(MODE)] = ImportMode.MERGE
    currency: Annotated[Currency | None, doc(CURRENCY)] = None
    add_to_portfolio: Annotated[bool, doc(ADD)] = False

    def new_import(self, query: Mapping[str, Any]) -> NewInventoryImport:
        """Return the import; an option of the query counts before that of the body. Raise Invalid."""
        body = self.with_query(query)
        if body.provider is None:
            raise Invalid(("body", "provider"), "Field required", "missing")
        return NewInventoryImport(
            provider=body.provider,
            connection=body.connection,
            table=body.sent_table(TableOptions, currency=body.currency),
            mode=body.mode,
            adds_to_portfolio=body.add_to_portfolio,
            dry_run=body.dry_run,
        )
