"""Cloudflare Registrar (https://developers.cloudflare.com/api/resources/registrar/); no bills by API."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic import AliasPath, BaseModel, Field

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    CredentialField,
    Environment,
    HeldTransfer,
    Profile,
    Quota,
    RegistrarDomain,
)
from builders.portfolio.registrars.rows import DomainRow, Rows, TransferRow, named
from builders.portfolio.registrars.sources import Topic, client, document

_UNDER_WAY = {"pending", "in_progress", "blocked"}


class _Domain(DomainRow):
    model_config = named(domain="domain_name", status_raw="status")
    privacy_mode: str | None = None

    def held(self) -> RegistrarDomain:
        """Read the mode of privacy."""
        return replace(super().held(), privacy=None if self.privacy_mode is None else self.privacy_mode != "off")


class _Workflow(TransferRow):
    model_config = named(
        status_raw=AliasPath("result", "state"),
        started_at=AliasPath("result", "created_at"),
        completed_at=AliasPath("result", "updated_at"),
        completed=AliasPath("result", "completed"),
        message=AliasPath("result", "error", "message"),
    )
    completed: bool = False

    def held(self) -> HeldTransfer:
        """Leave out the time of the last change while the transfer is under way."""
        held = super().held()
        return held if self.completed else replace(held, completed_at=None)


class _Change(BaseModel):
    """The workflow of a change."""

    state: str = Field(validation_alias=AliasPath("result", "state"))
    message: str | None = Field(default=None, validation_alias=AliasPath("result", "error", "message"))


class _Error(BaseModel):
    code: int
    message: str | None = None


class _Paging(BaseModel):
    cursor: str | None = None
    count: int | None = None  # rows of the page


class _Reply(BaseModel):
    success: bool
    errors: Rows[_Error] = ()


class _Domains(BaseModel):
    result: tuple[Any, ...]
    result_info: _Paging | None = None


_URL = "https://api.cloudflare.com/client/v4"


class Cloudflare(Adapter):
    """An account at Cloudflare Registrar."""

    profile = Profile(
        provider="cloudflare",
        label="Cloudflare Registrar",
        url=_URL,
        sandbox_url=_URL,  # of another path
        live_domains=("cloudflare.com",),
        credential_fields=(
            CredentialField(name="api_token", label="API token"),
            CredentialField(name="account_id", label="Account ID", is_secret=False),
        ),
        quota=Quota(requests=1200, window_s=300),
        dashboard_url="https://dash.cloudflare.com/?to=/:account/domains",
        list_end=(
            "`result_info` without a `cursor`, and on each page a `count` equal to its rows "
            "(developers.cloudflare.com/api/resources/registrar, November 2026)"
        ),
        place="dash.cloudflare.com, My profile, API tokens; the account ID is in the overview of the account",
        requires="a token that can read Registrar domains of the account, and edit them to set auto-renew",
        aliases=("cloudflareregistrar",),
        sources=(
            document(
                "https://developers.cloudflare.com/api/resources/registrar",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH),
                *(Topic.TRANSFERS, Topic.ERRORS),
            ),
            document(
                "https://developers.cloudflare.com/api/resources/registrar_sandbox", "2026-11-22", Topic.SANDBOX
            ),
            client("https://github.com/cloudflare/cloudflare-python", "2026-11", Topic.PAGES, Topic.STATES),
            client(
                "https://github.com/cloudflare/terraform-provider-cloudflare (#5505)", "2026-11-25", Topic.ERRORS
            ),
        ),
    )
    ends = ListEnd.CURSOR
    domain_row = _Domain
    transfer_row = _Workflow
    transfer_path = "/registrations/{domain}/transfer-in"
    headers: ClassVar = {"Authorization": "Bearer {api_token}"}
    failures: ClassVar = {
        # The form of the token, the token, and its permissions.
        **dict.fromkeys(("6003", "6111", "9109", "10000"), RegistrarFailure.AUTH_FAILED),
        **dict.fromkeys(("971", "10429"), RegistrarFailure.RATE_LIMITED),
        "10502": RegistrarFailure.RATE_LIMITED,  # too many failed authentications
    }
    auth_hint = "Check the token, its permission Registrar: Domains Read, and the account ID."

    @classmethod
    def base_url_of(cls, environment: Environment, *, credentials: Mapping[str, str]) -> str:
        """Return the base URL of the account: the sandbox is another path of the same host."""
        api = "registrar-sandbox" if environment is Environment.SANDBOX else "registrar"
        return f"{_URL}/accounts/{quote(credentials['account_id'], safe='')}/{api}"

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return the page behind a cursor; an empty cursor ends the list."""
        cursor = {} if place.cursor is None else {"cursor": place.cursor}
        page = await self.call(_Domains, "/registrations", per_page=50, **cursor)
        rows, paging = page.result, page.result_info
        is_cut = paging is None or paging.count not in {None, len(rows)}
        return Page(rows=rows, cursor=paging.cursor if paging else None, is_cut=is_cut)

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off, and follow the workflow where that takes time."""
        path, form = self.path("/registrations/{domain}", domain), self.reader(_Change)
        made = await self.send("PATCH", path, into=form, json={"auto_renew": enabled}, reads=False)
        if made.state in _UNDER_WAY:
            made = await self.send("GET", f"{path}/update-status", into=self._read_end)
        if made.state != "succeeded":
            raise self.failure(made.state, text=made.message or f"The change is {made.state}.")

    def _read_end(self, response: ApiResponse) -> _Change:
        """Return the workflow at its end; one under way is worth another look."""
        change = read(_Change, self.content(response))
        if change.state in _UNDER_WAY:
            hint = "Cloudflare has accepted the change and has not made it yet. The next sync shows it."
            raise RegistrarFailed(RegistrarFailure.UNAVAILABLE, hint=hint)
        return change

    def content(self, response: ApiResponse) -> Any:
        """Raise RegistrarFailed unless the body says success."""
        body = response.json()
        reply = read(_Reply, body)
        if not reply.success:
            error = reply.errors[0] if reply.errors else None
            code, text = (None, None) if error is None else (str(error.code), error.message)
            raise self.failure(code, status=response.status, text=text)
        return body
