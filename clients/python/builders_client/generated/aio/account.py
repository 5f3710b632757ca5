# Written by script/clients.
"""Operations: account."""

from typing import Literal, Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.account import MachinesUpdate
from builders_client.generated.bodies.shared import TokenForm
from builders_client.generated.models.account import (
    AccountErasureReply,
    AccountExportReply,
    AccountExportReplyListing,
    AuditEntryReply,
    AuditEntryReplyPage,
    DeciderConfirmed,
    DeciderReplyListing,
    MachinesReply,
)
from builders_client.values import File


class AsyncAccount:
    """The account: its audit log, its machines, its deciders, and exports."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def cancel_erasure(
        self,
    ) -> AccountErasureReply:
        """Cancel the erasure, as a decider.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("account_cancel_erasure", AccountErasureReply)

    async def cancel_erasure_page(
        self,
        **body: Unpack[TokenForm],
    ) -> File:
        """Cancel the erasure with the button of the page.

        Requires no credentials.
        """
        return await self._client.send("account_cancel_erasure_page", File, body=body)

    async def confirm_decider(
        self,
        decider_id: str,
    ) -> DeciderConfirmed:
        """Confirm a new decider, or one with a new address, who else waits 24 hours. Another decider does this.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `member_not_found`.

        Args:
            decider_id: Account of the decider.
        """
        return await self._client.send(
            "account_confirm_decider", DeciderConfirmed, path={"decider_id": decider_id}
        )

    async def create_export(
        self,
    ) -> AccountExportReply:
        """Export what these credentials read now, as one file that a job writes.

        It holds all pages of the lists of `parts`; `left_out` names what it does not hold. Mail,
        correspondents, secrets, sessions and the audit list are never in it. The same key, connection or
        session collects it within 24 hours. An account has one at a time, and 5 a day; one of more than 1 GB
        fails.

        Requires the scope `account:read`.

        Errors: `export_running`.
        """
        return await self._client.send("account_create_export", AccountExportReply)

    async def get_erasure(
        self,
    ) -> AccountErasureReply:
        """Read how far the erasure of the account is.

        Requires the scope `account:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("account_get_erasure", AccountErasureReply)

    async def get_export(
        self,
        export_id: str,
    ) -> AccountExportReply:
        """Read how far an export is, with the credentials that requested it.

        Requires the scope `account:read`.

        Errors: `export_not_found`.

        Args:
            export_id: Identifier of the export.
        """
        return await self._client.send("account_get_export", AccountExportReply, path={"export_id": export_id})

    async def get_export_content(
        self,
        export_id: str,
    ) -> File:
        """Collect an export, with the credentials that requested it.

        Each line is a JSON object. The first has `parts` and `left_out`. Each other one has the `part`, which
        is the operation id of a list, and an `item` as the API lists it, or a table, and a row.

        Requires the scope `account:read`.

        Errors: `export_not_found`, `export_not_ready`.

        Args:
            export_id: Identifier of the export.
        """
        return await self._client.send("account_get_export_content", File, path={"export_id": export_id})

    async def get_machines(
        self,
    ) -> MachinesReply:
        """Read what all machines with a mandate may cost in 30 days, and have cost.

        Requires the scope `account:read`.
        """
        return await self._client.send("account_get_machines", MachinesReply)

    async def limit_machines(
        self,
        **body: Unpack[MachinesUpdate],
    ) -> MachinesReply:
        """Limit what all machines with a mandate cost together in 30 days, as a person who has signed in lately.

        The renewals of their names count too. They are never refused, but leave less.

        Requires the scope `plans:approve`.
        """
        return await self._client.send("account_limit_machines", MachinesReply, body=body)

    def list_audit(
        self,
        *,
        action: Literal[
            "api_key.minted",
            "api_key.rotated",
            "api_key.revoked",
            "api_key.enabled",
            "api_key.narrowed",
            "reception.set",
            "reception.ended",
            "mail.answered",
            "mail.opened",
            "export.requested",
            "machines.limited",
            "api_key.refused",
            "account.suspended",
            "account.restored",
            "erasure.confirmed",
            "erasure.cancelled",
            "session.opened",
            "session.ended",
            "identity.linked",
            "identity.unlinked",
            "login_as.granted",
            "login_as.redeemed",
            "login_as.revoked",
            "support.acted",
            "plan.promoted",
            "plan.approved",
            "plan.rejected",
            "plan.approval_withdrawn",
            "approval_policy.proposed",
            "approval_policy.confirmed",
            "approval_policy.discarded",
            "approval_policy.changed",
            "email.change_requested",
            "email.changed",
            "email.verified",
            "profile.changed",
            "team.role_changed",
            "team.member_invited",
            "team.member_removed",
            "device.approved",
            "device.denied",
            "connection.approved",
            "connection.denied",
            "decision.refused",
            "decider.added",
            "decider.removed",
            "decider.confirmed",
            "auth_code.requested",
            "domain.history_deleted",
            "registrar.credential_changed",
        ]
        | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[AuditEntryReplyPage, AuditEntryReply]:
        """List the audit entries of the account, newest first; with a test key, those of the real account.

        Requires the scope `account:read`.

        Args:
            action: Only entries of this kind.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "account_list_audit",
            AuditEntryReplyPage,
            "items",
            query={"action": action, "limit": limit, "cursor": cursor},
        )

    async def list_complete_exports(
        self,
    ) -> AccountExportReplyListing:
        """List the complete exports of the last 24 hours, at most 20.

        Requires the scope `account:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("account_list_complete_exports", AccountExportReplyListing)

    async def list_deciders(
        self,
    ) -> DeciderReplyListing:
        """List the people who decide about plans of the account: itself and members with `approve_plans`.

        A person whose address is on a domain that this service forwards is not one of them.

        Requires the scope `account:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("account_list_deciders", DeciderReplyListing)

    async def request_complete_export(
        self,
    ) -> AccountExportReply:
        """Request the complete export of the account, or confirm it as a decider, having signed in lately.

        It has all rows, with mail and secrets. The session that requested it collects it, at most twice.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `export_running`.
        """
        return await self._client.send("account_request_complete_export", AccountExportReply)

    async def request_erasure(
        self,
    ) -> AccountErasureReply:
        """Request the erasure of the account, or confirm it as a decider, having signed in lately.

        It waits 14 days. Each of its emails cancels it.

        Requires the scope `plans:approve`.

        Errors: `portfolio_not_found`, `account_unsettled`.
        """
        return await self._client.send("account_request_erasure", AccountErasureReply)

    async def show_erasure_cancellation(
        self,
        *,
        token: str,
    ) -> File:
        """Show the page of an emailed link.

        Requires no credentials.

        Args:
            token: Token of the emailed link.
        """
        return await self._client.send("account_show_erasure_cancellation", File, query={"token": token})
