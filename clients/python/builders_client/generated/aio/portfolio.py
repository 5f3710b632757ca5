# Written by script/clients.
"""Operations: portfolio."""

from collections.abc import Sequence
from types import NoneType
from typing import Literal, Unpack

from builders_client.aio.pages import AsyncPages
from builders_client.aio.sender import AsyncSender
from builders_client.generated.bodies.portfolio import (
    BillingEnsure,
    BillingImport,
    BillingSync,
    ChargeSplit,
    ChargeUpdate,
    FinanceUpdate,
    InventoryImportCreate,
    NoticesRead,
    NotificationPreferencesUpdate,
    NotificationTest,
    OwnRatesUpdate,
    ParkingRevenueCreate,
    PortfolioDomainCreate,
    PortfolioDomainUpdate,
    PortfolioEdit,
    PortfolioExpiryHandover,
    PortfolioFormatUpdate,
    PortfolioImportCreate,
    RegistrarConnect,
    RenewalCreate,
    RenewalsBulkUpdate,
    SavedViewsUpdate,
    TeamAccept,
    TeamInviteCreate,
    TeamMemberUpdate,
)
from builders_client.generated.bodies.shared import TokenForm
from builders_client.generated.models.portfolio import (
    AuthCodeReply,
    BillingApplied,
    BillingCharge,
    BillingCharges,
    BillingEnsured,
    BillingImported,
    BillingRun,
    BillingSplit,
    BillingTemplates,
    FinanceReply,
    FinanceWritten,
    HeldDomainReply,
    InventoryImportReply,
    LedgerEntryReply,
    LedgerEntryReplyCountedPage,
    NoticesAcknowledgedReply,
    NoticesReadReply,
    NotificationPreferencesReply,
    NotificationPreferencesWritten,
    NotificationTestReply,
    OwnRatesWritten,
    ParkingItem,
    ParkingReport,
    ParkingRevenueRecorded,
    PortfolioDomainChange,
    PortfolioDomainChangePage,
    PortfolioDomainDetail,
    PortfolioDomainReply,
    PortfolioDomainReplyCountedPage,
    PortfolioDomainWritten,
    PortfolioEdited,
    PortfolioEventReplyListing,
    PortfolioExpiriesHandedOver,
    PortfolioExport,
    PortfolioFormat,
    PortfolioFormatListing,
    PortfolioImportItem,
    PortfolioImportItemPage,
    PortfolioImportPreview,
    PortfolioImportReply,
    PortfolioImportUndone,
    PortfolioNoticeReply,
    PortfolioNoticeReplyPage,
    PortfolioOwnRates,
    PortfolioSummaryReply,
    PortfolioTagReplyListing,
    ReconcileFinding,
    ReconcileReport,
    RegistrarDisconnected,
    RegistrarInventory,
    RegistrarList,
    RegistrarRun,
    RegistrarWritten,
    RenewalCalendarLink,
    RenewalRecorded,
    RenewalReply,
    RenewalsReply,
    RenewalsUpdated,
    SavedViewsReply,
    TeamAccepted,
    TeamInviteCreated,
    TeamMemberWritten,
    TeamReply,
    TransferReply,
    WebhookTestReply,
)
from builders_client.values import AmountLike, DateLike, File


