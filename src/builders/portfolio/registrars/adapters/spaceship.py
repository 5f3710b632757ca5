"""Spaceship (https://docs.spaceship.dev/): domains, transfers and codes; no bills by API."""

import re
from dataclasses import replace
from http import HTTPStatus
from typing import Any, ClassVar

from pydantic import AliasPath

from builders.portfolio.registrars.adapter import Adapter, ListEnd, Page, Place
from builders.portfolio.registrars.api_client import ApiResponse, read
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import CredentialField, HeldStatus, Profile, Quota, RegistrarDomain
from builders.portfolio.registrars.rows import DomainRow, Row, TransferRow, named
from builders.portfolio.registrars.sources import Topic, document

_OPERATION = re.compile(r"[A-Za-z0-9]{1,36}")


class _Suspension(Row):
    reason_code: str = "suspended"  # such as raaVerification, abuse, lockCourt


class _Domain(DomainRow):
    model_config = named(
        domain="name",
        expires_at="expirationDate",
        created_at="registrationDate",
        auto_renew="autoRenew",
        status_raw="lifecycleStatus",
        epp="eppStatuses",
        privacy_level=AliasPath("privacyProtection", "level"),
        nameservers=AliasPath("nameservers", "hosts"),
    )
    privacy_level: str | None = None
    suspensions: tuple[_Suspension, ...] = ()

    def held(self) -> RegistrarDomain:
        """Read the suspensions and the level of privacy."""
        held = super().held()
        reasons = [each.reason_code for each in self.suspensions]
        if reasons and held.status is HeldStatus.ACTIVE:
            held = replace(held, status=HeldStatus.SUSPENDED)
        return replace(
            held,
            status_raw=", ".join([*filter(None, (held.status_raw,)), *reasons]) or None,
            privacy=None if self.privacy_level is None else self.privacy_level != "public",
        )


class _Domains(Row):
    items: tuple[Any, ...]
    total: int


class _Transfer(TransferRow):
    model_config = named(
        status_raw="status", is_out="direction", started_at="startedAt", completed_at="finishedAt"
    )


class _Operation(Row):
    status: str  # pending, success, failed


class Spaceship(Adapter):
    """An account at Spaceship."""

    profile = Profile(
        provider="spaceship",
        label="Spaceship",
        url="https://spaceship.dev/api/v1",
        live_domains=("spaceship.dev", "spaceship.com"),
        credential_fields=(
            CredentialField(name="api_key", label="API key"),
            CredentialField(name="api_secret", label="API secret"),
        ),
        quota=Quota(requests=300, window_s=300),
        dashboard_url="https://www.spaceship.com/application/domain-list-application/",
        list_end="as many rows as `total` of each page (docs.spaceship.dev, Get domain list, November 2026)",
        place="spaceship.com, API manager",
        requires="a key that can read and write domains and transfers, and read asynchronous operations",
        aliases=("spaceshipcom",),
        sources=(
            document(
                "https://docs.spaceship.dev",
                "2026-11-22",
                *(Topic.AUTHENTICATION, Topic.PAGES, Topic.STATES, Topic.AUTO_RENEW, Topic.LOCK, Topic.SWITCH),
                *(Topic.AUTH_CODES, Topic.TRANSFERS, Topic.ERRORS, Topic.LIMITS),
            ),
        ),
    )
    ends = ListEnd.TOTAL
    domain_row = _Domain
    domain_path = "/domains/{domain}"
    code_path = "/domains/{domain}/transfer/auth-code"
    transfer_row = _Transfer
    transfer_path = "/domains/{domain}/transfer"
    headers: ClassVar = {"X-Api-Key": "{api_key}", "X-Api-Secret": "{api_secret}"}
    error_member = "detail"
    auth_hint = "Check key and secret, and that the key has the scopes for domains and transfers."

    async def read_domains(self, place: Place) -> Page[Any]:
        """Return a page of 100 domains; the list ends at the total."""
        page = await self.call(_Domains, "/domains", take=100, skip=place.start)
        return Page(rows=page.items, total=page.total)

    async def set_auto_renew(self, domain: str, *, enabled: bool) -> None:
        """Switch automatic renewal on or off, and follow the operation where that takes time."""
        path, body = f"/domains/{domain}/autorenew", {"isEnabled": enabled}
        operation = await self.send("PUT", path, into=self._read_operation, json=body, reads=False)
        if operation is not None:
            await self.send("GET", f"/async-operations/{operation}", into=self._require_success)

    def _read_operation(self, response: ApiResponse) -> str | None:
        """Return the operation of a change that is accepted only."""
        self.content(response)
        if response.status != HTTPStatus.ACCEPTED:
            return None
        operation = response.headers.get("spaceship-async-operationid", "")
        if not _OPERATION.fullmatch(operation):
            raise RegistrarFailed(RegistrarFailure.MALFORMED)
        return operation

    def _require_success(self, response: ApiResponse) -> None:
        """Raise RegistrarFailed unless the operation succeeded; one under way is worth another look."""
        status = read(_Operation, self.content(response)).status
        if status == "failed":
            raise self.failure(status, text="The operation failed.")
        if status != "success":
            hint = "Spaceship has accepted the change and has not made it yet. The next sync shows it."
            raise RegistrarFailed(RegistrarFailure.UNAVAILABLE, hint=hint)