class AsyncPortfolio:
    """The domain portfolio: domains and their finance, team, events, notifications."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def accept_team_invite(
        self,
        **body: Unpack[TeamAccept],
    ) -> TeamAccepted:
        """Accept an invitation as the account whose verified address was invited. A repeated request has no
        effect.

        Requires the scope `team:write`.

        Errors: `already_member`, `membership_limit`, `invite_used`, `invite_expired`.
        """
        return await self._client.send("portfolio_accept_team_invite", TeamAccepted, body=body)

    async def accept_team_invite_page(
        self,
        **body: Unpack[TokenForm],
    ) -> File:
        """Accept an invitation with the button of its page.

        Requires the scope `team:write`.

        Errors: `already_member`, `membership_limit`, `invite_used`, `invite_expired`.
        """
        return await self._client.send("portfolio_accept_team_invite_page", File, body=body)

    async def acknowledge_notices(
        self,
        **body: Unpack[NoticesRead],
    ) -> NoticesAcknowledgedReply:
        """Acknowledge notices, so that `expiry.repeat_until_ack` does not repeat them; marks them as read.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_acknowledge_notices", NoticesAcknowledgedReply, body=body)

    async def add_domain(
        self,
        **body: Unpack[PortfolioDomainCreate],
    ) -> PortfolioDomainWritten:
        """Add a domain to the portfolio. Only its name is required.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `duplicate_domain`, `portfolio_domain_limit`, `entry_limit`.
        """
        return await self._client.send("portfolio_add_domain", PortfolioDomainWritten, body=body)

    async def apply_billing_charges(
        self,
        *,
        ids: Sequence[str] | None = None,
        min_confidence: float | None = None,
        dry_run: bool | None = None,
        undo: bool | None = None,
    ) -> BillingApplied:
        """Match unbooked charges with the current portfolio, and book the charges with a certain domain.

        Each charge is booked once, so a repeated request has no effect. If a member recorded the same amount
        within 7 days, the charge is linked with that entry. Up to 10,000 charges are examined: `has_more` says
        whether to send the request again.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            ids: Only these charges; may be repeated.
            min_confidence: Minimum certainty of the domain of a charge.
            dry_run: Report the effect without any change.
            undo: Void the entries of applied charges instead. The next application matches and books the
                charges again; a domain that a member chose stays.
        """
        return await self._client.send(
            "portfolio_apply_billing_charges",
            BillingApplied,
            query={"ids": ids, "min_confidence": min_confidence, "dry_run": dry_run, "undo": undo},
        )

    async def connect_registrar(
        self,
        provider: str,
        *,
        connection: str | None = None,
        **body: Unpack[RegistrarConnect],
    ) -> RegistrarWritten:
        """Connect a registrar or change the connection. The registrar checks the credentials first.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `connection_ambiguous`, `connection_changed`,
        `connection_limit`, `domain_not_at_provider`, `provider_unsupported`.

        Args:
            provider: The registrar; `manual:NAME` for one without an API.
            connection: Name of the connection, if the registrar has several; a new name adds one. By default
                the only one.
        """
        return await self._client.send(
            "portfolio_connect_registrar",
            RegistrarWritten,
            path={"provider": provider},
            query={"connection": connection},
            body=body,
        )

    async def create_renewal_calendar(
        self,
    ) -> RenewalCalendarLink:
        """Create a secret link to your calendar of renewals. It replaces your previous link.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_create_renewal_calendar", RenewalCalendarLink)

    async def create_team_invite(
        self,
        **body: Unpack[TeamInviteCreate],
    ) -> TeamInviteCreated:
        """Invite an address to the team, by email; a pending invitation to it is renewed with a new token.

        Requires the scope `team:write`.

        Errors: `portfolio_not_found`, `already_member`, `team_limit`.
        """
        return await self._client.send("portfolio_create_team_invite", TeamInviteCreated, body=body)

    async def delete_billing_charge_split(
        self,
        charge_id: str,
    ) -> BillingCharge:
        """Take back the split of a charge: void the entries of its parts, and remove the parts.

        The charge is matched with the next application. A repeated request has no effect.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `charge_not_found`, `charge_not_open`.

        Args:
            charge_id: Identifier of the charge.
        """
        return await self._client.send(
            "portfolio_delete_billing_charge_split", BillingCharge, path={"charge_id": charge_id}
        )

    async def delete_portfolio_format(
        self,
        name: str,
    ) -> None:
        """Delete a format of your own sheets.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `saved_format_not_found`.

        Args:
            name: Name of the format: lower-case letters, digits and hyphens.
        """
        return await self._client.send("portfolio_delete_portfolio_format", NoneType, path={"name": name})

    async def delete_team_invite(
        self,
        invite_id: str,
    ) -> None:
        """Revoke a pending invitation.

        Requires the scope `team:write`.

        Errors: `portfolio_not_found`, `invite_not_found`.

        Args:
            invite_id: Identifier of the invitation.
        """
        return await self._client.send("portfolio_delete_team_invite", NoneType, path={"invite_id": invite_id})

    async def delete_team_member(
        self,
        member_account_id: str,
    ) -> None:
        """Remove a member; every member can remove themselves.

        Requires the scope `team:write`.

        Errors: `portfolio_not_found`, `member_not_found`, `last_owner`.

        Args:
            member_account_id: Account of the member.
        """
        return await self._client.send(
            "portfolio_delete_team_member", NoneType, path={"member_account_id": member_account_id}
        )

    async def disconnect_registrar(
        self,
        provider: str,
        *,
        connection: str | None = None,
        keep_inventory: bool | None = None,
    ) -> RegistrarDisconnected:
        """Disconnect a registrar and erase its credentials. A repeated request has no effect.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `connection_ambiguous`.

        Args:
            provider: The registrar; `manual:NAME` for one without an API.
            connection: Name of the connection, if the registrar has several; a new name adds one. By default
                the only one.
            keep_inventory: False: also delete the listed domains of the registrar.
        """
        return await self._client.send(
            "portfolio_disconnect_registrar",
            RegistrarDisconnected,
            path={"provider": provider},
            query={"connection": connection, "keep_inventory": keep_inventory},
        )

    async def edit_domains(
        self,
        **body: Unpack[PortfolioEdit],
    ) -> PortfolioEdited:
        """Change up to 1,000 domains in the same way. An unknown or refused domain does not affect the others.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `domains_changed`.
        """
        return await self._client.send("portfolio_edit_domains", PortfolioEdited, body=body)

    async def ensure_billing_charges(
        self,
        *,
        wait: float | None = None,
        **body: Unpack[BillingEnsure],
    ) -> BillingEnsured:
        """Refresh domains and charges of the registrars that are older than `max_age_hours`, or all with `force`.

        A connection that was refreshed within 5 minutes is skipped. The refresh of domains requires a role that
        may sync them.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `not_connected`.

        Args:
            wait: Maximum seconds to wait for the end of the run.
        """
        return await self._client.send(
            "portfolio_ensure_billing_charges", BillingEnsured, query={"wait": wait}, body=body
        )

    async def export_parking(
        self,
        *,
        days: int | None = None,
        domain: str | None = None,
        provider: str | None = None,
        group_by: Literal["domain", "day", "provider"] | None = None,
    ) -> File:
        """Export the parking report as CSV, in the currencies that were recorded.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            days: Days of the report, up to today.
            domain: Only this domain: its name or identifier.
            provider: Only revenue of this provider.
            group_by: The grouping of the items.
        """
        return await self._client.send(
            "portfolio_export_parking",
            File,
            query={"days": days, "domain": domain, "provider": provider, "group_by": group_by},
        )

    async def export_portfolio(
        self,
        *,
        status: Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"]
        | None = None,
        ownership: Literal["owned", "leased", "consigned"] | None = None,
        registrar: str | None = None,
        tag: str | None = None,
        folder: str | None = None,
        tld: str | None = None,
        auto_renew: bool | None = None,
        lifecycle: Literal[
            "active", "expiring", "grace", "redemption", "quarantine", "pending_delete", "expired", "unknown"
        ]
        | None = None,
        decision: Literal["renew", "drop", "undecided"] | None = None,
        expiring_within_days: int | None = None,
        q: str | None = None,
        min_roi: AmountLike | None = None,
        max_roi: AmountLike | None = None,
        min_net: AmountLike | None = None,
        max_net: AmountLike | None = None,
        min_cost: AmountLike | None = None,
        max_cost: AmountLike | None = None,
        min_income: AmountLike | None = None,
        max_income: AmountLike | None = None,
        min_renewal_price_base: AmountLike | None = None,
        max_renewal_price_base: AmountLike | None = None,
    ) -> PortfolioExport:
        """Export the domains of the portfolio with their amounts, as the body of an import.

        An import of the export into the same portfolio has no effect; into another portfolio, it copies all
        data. Without the permission to see finance, the members of money are null.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            status: Only domains with this status.
            ownership: Only domains with this basis.
            registrar: Only domains at this registrar, upper or lower case.
            tag: Only domains with this tag.
            folder: Only domains in this folder.
            tld: Only domains with this public suffix, such as `co.uk`.
            auto_renew: Only domains whose auto-renewal is on, or off. An unknown one is neither.
            lifecycle: Only domains in this state.
            decision: Only domains with this decision about the next expiry.
            expiring_within_days: Only domains that expire within this number of days.
            q: Only domains with this text in name, tags or notes.
            min_roi: Only domains with at least this `roi`.
            max_roi: Only domains with at most this `roi`.
            min_net: Only domains with at least this `net`.
            max_net: Only domains with at most this `net`.
            min_cost: Only domains with at least this `cost`.
            max_cost: Only domains with at most this `cost`.
            min_income: Only domains with at least this `income`.
            max_income: Only domains with at most this `income`.
            min_renewal_price_base: Only domains with at least this `renewal_price_base`.
            max_renewal_price_base: Only domains with at most this `renewal_price_base`.
        """
        return await self._client.send(
            "portfolio_export_portfolio",
            PortfolioExport,
            query={
                "status": status,
                "ownership": ownership,
                "registrar": registrar,
                "tag": tag,
                "folder": folder,
                "tld": tld,
                "auto_renew": auto_renew,
                "lifecycle": lifecycle,
                "decision": decision,
                "expiring_within_days": expiring_within_days,
                "q": q,
                "min_roi": min_roi,
                "max_roi": max_roi,
                "min_net": min_net,
                "max_net": max_net,
                "min_cost": min_cost,
                "max_cost": max_cost,
                "min_income": min_income,
                "max_income": max_income,
                "min_renewal_price_base": min_renewal_price_base,
                "max_renewal_price_base": max_renewal_price_base,
            },
        )

    async def export_portfolio_csv(
        self,
        *,
        status: Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"]
        | None = None,
        ownership: Literal["owned", "leased", "consigned"] | None = None,
        registrar: str | None = None,
        tag: str | None = None,
        folder: str | None = None,
        tld: str | None = None,
        auto_renew: bool | None = None,
        lifecycle: Literal[
            "active", "expiring", "grace", "redemption", "quarantine", "pending_delete", "expired", "unknown"
        ]
        | None = None,
        decision: Literal["renew", "drop", "undecided"] | None = None,
        expiring_within_days: int | None = None,
        q: str | None = None,
        min_roi: AmountLike | None = None,
        max_roi: AmountLike | None = None,
        min_net: AmountLike | None = None,
        max_net: AmountLike | None = None,
        min_cost: AmountLike | None = None,
        max_cost: AmountLike | None = None,
        min_income: AmountLike | None = None,
        max_income: AmountLike | None = None,
        min_renewal_price_base: AmountLike | None = None,
        max_renewal_price_base: AmountLike | None = None,
    ) -> File:
        """Export the domains of the portfolio with their amounts, as a CSV file that an import reads.

        Cells that a spreadsheet would evaluate as formulas begin with an apostrophe, which an import removes.
        Without the permission to see finance, the columns of money are empty.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            status: Only domains with this status.
            ownership: Only domains with this basis.
            registrar: Only domains at this registrar, upper or lower case.
            tag: Only domains with this tag.
            folder: Only domains in this folder.
            tld: Only domains with this public suffix, such as `co.uk`.
            auto_renew: Only domains whose auto-renewal is on, or off. An unknown one is neither.
            lifecycle: Only domains in this state.
            decision: Only domains with this decision about the next expiry.
            expiring_within_days: Only domains that expire within this number of days.
            q: Only domains with this text in name, tags or notes.
            min_roi: Only domains with at least this `roi`.
            max_roi: Only domains with at most this `roi`.
            min_net: Only domains with at least this `net`.
            max_net: Only domains with at most this `net`.
            min_cost: Only domains with at least this `cost`.
            max_cost: Only domains with at most this `cost`.
            min_income: Only domains with at least this `income`.
            max_income: Only domains with at most this `income`.
            min_renewal_price_base: Only domains with at least this `renewal_price_base`.
            max_renewal_price_base: Only domains with at most this `renewal_price_base`.
        """
        return await self._client.send(
            "portfolio_export_portfolio_csv",
            File,
            query={
                "status": status,
                "ownership": ownership,
                "registrar": registrar,
                "tag": tag,
                "folder": folder,
                "tld": tld,
                "auto_renew": auto_renew,
                "lifecycle": lifecycle,
                "decision": decision,
                "expiring_within_days": expiring_within_days,
                "q": q,
                "min_roi": min_roi,
                "max_roi": max_roi,
                "min_net": min_net,
                "max_net": max_net,
                "min_cost": min_cost,
                "max_cost": max_cost,
                "min_income": min_income,
                "max_income": max_income,
                "min_renewal_price_base": min_renewal_price_base,
                "max_renewal_price_base": max_renewal_price_base,
            },
        )

    async def get_domain(
        self,
        domain_id: str,
    ) -> PortfolioDomainDetail:
        """Read a domain of the portfolio, with the dates of its deletion if it is not renewed.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
        """
        return await self._client.send(
            "portfolio_get_domain", PortfolioDomainDetail, path={"domain_id": domain_id}
        )

    async def get_domain_finance(
        self,
        domain_id: str,
        *,
        base_currency: str | None = None,
        as_of: DateLike | None = None,
        commission_rate: AmountLike | None = None,
        year: int | None = None,
    ) -> FinanceReply:
        """Read the finance of a domain: totals, returns, entries, and advice on its next renewal.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
            base_currency: Currency of the figures, at the rate of each entry's day; by default that of the
                portfolio.
            as_of: Day of the figures, which exclude later entries; today by default.
            commission_rate: Part of a future sale price that is the commission, for the break-even price and
                the advice.
            year: Only the entries of this year; the figures count all.
        """
        return await self._client.send(
            "portfolio_get_domain_finance",
            FinanceReply,
            path={"domain_id": domain_id},
            query={
                "base_currency": base_currency,
                "as_of": as_of,
                "commission_rate": commission_rate,
                "year": year,
            },
        )

    async def get_notification_preferences(
        self,
    ) -> NotificationPreferencesReply:
        """Read your notification preferences in the portfolio, with defaults for members that you have not set.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_get_notification_preferences", NotificationPreferencesReply)

    def get_parking(
        self,
        *,
        days: int | None = None,
        domain: str | None = None,
        provider: str | None = None,
        group_by: Literal["domain", "day", "provider"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[ParkingReport, ParkingItem]:
        """Report the parking revenue of the last days by domain, day or provider, with the cost of renewals.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            days: Days of the report, up to today.
            domain: Only this domain: its name or identifier.
            provider: Only revenue of this provider.
            group_by: The grouping of the items.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "portfolio_get_parking",
            ParkingReport,
            "items",
            query={
                "days": days,
                "domain": domain,
                "provider": provider,
                "group_by": group_by,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def get_portfolio_import(
        self,
        import_id: str,
        *,
        outcome: Literal["created", "updated", "unchanged", "skipped", "error"] | None = None,
        kept: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> PortfolioImportReply:
        """Read the progress of an import, and a page of the results of its rows.

        After an undo, the warnings of a row say what the undo kept: their codes begin with `kept_`.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `import_not_found`.

        Args:
            import_id: Identifier of the import.
            outcome: Only rows with this outcome.
            kept: Whether to list only rows of which an undo kept something.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return await self._client.send(
            "portfolio_get_portfolio_import",
            PortfolioImportReply,
            path={"import_id": import_id},
            query={"outcome": outcome, "kept": kept, "limit": limit, "cursor": cursor},
        )

    async def get_portfolio_summary(
        self,
        *,
        months: int | None = None,
        year: int | None = None,
        from_: DateLike | None = None,
        to: DateLike | None = None,
        status: Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"]
        | None = None,
        ownership: Literal["owned", "leased", "consigned"] | None = None,
        registrar: str | None = None,
        tag: str | None = None,
        folder: str | None = None,
        tld: str | None = None,
        auto_renew: bool | None = None,
        lifecycle: Literal[
            "active", "expiring", "grace", "redemption", "quarantine", "pending_delete", "expired", "unknown"
        ]
        | None = None,
        decision: Literal["renew", "drop", "undecided"] | None = None,
        expiring_within_days: int | None = None,
        q: str | None = None,
    ) -> PortfolioSummaryReply:
        """Read the costs and income of all domains in months, a calendar year or any period, in the account's
        days.

        Totals by month, currency, public suffix and tag.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            months: Number of months: the current month, up to today, and the preceding months; 12 by default.
            year: A calendar year, up to today, in place of `months`.
            from_: First day of the period, in place of `months`; a year before the last day by default.
            to: Last day of the period, up to today; today by default.
            status: Only domains with this status.
            ownership: Only domains with this basis.
            registrar: Only domains at this registrar, upper or lower case.
            tag: Only domains with this tag.
            folder: Only domains in this folder.
            tld: Only domains with this public suffix, such as `co.uk`.
            auto_renew: Only domains whose auto-renewal is on, or off. An unknown one is neither.
            lifecycle: Only domains in this state.
            decision: Only domains with this decision about the next expiry.
            expiring_within_days: Only domains that expire within this number of days.
            q: Only domains with this text in name, tags or notes.
        """
        return await self._client.send(
            "portfolio_get_portfolio_summary",
            PortfolioSummaryReply,
            query={
                "months": months,
                "year": year,
                "from": from_,
                "to": to,
                "status": status,
                "ownership": ownership,
                "registrar": registrar,
                "tag": tag,
                "folder": folder,
                "tld": tld,
                "auto_renew": auto_renew,
                "lifecycle": lifecycle,
                "decision": decision,
                "expiring_within_days": expiring_within_days,
                "q": q,
            },
        )

    async def get_portfolio_views(
        self,
    ) -> SavedViewsReply:
        """Read your saved views of the domains, and the columns that you have chosen.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_get_portfolio_views", SavedViewsReply)

    async def get_registrar_run(
        self,
        run_id: str,
    ) -> RegistrarRun:
        """Read the progress and the result of a run.

        Requires the scope `registrars:read`.

        Errors: `portfolio_not_found`, `registrar_run_not_found`.

        Args:
            run_id: Identifier of the run.
        """
        return await self._client.send("portfolio_get_registrar_run", RegistrarRun, path={"run_id": run_id})

    async def get_renewal_calendar(
        self,
        *,
        token: str,
        year: int | None = None,
        month: int | None = None,
        part: int | None = None,
    ) -> File:
        """Get the calendar of a secret link: all-day events of the expiries, none older than 90 days.

        A calendar has at most 10,000 events. Of more, its last event names the links of the years that hold the
        rest; in the calendar of a year, those of its months.

        Requires no credentials.

        Args:
            token: Token of the secret link.
            year: Only expiries of this year.
            month: Only expiries of this month of `year`.
            part: Of a month with more events than a calendar has, which part.
        """
        return await self._client.send(
            "portfolio_get_renewal_calendar",
            File,
            query={"token": token, "year": year, "month": month, "part": part},
        )

    async def get_team(
        self,
    ) -> TeamReply:
        """Read the team of the portfolio: members, pending invitations, and your memberships in other teams.

        Requires the scope `team:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_get_team", TeamReply)

    async def get_transfer(
        self,
        domain_id: str,
        *,
        refresh: bool | None = None,
    ) -> TransferReply:
        """Get the state of a domain's transfer: eligibility, obstacles, and the registrar's report.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
            refresh: Query the registrar now, even if its last response is less than 10 minutes old.
        """
        return await self._client.send(
            "portfolio_get_transfer", TransferReply, path={"domain_id": domain_id}, query={"refresh": refresh}
        )

    async def hand_over_expiries(
        self,
        **body: Unpack[PortfolioExpiryHandover],
    ) -> PortfolioExpiriesHandedOver:
        """Let the registries decide the expiries of up to 1,000 domains that you or a file entered.

        The service queries the registries. The present dates stay until they answer. A domain that a connected
        registrar keeps up to date is unchanged. An unknown domain does not affect the others.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_hand_over_expiries", PortfolioExpiriesHandedOver, body=body)

    async def import_billing_charges(
        self,
        **body: Unpack[BillingImport],
    ) -> BillingImported:
        """Import charges from a file or from rows, match them with the portfolio, and book them.

        Send JSON, or a CSV file or workbook as the body with the options in the query. For registrars whose API
        has no billing: `GET /v1/portfolio/registrars/billing/templates` has a file for each. Up to 10,000 rows
        and as many charges, one for each domain of a row; up to 500 columns. A repeated import has no effect.
        An invalid row does not affect the others.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `portfolio_domain_not_found`, `connection_limit`,
        `charge_limit`.
        """
        return await self._client.send("portfolio_import_billing_charges", BillingImported, body=body)

    async def import_portfolio(
        self,
        *,
        registrar: str | None = None,
        currency: str | None = None,
        **body: Unpack[PortfolioImportCreate],
    ) -> PortfolioImportReply:
        """Import domains, purchases and sales from a file, from rows, or from names.

        Send JSON, or a CSV file or workbook as the body: up to 50 MB and 100,000 rows. An invalid row is listed
        with its line, column and reason, and does not affect the others. The request imports up to 2,000 rows
        and 1 MB. A job imports a larger source: its `state` is `queued`, and `GET
        /v1/portfolio/imports/{import_id}` has its progress and results. A repeated import has no effect. An
        import can be undone for 24 hours. It publishes `portfolio.import.completed` only.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.

        Args:
            registrar: Registrar of domains without one in the source.
            currency: ISO 4217 code of amounts without a currency.
        """
        return await self._client.send(
            "portfolio_import_portfolio",
            PortfolioImportReply,
            query={"registrar": registrar, "currency": currency},
            body=body,
        )

    async def import_registrar_inventory(
        self,
        **body: Unpack[InventoryImportCreate],
    ) -> InventoryImportReply:
        """Import the list of domains of a registrar, such as one without an API, into the inventory.

        Send JSON with a CSV file as text, rows, or names. Or send a CSV file or workbook as the body, with
        `provider` and the other options in the query. It has up to 10 MB and 10,000 rows. An invalid row does
        not affect the others. Domains of the portfolio are updated as by a sync: the expiry and auto-renew get
        the values of the list, and unknown fields are set. A repeated import has no effect. `manual:NAME` is
        the provider of a registrar without an API; its first import creates the connection.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `not_connected`, `connection_ambiguous`,
        `connection_limit`, `inventory_limit`.
        """
        return await self._client.send("portfolio_import_registrar_inventory", InventoryImportReply, body=body)

    def list_billing_charges(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        unmatched_only: bool | None = None,
        provider: str | None = None,
        state: Literal["unmatched", "suggested", "matched", "applied", "ignored", "split"] | None = None,
        from_: DateLike | None = None,
        to: DateLike | None = None,
    ) -> AsyncPages[BillingCharges, BillingCharge]:
        """List the charges of registrars, newest first, with the domain of each charge and the sums of all.

        Requires the scope `registrars:read`.

        Errors: `portfolio_not_found`.

        Args:
            limit: Items on a page; less than 1 counts as 1, more than 1,000 as 1,000.
            cursor: `next_cursor` of the page before.
            unmatched_only: Only charges that need a decision.
            provider: Only charges of this registrar.
            state: Only charges in this state.
            from_: Only charges from this day on.
            to: Only charges up to this day.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_billing_charges",
            BillingCharges,
            "items",
            query={
                "limit": limit,
                "cursor": cursor,
                "unmatched_only": unmatched_only,
                "provider": provider,
                "state": state,
                "from": from_,
                "to": to,
            },
        )

    async def list_billing_templates(
        self,
        *,
        provider: str | None = None,
        format: Literal["json", "csv"] | None = None,
    ) -> BillingTemplates:
        """List templates of CSV files: charges of registrars without billing in their API, and parking revenue.

        Requires the scope `registrars:read`.

        Errors: `portfolio_not_found`.

        Args:
            provider: Only templates of this registrar.
            format: `csv`: the sample of the first template as a file.
        """
        return await self._client.send(
            "portfolio_list_billing_templates", BillingTemplates, query={"provider": provider, "format": format}
        )

    def list_domains(
        self,
        *,
        sort: Literal[
            "created_at",
            "-created_at",
            "domain",
            "-domain",
            "expires_at",
            "-expires_at",
            "updated_at",
            "-updated_at",
            "roi",
            "-roi",
            "net",
            "-net",
            "cost",
            "-cost",
            "income",
            "-income",
            "renewal_price_base",
            "-renewal_price_base",
        ]
        | None = None,
        include_total: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"]
        | None = None,
        ownership: Literal["owned", "leased", "consigned"] | None = None,
        registrar: str | None = None,
        tag: str | None = None,
        folder: str | None = None,
        tld: str | None = None,
        auto_renew: bool | None = None,
        lifecycle: Literal[
            "active", "expiring", "grace", "redemption", "quarantine", "pending_delete", "expired", "unknown"
        ]
        | None = None,
        decision: Literal["renew", "drop", "undecided"] | None = None,
        expiring_within_days: int | None = None,
        q: str | None = None,
        min_roi: AmountLike | None = None,
        max_roi: AmountLike | None = None,
        min_net: AmountLike | None = None,
        max_net: AmountLike | None = None,
        min_cost: AmountLike | None = None,
        max_cost: AmountLike | None = None,
        min_income: AmountLike | None = None,
        max_income: AmountLike | None = None,
        min_renewal_price_base: AmountLike | None = None,
        max_renewal_price_base: AmountLike | None = None,
    ) -> AsyncPages[PortfolioDomainReplyCountedPage, PortfolioDomainReply]:
        """List the domains of the portfolio, newest first unless `sort` says otherwise.

        In a team, an order or a filter by figures requires a role that sees money.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            sort: Order of the list; `-` reverses it. An unknown expiry counts as the latest; a domain without
                the figure is last in both orders.
            include_total: Count the items of all pages in `total`. It may differ from page to page.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
            status: Only domains with this status.
            ownership: Only domains with this basis.
            registrar: Only domains at this registrar, upper or lower case.
            tag: Only domains with this tag.
            folder: Only domains in this folder.
            tld: Only domains with this public suffix, such as `co.uk`.
            auto_renew: Only domains whose auto-renewal is on, or off. An unknown one is neither.
            lifecycle: Only domains in this state.
            decision: Only domains with this decision about the next expiry.
            expiring_within_days: Only domains that expire within this number of days.
            q: Only domains with this text in name, tags or notes.
            min_roi: Only domains with at least this `roi`.
            max_roi: Only domains with at most this `roi`.
            min_net: Only domains with at least this `net`.
            max_net: Only domains with at most this `net`.
            min_cost: Only domains with at least this `cost`.
            max_cost: Only domains with at most this `cost`.
            min_income: Only domains with at least this `income`.
            max_income: Only domains with at most this `income`.
            min_renewal_price_base: Only domains with at least this `renewal_price_base`.
            max_renewal_price_base: Only domains with at most this `renewal_price_base`.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_domains",
            PortfolioDomainReplyCountedPage,
            "items",
            query={
                "sort": sort,
                "include_total": include_total,
                "limit": limit,
                "cursor": cursor,
                "status": status,
                "ownership": ownership,
                "registrar": registrar,
                "tag": tag,
                "folder": folder,
                "tld": tld,
                "auto_renew": auto_renew,
                "lifecycle": lifecycle,
                "decision": decision,
                "expiring_within_days": expiring_within_days,
                "q": q,
                "min_roi": min_roi,
                "max_roi": max_roi,
                "min_net": min_net,
                "max_net": max_net,
                "min_cost": min_cost,
                "max_cost": max_cost,
                "min_income": min_income,
                "max_income": max_income,
                "min_renewal_price_base": min_renewal_price_base,
                "max_renewal_price_base": max_renewal_price_base,
            },
        )

    def list_history(
        self,
        domain_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[PortfolioDomainChangePage, PortfolioDomainChange]:
        """List the changes of a domain in the last 400 days, newest first: what changed, when, and who requested
        it.

        The ledger, charges and transfers have lists of their own.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_history",
            PortfolioDomainChangePage,
            "items",
            path={"domain_id": domain_id},
            query={"limit": limit, "cursor": cursor},
        )

    def list_ledger_entries(
        self,
        *,
        domain: str | None = None,
        sort: Literal["occurred_on", "-occurred_on"] | None = None,
        include_total: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        from_: DateLike | None = None,
        to: DateLike | None = None,
        kind: Literal[
            "acquisition",
            "registration",
            "renewal",
            "transfer_fee",
            "redemption",
            "privacy",
            "premium_fee",
            "tax",
            "marketplace_fee",
            "commission",
            "escrow_fee",
            "other_cost",
            "buyer_refund",
            "chargeback",
            "sale",
            "sale_installment",
            "lease_income",
            "parking_revenue",
            "refund",
            "other_income",
        ]
        | None = None,
        source: Literal["manual", "import", "sync", "sale", "parking"] | None = None,
        currency: str | None = None,
        voided: bool | None = None,
    ) -> AsyncPages[LedgerEntryReplyCountedPage, LedgerEntryReply]:
        """List the entries of the ledger, void ones too: of the portfolio or of a domain, the newest day first.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            domain: Only entries of this domain: its id, or its name in either form.
            sort: Order of the list; `-` reverses it.
            include_total: Count the items of all pages in `total`. It may differ from page to page.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
            from_: Only entries from this day on.
            to: Only entries up to this day.
            kind: Only entries of this kind.
            source: Only entries of this source.
            currency: Only entries in this currency.
            voided: Only void entries, or only those that count.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_ledger_entries",
            LedgerEntryReplyCountedPage,
            "items",
            query={
                "domain": domain,
                "sort": sort,
                "include_total": include_total,
                "limit": limit,
                "cursor": cursor,
                "from": from_,
                "to": to,
                "kind": kind,
                "source": source,
                "currency": currency,
                "voided": voided,
            },
        )

    def list_notices(
        self,
        *,
        unread: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[PortfolioNoticeReplyPage, PortfolioNoticeReply]:
        """List your notices in the portfolio, newest first.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            unread: Only notices that are not marked as read.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_notices",
            PortfolioNoticeReplyPage,
            "items",
            query={"unread": unread, "limit": limit, "cursor": cursor},
        )

    async def list_portfolio_formats(
        self,
    ) -> PortfolioFormatListing:
        """List the formats of your own sheets, at most 50.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_list_portfolio_formats", PortfolioFormatListing)

    def list_portfolio_imports(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[PortfolioImportItemPage, PortfolioImportItem]:
        """List the imports of the last 30 days, the newest first.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_portfolio_imports",
            PortfolioImportItemPage,
            "items",
            query={"limit": limit, "cursor": cursor},
        )

    def list_registrar_inventory(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        provider: str | None = None,
        domain_id: str | None = None,
        matched: bool | None = None,
        stale: bool | None = None,
    ) -> AsyncPages[RegistrarInventory, HeldDomainReply]:
        """List the domains in the latest listings of the registrars.

        Requires the scope `registrars:read`.

        Errors: `portfolio_not_found`.

        Args:
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
            provider: Only domains at this registrar.
            domain_id: Only this domain of the portfolio.
            matched: Only domains that the portfolio has; with `false`, only domains that it does not have.
            stale: Only domains that are missing or were not listed for 48 hours; with `false`, only the others.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_registrar_inventory",
            RegistrarInventory,
            "items",
            query={
                "limit": limit,
                "cursor": cursor,
                "provider": provider,
                "domain_id": domain_id,
                "matched": matched,
                "stale": stale,
            },
        )

    async def list_registrars(
        self,
    ) -> RegistrarList:
        """List the registrars: each connection of the portfolio, and the registrars that can be connected.

        Requires the scope `registrars:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_list_registrars", RegistrarList)

    def list_renewals(
        self,
        *,
        within_days: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        status: Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"]
        | None = None,
        ownership: Literal["owned", "leased", "consigned"] | None = None,
        registrar: str | None = None,
        tag: str | None = None,
        folder: str | None = None,
        tld: str | None = None,
        auto_renew: bool | None = None,
        lifecycle: Literal[
            "active", "expiring", "grace", "redemption", "quarantine", "pending_delete", "expired", "unknown"
        ]
        | None = None,
        decision: Literal["renew", "drop", "undecided"] | None = None,
        expiring_within_days: int | None = None,
        q: str | None = None,
        min_roi: AmountLike | None = None,
        max_roi: AmountLike | None = None,
        min_net: AmountLike | None = None,
        max_net: AmountLike | None = None,
        min_cost: AmountLike | None = None,
        max_cost: AmountLike | None = None,
        min_income: AmountLike | None = None,
        max_income: AmountLike | None = None,
        min_renewal_price_base: AmountLike | None = None,
        max_renewal_price_base: AmountLike | None = None,
    ) -> AsyncPages[RenewalsReply, RenewalReply]:
        """List the domains that expire soon or have expired, with price, decision, drop dates and advice.

        In a team, a filter by figures requires a role that sees money.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.

        Args:
            within_days: Days ahead; expired domains are included. `expiring_within_days` alone omits them.
            limit: Items on a page; 500 by default.
            cursor: `next_cursor` of the page before.
            status: Only domains with this status.
            ownership: Only domains with this basis.
            registrar: Only domains at this registrar, upper or lower case.
            tag: Only domains with this tag.
            folder: Only domains in this folder.
            tld: Only domains with this public suffix, such as `co.uk`.
            auto_renew: Only domains whose auto-renewal is on, or off. An unknown one is neither.
            lifecycle: Only domains in this state.
            decision: Only domains with this decision about the next expiry.
            expiring_within_days: Only domains that expire within this number of days.
            q: Only domains with this text in name, tags or notes.
            min_roi: Only domains with at least this `roi`.
            max_roi: Only domains with at most this `roi`.
            min_net: Only domains with at least this `net`.
            max_net: Only domains with at most this `net`.
            min_cost: Only domains with at least this `cost`.
            max_cost: Only domains with at most this `cost`.
            min_income: Only domains with at least this `income`.
            max_income: Only domains with at most this `income`.
            min_renewal_price_base: Only domains with at least this `renewal_price_base`.
            max_renewal_price_base: Only domains with at most this `renewal_price_base`.
        """
        return AsyncPages(
            self._client,
            "portfolio_list_renewals",
            RenewalsReply,
            "items",
            query={
                "within_days": within_days,
                "limit": limit,
                "cursor": cursor,
                "status": status,
                "ownership": ownership,
                "registrar": registrar,
                "tag": tag,
                "folder": folder,
                "tld": tld,
                "auto_renew": auto_renew,
                "lifecycle": lifecycle,
                "decision": decision,
                "expiring_within_days": expiring_within_days,
                "q": q,
                "min_roi": min_roi,
                "max_roi": max_roi,
                "min_net": min_net,
                "max_net": max_net,
                "min_cost": min_cost,
                "max_cost": max_cost,
                "min_income": min_income,
                "max_income": max_income,
                "min_renewal_price_base": min_renewal_price_base,
                "max_renewal_price_base": max_renewal_price_base,
            },
        )

    async def list_tags(
        self,
    ) -> PortfolioTagReplyListing:
        """List the tags of the portfolio with the number of their domains: the 5,000 most frequent at most.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_list_tags", PortfolioTagReplyListing)

    async def list_webhook_events(
        self,
    ) -> PortfolioEventReplyListing:
        """List the events that the owner of a portfolio can subscribe to.

        Requires the scope `portfolio:read`.
        """
        return await self._client.send("portfolio_list_webhook_events", PortfolioEventReplyListing)

    async def mark_notices_read(
        self,
        **body: Unpack[NoticesRead],
    ) -> NoticesReadReply:
        """Mark notices as read. A repeated request has no effect.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_mark_notices_read", NoticesReadReply, body=body)

    async def preview_portfolio_import(
        self,
        *,
        registrar: str | None = None,
        currency: str | None = None,
        **body: Unpack[PortfolioImportCreate],
    ) -> PortfolioImportPreview:
        """Show how an import would read a source, without any change.

        The reply has the columns with their fields, the first rows with their cells, and the rows with
        problems. A problem names its column in `field`. A source of which no row can be read is no error:
        `problem` says why, such as a missing column, which `mapping` names. A dry run of the import compares
        the rows with the portfolio.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.

        Args:
            registrar: Registrar of domains without one in the source.
            currency: ISO 4217 code of amounts without a currency.
        """
        return await self._client.send(
            "portfolio_preview_portfolio_import",
            PortfolioImportPreview,
            query={"registrar": registrar, "currency": currency},
            body=body,
        )

    async def read_exchange_rates(
        self,
    ) -> PortfolioOwnRates:
        """Read your own exchange rates. All others are those of the European Central Bank.

        Requires the scope `portfolio:read`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_read_exchange_rates", PortfolioOwnRates)

    def reconcile_registrars(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        provider: str | None = None,
        category: Literal[
            "pending_transfer_out_unexpected",
            "redemption",
            "expired_at_registrar",
            "missing_at_registrar",
            "expiry_mismatch",
            "auto_renew_mismatch",
            "dropped_but_active",
            "sold_but_still_held",
            "duplicate_across_registrars",
            "registrar_mismatch",
            "idn_form_mismatch",
            "missing_in_portfolio",
            "stale_snapshot",
            "price_changed",
            "lock_off",
            "privacy_off",
            "suspicious_drop",
        ]
        | None = None,
        min_severity: Literal["info", "warn", "high", "critical"] | None = None,
    ) -> AsyncPages[ReconcileReport, ReconcileFinding]:
        """Compare the portfolio with the last listings of its registrars. The comparison is read-only.

        If a request can resolve a finding, the finding contains it. The counts cover all pages.

        Requires the scope `registrars:read`.

        Errors: `portfolio_not_found`.

        Args:
            limit: Items on a page; 500 by default.
            cursor: `next_cursor` of the page before.
            provider: Only findings about this registrar.
            category: Only findings of this category.
            min_severity: Only findings of at least this severity.
        """
        return AsyncPages(
            self._client,
            "portfolio_reconcile_registrars",
            ReconcileReport,
            "findings",
            query={
                "limit": limit,
                "cursor": cursor,
                "provider": provider,
                "category": category,
                "min_severity": min_severity,
            },
        )

    async def record_domain_renewal(
        self,
        domain_id: str,
        **body: Unpack[RenewalCreate],
    ) -> RenewalRecorded:
        """Record a paid renewal, and extend the expiry of the domain. The response names a likely duplicate.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`, `entry_limit`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
        """
        return await self._client.send(
            "portfolio_record_domain_renewal", RenewalRecorded, path={"domain_id": domain_id}, body=body
        )

    async def record_parking_revenue(
        self,
        *,
        from_: DateLike | None = None,
        to: DateLike | None = None,
        **body: Unpack[ParkingRevenueCreate],
    ) -> ParkingRevenueRecorded:
        """Record parking revenue: a row, rows, or a file. A repeated row has no effect.

        Send JSON, or a CSV file or workbook as the body with the options in the query: up to 10 MB and 100,000
        rows. An invalid row does not affect the others. Amounts are kept exactly, with up to eight decimals.
        One entry of the ledger books the days of a month at a provider: their sum, rounded once.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`, `entry_limit`, `parking_limit`.

        Args:
            from_: The first day of the revenue.
            to: The last day of the revenue.
        """
        return await self._client.send(
            "portfolio_record_parking_revenue", ParkingRevenueRecorded, query={"from": from_, "to": to}, body=body
        )

    async def remove_domain(
        self,
        domain_id: str,
        *,
        history: Literal["delete"] | None = None,
    ) -> None:
        """Remove a domain that was added by mistake. For a sold or dropped domain, set its status instead.

        A domain with ledger entries, charges or a sale is refused with `domain_has_history`. `history=delete`
        removes it with them for good, and leaves their totals in the audit list of the account.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`, `domain_has_history`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
            history: `delete`: also delete its entries and sale, and unmatch its charges. For owner and admins.
        """
        return await self._client.send(
            "portfolio_remove_domain", NoneType, path={"domain_id": domain_id}, query={"history": history}
        )

    async def replace_exchange_rates(
        self,
        **body: Unpack[OwnRatesUpdate],
    ) -> OwnRatesWritten:
        """Replace your own exchange rates of currencies that the European Central Bank does not quote.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_replace_exchange_rates", OwnRatesWritten, body=body)

    async def request_auth_code(
        self,
        domain_id: str,
        *,
        reason: str | None = None,
        unlock: bool | None = None,
        regenerate: bool | None = None,
    ) -> AuthCodeReply:
        """Request the auth code of a domain from its registrar, as an owner or admin. The code is shown once.

        Requires the scope `transfers:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`, `domain_not_at_provider`,
        `provider_unsupported`, `not_connected`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
            reason: Why the code is requested, for the audit list.
            unlock: Whether you want to unlock the domain: `instructions` explain how.
            regenerate: Whether you want a new code: `instructions` explain how to get one.
        """
        return await self._client.send(
            "portfolio_request_auth_code",
            AuthCodeReply,
            path={"domain_id": domain_id},
            query={"reason": reason, "unlock": unlock, "regenerate": regenerate},
        )

    async def revoke_renewal_calendar(
        self,
    ) -> None:
        """Revoke the link to your calendar of renewals.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_revoke_renewal_calendar", NoneType)

    async def save_portfolio_format(
        self,
        name: str,
        **body: Unpack[PortfolioFormatUpdate],
    ) -> PortfolioFormat:
        """Save how your own sheet is written. An import of such a sheet names it in `format`.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `saved_format_limit`.

        Args:
            name: Name of the format: lower-case letters, digits and hyphens.
        """
        return await self._client.send(
            "portfolio_save_portfolio_format", PortfolioFormat, path={"name": name}, body=body
        )

    async def send_sample(
        self,
        webhook_id: str,
        *,
        event: str | None = None,
    ) -> WebhookTestReply:
        """Send a signed sample, marked as a test, to a webhook destination; return the receiver's response.

        Requires the scope `portfolio:write`.

        Errors: `webhook_not_found`, `delivery_in_flight`.

        Args:
            webhook_id: Identifier of the destination.
            event: When absent: the first event that the destination lists.
        """
        return await self._client.send(
            "portfolio_send_sample", WebhookTestReply, path={"webhook_id": webhook_id}, query={"event": event}
        )

    async def send_samples(
        self,
        **body: Unpack[NotificationTest],
    ) -> NotificationTestReply:
        """Send samples through every channel, to test their delivery; return the result of each.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_send_samples", NotificationTestReply, body=body)

    async def show_team_invite(
        self,
        *,
        token: str,
    ) -> File:
        """Show the page of an invitation with a button that accepts it; a browser must sign in first.

        Requires the scope `team:read`.

        Errors: `already_member`, `membership_limit`, `invite_used`, `invite_expired`.

        Args:
            token: Token of the emailed link.
        """
        return await self._client.send("portfolio_show_team_invite", File, query={"token": token})

    async def split_billing_charge(
        self,
        charge_id: str,
        **body: Unpack[ChargeSplit],
    ) -> BillingSplit:
        """Split a charge that is not booked into parts, each for one domain, and book the parts.

        The amounts add up to the total of the charge. Tax and fees are divided in the same ratio. A later sync
        or import recognizes the charge and its parts.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `charge_not_found`, `portfolio_domain_not_found`, `entry_limit`,
        `charge_not_open`, `charge_limit`.

        Args:
            charge_id: Identifier of the charge.
        """
        return await self._client.send(
            "portfolio_split_billing_charge", BillingSplit, path={"charge_id": charge_id}, body=body
        )

    async def sync_billing_charges(
        self,
        *,
        wait: float | None = None,
        **body: Unpack[BillingSync],
    ) -> BillingRun:
        """Fetch the charges of registrars since the last sync, match them with the portfolio, and book them.

        A connection that fails does not affect the others. A charge is recorded once. A registrar whose API has
        no billing is `unsupported`: `template_path` has a CSV file to fill in. The reply is the run after
        `wait` seconds; `GET /v1/portfolio/registrars/runs/{run_id}` reads it later. Then each scheduled sync
        fetches charges.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `not_connected`.

        Args:
            wait: Maximum seconds to wait for the end of the run.
        """
        return await self._client.send(
            "portfolio_sync_billing_charges", BillingRun, query={"wait": wait}, body=body
        )

    async def sync_registrars(
        self,
        *,
        provider: Sequence[str] | None = None,
        dry_run: bool | None = None,
        confirm_drop: bool | None = None,
        wait: float | None = None,
    ) -> RegistrarRun:
        """Update the inventory and the portfolio from the registrars.

        A connection that fails does not affect the others. The expiry and auto-renew of portfolio domains get
        the registrar's values; other fields are set where they are unknown. A value that is not reported
        overwrites none. No domain is added or removed. If a complete listing lacks more than a tenth and at
        least ten of a connection's domains, they are held back as `suspicious_drop` until the next one lacks
        them too. The reply is the run after `wait` seconds; `GET /v1/portfolio/registrars/runs/{run_id}` reads
        it later. A connection in another run is skipped; if all are, the reply is that run.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `provider_not_found`, `not_connected`.

        Args:
            provider: Only connections to this registrar; may be repeated.
            dry_run: Whether to report the changes of the sync without writing them.
            confirm_drop: Whether the domains that a complete listing does not have are missing, however many
                they are. Requires `provider`.
            wait: Maximum seconds to wait for the end of the run.
        """
        return await self._client.send(
            "portfolio_sync_registrars",
            RegistrarRun,
            query={"provider": provider, "dry_run": dry_run, "confirm_drop": confirm_drop, "wait": wait},
        )

    async def undo_portfolio_import(
        self,
        import_id: str,
        *,
        dry_run: bool | None = None,
        before_row: int | None = None,
    ) -> PortfolioImportUndone:
        """Undo an import: remove the domains that it added, restore changed fields, void its entries.

        What was changed or recorded since is kept: a field with its new value, an added domain with all its
        data. `kept_rows` has the reasons. A job undoes more than 2,000 rows: `state` is `undoing` until it
        ends. A dry run examines 2,000 rows at a time, the last rows first. A repeated request has no effect.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `import_not_found`, `import_running`, `import_final`.

        Args:
            import_id: Identifier of the import.
            dry_run: Whether to report the effect without any change.
            before_row: `before_row` of the last dry run, to continue it.
        """
        return await self._client.send(
            "portfolio_undo_portfolio_import",
            PortfolioImportUndone,
            path={"import_id": import_id},
            query={"dry_run": dry_run, "before_row": before_row},
        )

    async def update_billing_charge(
        self,
        charge_id: str,
        **body: Unpack[ChargeUpdate],
    ) -> BillingCharge:
        """Set the domain of a charge and book the charge there, or ignore it permanently.

        An earlier booking is voided. A charge whose domain is set to null is matched with the next application.

        Requires the scope `registrars:write`.

        Errors: `portfolio_not_found`, `charge_not_found`, `portfolio_domain_not_found`, `entry_limit`,
        `charge_not_open`.

        Args:
            charge_id: Identifier of the charge.
        """
        return await self._client.send(
            "portfolio_update_billing_charge", BillingCharge, path={"charge_id": charge_id}, body=body
        )

    async def update_domain(
        self,
        domain_id: str,
        **body: Unpack[PortfolioDomainUpdate],
    ) -> PortfolioDomainWritten:
        """Change a domain with a merge patch. Its name does not change.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
        """
        return await self._client.send(
            "portfolio_update_domain", PortfolioDomainWritten, path={"domain_id": domain_id}, body=body
        )

    async def update_domain_finance(
        self,
        domain_id: str,
        **body: Unpack[FinanceUpdate],
    ) -> FinanceWritten:
        """Record the acquisition, the sale, prices or single entries of a domain, with a merge patch.

        In a team, `pinned`, `notes` and prices require a role that may change domains.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`, `entry_limit`.

        Args:
            domain_id: Identifier of the portfolio domain, or its name in either form.
        """
        return await self._client.send(
            "portfolio_update_domain_finance", FinanceWritten, path={"domain_id": domain_id}, body=body
        )

    async def update_notification_preferences(
        self,
        **body: Unpack[NotificationPreferencesUpdate],
    ) -> NotificationPreferencesWritten:
        """Change your notification preferences in the portfolio. Objects merge, arrays replace, null resets.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send(
            "portfolio_update_notification_preferences", NotificationPreferencesWritten, body=body
        )

    async def update_portfolio_views(
        self,
        **body: Unpack[SavedViewsUpdate],
    ) -> SavedViewsReply:
        """Save views of the domains, or the columns that you choose. Other members of a team do not see them.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`.
        """
        return await self._client.send("portfolio_update_portfolio_views", SavedViewsReply, body=body)

    async def update_renewals(
        self,
        **body: Unpack[RenewalsBulkUpdate],
    ) -> RenewalsUpdated:
        """Decide about renewals of up to 1,000 domains, and switch auto-renew at their registrars if requested.

        Requires the scope `portfolio:write`.

        Errors: `portfolio_not_found`, `portfolio_domain_not_found`, `domains_changed`.
        """
        return await self._client.send("portfolio_update_renewals", RenewalsUpdated, body=body)

    async def update_team_member(
        self,
        member_account_id: str,
        **body: Unpack[TeamMemberUpdate],
    ) -> TeamMemberWritten:
        """Change the role of a member, and the team's note about them.

        Requires the scope `team:write`.

        Errors: `portfolio_not_found`, `member_not_found`, `last_owner`.

        Args:
            member_account_id: Account of the member.
        """
        return await self._client.send(
            "portfolio_update_team_member",
            TeamMemberWritten,
            path={"member_account_id": member_account_id},
            body=body,
        )
