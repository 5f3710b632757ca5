# Written by script/clients.

from datetime import date
from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from builders_client.values import Amount, Model, Money

from .shared import UnknownField


class AppliedChargeReply(Model):
    """Result of one charge."""

    charge_id: str
    """The charge."""
    domain_id: str | None
    """The domain, or the likeliest candidate."""
    entry_id: str | None
    """The entry of the ledger; null when there is none, as in a dry run."""
    outcome: str
    """The result for the charge. Known values: applied, linked, matched, suggested, unmatched, ignored, undone."""
    confidence: str | None
    """Certainty of the domain, from 0.00 to 1.00."""
    reason: str
    """The reason, as a sentence."""


class AppliedTransferRule(Model):
    """A rule that is in force for the domain."""

    rule: str
    """The subject of the rule. Known values: creation_lock, transfer_lock, registrant_change_lock, losing_registrar_response, auth_code_response, auth_code_lifetime, registrar_lock, registry_lock, pending_transfer, pending_delete, redemption, ips_tag."""
    scope: str
    """`gtld`, `any`, or a top-level domain."""
    value: int | str
    """The value, in `unit`."""
    unit: str
    """Unit of the value. Known values: days, hours, status, method."""
    effective_from: date | None
    """The first day; null: not known."""
    effective_to: date | None
    """The last day; null: not known."""
    status: str
    """Always `in_force` here. Known values: in_force, adopted, proposed."""
    source: str
    """Document that contains the rule."""
    outcome: str
    """The effect of the rule on the domain. Known values: blocks, passes, unknown, informs."""


class BillingCounts(Model):
    """Numbers of lines and charges."""

    fetched: int
    """Number of lines in the bills."""
    new: int
    """Charges that were recorded: one for each domain of a line."""
    duplicate: int
    """Charges that were recorded before."""
    matched: int
    """New charges whose domain was found."""
    unmatched: int
    """New charges that need a decision."""
    refunds: int
    """New charges that are refunds."""


class BulkSummary(Model):
    """The number of rows by outcome."""

    total: int
    """Number of rows."""
    created: int
    """Rows that created an object."""
    updated: int
    """Rows that changed an object."""
    unchanged: int
    """Rows without a change."""
    skipped: int
    """Rows that were omitted on request."""
    errors: int
    """Rows that were refused."""


class ChannelPreference(Model):
    """A channel."""

    enabled: bool
    """Whether the channel is used."""


class ChargeCandidate(Model):
    """A domain that a charge can be for."""

    domain_id: str
    """The portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    confidence: str
    """Certainty, from 0.00 to 1.00."""
    method: str
    """How it was found. Known values: exact_name, idn, order_item, description, label, parent_order, manual."""


class ChargeMatch(Model):
    """The domain of a charge."""

    domain_id: str | None
    """The portfolio domain; null when it is not decided."""
    confidence: str | None
    """Certainty of the domain, from 0.00 to 1.00."""
    method: str | None
    """How it was found. Known values: exact_name, idn, order_item, description, label, parent_order, manual."""
    candidates: list[ChargeCandidate]
    """Candidates, the likeliest first; empty if decided."""


class ChargesByState(Model):
    """How many charges are in each state."""

    unmatched: int
    """Charges without a domain."""
    suggested: int
    """Charges with candidates."""
    matched: int
    """The domain is known; not booked."""
    applied: int
    """Booked in the ledger."""
    ignored: int
    """Excluded by a member."""
    split: int
    """Split by a member; their parts are charges, too."""


class ConnectionFreshness(Model):
    """How old the data of a connection was, and whether it is refreshed."""

    provider: str
    """The registrar."""
    connection_id: str
    """Identifier of the connection."""
    stale: bool
    """Older than `max_age_hours`, or never fetched."""
    age_hours: float | None
    """Age of the oldest data; null when never fetched."""
    refreshed: bool
    """Whether it is refreshed."""
    reason: str
    """Why it is refreshed, or not. Known values: fresh, stale, forced, never, cooldown."""


class Digest(Model):
    """One email with the notices of a day, a week or a month."""

    enabled: bool
    """Whether notices wait for a digest."""
    frequency: str
    """A monthly digest is sent on the first day of the month. Known values: daily, weekly, monthly."""
    weekday: str
    """Day of a weekly digest. Known values: monday, tuesday, wednesday, thursday, friday, saturday, sunday."""
    hour: int
    """Local hour of the digest, 0 to 23."""
    include: list[str]
    """Topics whose notices wait for the digest. Known values: renewals, parking, reconcile, charges, domains, registrars, transfers, imports, team."""


class DropDatesReply(Model):
    """End of each state of a domain that is not renewed."""

    renewable_until: AwareDatetime | None
    """Until when you can keep the name: renew, restore or reactivate it."""
    grace_end: AwareDatetime | None
    """Latest end of the auto-renew grace period."""
    redemption_end: AwareDatetime | None
    """End of the redemption period that follows."""
    quarantine_end: AwareDatetime | None
    """End of the quarantine, in which only its former holder gets the name."""
    pending_delete_end: AwareDatetime | None
    """End of the days before the drop, in which nobody can keep the name."""
    drops_at: AwareDatetime | None
    """When anyone can register the name."""
    basis: str | None
    """Rules that the dates follow; null where those of the TLD are not known."""
    source: str | None
    """Page of the registry that states the rules."""


class EmailChannelReply(Model):
    """Email to your own account's address."""

    enabled: bool
    """Whether the channel is used."""
    address: str
    """The address of your account."""
    verified: bool
    """Only a verified address gets email."""


class EventPreference(Model):
    """Whether and how you are notified of an event."""

    enabled: bool
    """Whether you are notified of the event."""
    channels: list[str] | None
    """The channels to use, if they are enabled; null: all."""


class Expiry(Model):
    """When notices about expiring domains are due."""

    thresholds: list[int]
    """Days before the expiry, negative after it; the largest number first."""
    include_auto_renew_on: bool
    """Whether to notify about domains that renew automatically."""
    repeat_until_ack: bool
    """Repeat a notice each day, until you acknowledge it, the renewal is decided, or 30 days have passed since the expiry."""


class FinanceChangeReply(Model):
    """A member that the patch changed."""

    field: str
    """Name of the member."""
    from_: Annotated[Any, Field(alias="from")]
    """Its value before; null for none."""
    to: Any
    """Its value now; null for none."""


class InAppTestReply(Model):
    """The result of a sample in the list of notices."""

    notice_id: str
    """Identifier in `GET /v1/portfolio/notifications`."""


class InventoryRun(Model):
    """The sync of the domains; `GET /v1/portfolio/registrars/runs/{run_id}` has its changes."""

    run_id: str
    """Identifier of the run."""
    state: str
    """State of the run. Known values: queued, running, completed, failed."""
    failed: list[str]
    """Registrars that could not be listed."""


class LastAuthCode(Model):
    """The last request for the auth code; all null before the first."""

    last_requested_at: AwareDatetime | None
    """When it was requested here."""
    delivery: str | None
    """How it was delivered; `pending` when the registrar did not answer. Known values: returned, emailed, dashboard, unsupported, pending."""
    expires_at: AwareDatetime | None
    """End of its validity; null if the registrar does not report it."""


class MailTestReply(Model):
    """The result of a sample email."""

    to: str
    """The account's address, masked."""
    status: str
    """`not_sent` when the address is not verified. Known values: queued, not_sent."""
    message_id: str | None
    """Identifier of the message; null when it was not sent."""
    error: str | None
    """`email_unverified`, or null."""


class MemberChange(Model):
    """A changed member of a domain, with its values as text."""

    member: str
    """The member, such as `folder`."""
    before: str | None
    """Its value before; null without one. The items of a list have commas."""
    after: str | None
    """Its new value, such as `12.00 USD`; null without one."""


class ParkingReportPeriod(Model):
    """The days of the report."""

    from_: Annotated[date, Field(alias="from")]
    """The first day, of the account."""
    to: date
    """The last day."""
    days: int
    """Number of days."""


class PartErrorReply(Model):
    """Why it failed, or was not done."""

    code: str
    """Stable code, such as `provider_auth_failed` or `connection_disabled`."""
    message: str
    """The reason as a sentence."""
    hint: str | None
    """The remedy; null without one."""
    retry_at: AwareDatetime | None
    """When the registrar accepts requests again, if known."""
    run_id: str | None
    """The run that already does it, if there is one."""


class PortfolioDomainChange(Model):
    """A change of a domain."""

    id: str
    """Identifier of the change."""
    created_at: AwareDatetime
    """When it was made."""
    source: str
    """Source of the change. More values can be added. Known values: member, import, registrar, registry, sale."""
    member_id: str | None
    """The account that requested it; null for a change of the service."""
    changes: list[MemberChange]
    """The members that changed."""
    redacted: list[str]
    """`finance`: your role does not see money, so prices and shares are omitted."""


class PortfolioDomainChangePage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[PortfolioDomainChange]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class PortfolioEventReply(Model):
    """An event that the owner of a portfolio can subscribe to."""

    name: str
    """Name of the event, for `events` of a destination."""
    area: str
    """Part of the name before the first dot; `area.*` subscribes to all of it."""
    version: int
    """Version of the event's data; grows with an incompatible change."""
    description: str
    """When the event happens."""
    data_schema: dict[str, Any]
    """The JSON schema of the payload's `data`."""
    example: dict[str, Any]
    """An example payload."""


class PortfolioEventReplyListing(Model):
    """A short list that needs no pages."""

    items: list[PortfolioEventReply]
    """All items."""


class PortfolioExportDecision(Model):
    """What was decided about the next expiry of the domain."""

    decision: str
    """The decision about the next expiry. Known values: renew, drop, undecided."""
    years: int | None = None
    """Years to renew for; absent when not decided."""
    note: str | None = None
    """Your note."""
    snooze_until: date | None = None
    """No reminders before this day."""
    expires_at: AwareDatetime | None = None
    """Expiry of the domain when it was decided."""
    decided_at: AwareDatetime
    """When it was decided."""


class PortfolioFormat(Model):
    """The format of your own sheet; an import names it in `format`."""

    name: str
    """Name of the format, which imports give in `format`."""
    kind: str
    """What the sheet contains: domains, parking revenue, or charges of registrars. Known values: domains, parking, charges."""
    mapping: dict[str, str]
    """The column of a field, by field; for columns that are not recognized."""
    date_order: str
    """Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`. Known values: auto, ymd, mdy, dmy."""
    decimal_mark: str
    """Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides. Known values: auto, point, comma."""
    encoding: str | None
    """Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."""
    updated_at: AwareDatetime
    """When it was saved."""


class PortfolioFormatListing(Model):
    """A short list that needs no pages."""

    items: list[PortfolioFormat]
    """All items."""


class PortfolioImportColumn(Model):
    """A column of a source."""

    header: str
    """The first 500 characters of its header; empty without one."""
    name: str | None
    """Its header as `mapping` names it; null without one, and for a longer one."""
    label: str
    """Its header as problems name it in `field`."""
    field: str | None
    """The field that it holds; null when it is omitted."""
    dropped: bool
    """Whether it holds passwords, codes or personal data, and is never stored."""


class PortfolioImportUndo(Model):
    """Progress or result of the undo."""

    rows: int
    """Rows that are undone."""
    removed: int
    """Domains that the import had added."""
    restored: int
    """Domains whose fields were restored."""
    kept: int
    """Domains of which something is kept: it was changed or used since."""


class PortfolioTagReply(Model):
    """A tag of a portfolio."""

    tag: str
    """The tag, in lower case."""
    count: int
    """Number of domains that have it."""


class PortfolioTagReplyListing(Model):
    """A short list that needs no pages."""

    items: list[PortfolioTagReply]
    """All items."""


class PushedReply(Model):
    """Result of a row at the registrar."""

    state: str
    """`unchanged`: the registrar has the setting already; `queued`: a job sends it, again if it failed; `unsupported`: the registrar's API does not offer it; `not_connected`: no connected registrar holds the domain; `would_push`: in a dry run; `nothing_to_push`: the row implies no setting. Known values: pushed, unchanged, queued, failed, unsupported, not_connected, would_push, nothing_to_push."""
    auto_renew: bool | None
    """The setting of the row."""
    provider: str | None
    """The registrar."""
    dashboard_url: str | None
    """The registrar's website, to change it there."""
    error: str | None
    """Why it is not set there, or not yet, in a sentence."""


class QuietHours(Model):
    """A part of the day without email."""

    enabled: bool
    """Whether there are quiet hours."""
    start: str
    """Local time, `HH:MM`."""
    end: str
    """Local time, `HH:MM`; of the next day if it is not later."""


class ReceiverResponse(Model):
    """The response of a receiver."""

    status: int
    """HTTP status of the receiver's response."""
    duration_ms: int
    """Milliseconds from sending to the end of the response."""
    excerpt: str
    """The beginning of the body."""


class ReconcileAction(Model):
    """A request that resolves a finding, after its manual step. Send it unchanged, with sufficient rights."""

    method: str
    """HTTP method. Known values: GET, POST, PATCH."""
    path: str
    """Path of this API."""
    body: dict[str, Any] | None
    """JSON body; null for none."""


class ReconcileFinding(Model):
    """A difference between the portfolio and a registrar."""

    id: str
    """Identifier, stable while the difference exists."""
    category: str
    """What differs. Known values: pending_transfer_out_unexpected, redemption, expired_at_registrar, missing_at_registrar, expiry_mismatch, auto_renew_mismatch, dropped_but_active, sold_but_still_held, duplicate_across_registrars, registrar_mismatch, idn_form_mismatch, missing_in_portfolio, stale_snapshot, price_changed, lock_off, privacy_off, suspicious_drop."""
    severity: str | None
    """Severity of the finding; null for a changed price when your role does not see money. Known values: info, warn, high, critical."""
    domain: str | None
    """Lower-case A-label; null: it is about the connection."""
    domain_id: str | None
    """The portfolio domain; null when there is none."""
    provider: str
    """The registrar."""
    connection: str
    """Name of the connection to it."""
    connection_id: str
    """Identifier of the connection."""
    portfolio_value: bool | str | list[str] | dict[str, Any] | None
    """Value in the portfolio: a time, flag, text or money; null if there is none."""
    registrar_value: bool | str | list[str] | dict[str, Any] | None
    """Value at the registrar; a list for several registrars."""
    delta_days: int | None
    """Days from the portfolio's time to the registrar's; null for other values."""
    message: str
    """The finding in a sentence, for people."""
    suggested_action: ReconcileAction | None
    """A request that resolves it, with `manual_step` after that; null when no request can."""
    manual_step: str | None
    """What only a person can do, outside of this API; null: the suggested action resolves the finding."""
    dashboard_url: str | None
    """The registrar's website, for what its API does not offer."""


class ReconcileNotChecked(Model):
    """A connection that could not be compared in all categories."""

    provider: str
    """The registrar."""
    connection: str
    """Name of the connection to it."""
    connection_id: str
    """Identifier of the connection."""
    reason: str
    """`never_synced`; `incomplete`: no listing was complete yet; `stale`: the last is too old (48 hours or two sync intervals, 35 days for a registrar without an API); `failed`: the last sync; `disabled`: the connection is, and its listing is old. Known values: never_synced, incomplete, stale, failed, disabled."""
    categories: list[str]
    """The categories that were not compared. Known values: pending_transfer_out_unexpected, redemption, expired_at_registrar, missing_at_registrar, expiry_mismatch, auto_renew_mismatch, dropped_but_active, sold_but_still_held, duplicate_across_registrars, registrar_mismatch, idn_form_mismatch, missing_in_portfolio, stale_snapshot, price_changed, lock_off, privacy_off, suspicious_drop."""
    listed_at: AwareDatetime | None
    """When the domains were listed last; null: never."""
    complete_at: AwareDatetime | None
    """When a listing was last complete; null: never."""


class ReconcileSummary(Model):
    """Counts of all pages."""

    by_category: dict[str, int]
    """Findings by category, without zeros."""
    by_severity: dict[str, int]
    """Findings by severity, without zeros and those without one."""
    by_provider: dict[str, int]
    """Findings by registrar, without zeros."""
    compared: int
    """Domains that the portfolio and a registrar both have."""
    ok: bool
    """Whether registrars are connected, everything was compared, and nothing was found."""


class RegistrarCapabilities(Model):
    """Capabilities of the API of a registrar."""

    list: bool
    """Lists the domains of the account."""
    auto_renew: bool
    """The list reports whether auto-renew is on."""
    lock: bool
    """The list reports whether a domain is locked."""
    set_auto_renew: bool
    """Automatic renewal can be switched."""
    prices: bool
    """Reads the registrar's renewal prices."""
    billing: bool
    """Lists charges."""
    auth_code: str
    """How the auth code of a domain is delivered. Known values: returned, emailed, dashboard, unsupported."""
    transfer_status: bool
    """Shows the state of a transfer."""
    parking: bool
    """Shows parking revenue."""
    sandbox: bool
    """The registrar has a sandbox."""


class RegistrarCredential(Model):
    """A credential that is set; it is never shown again."""

    name: str
    """Name of the credential."""
    last4: str | None
    """Its last four characters; null for a short secret."""
    updated_at: AwareDatetime
    """When it was set."""


class RegistrarCredentialField(Model):
    """A credential that a registrar needs."""

    name: str
    """Name of the member of `credentials`."""
    label: str
    """The registrar's name of the credential."""
    secret: bool
    """Whether it is a secret."""
    required: bool
    """Whether the registrar needs it."""
    instead_of: list[str]
    """Required credentials that are not needed beside this one."""


class RegistrarDisconnected(Model):
    """Result of a disconnection."""

    provider: str
    """The registrar."""
    connection: str | None
    """Name of the connection; null when none was named or found."""
    disconnected: bool
    """False when there was no such connection, as after a repeated request."""
    credentials_erased: bool
    """Always true: all credentials are erased."""
    inventory_kept: bool
    """Whether the listed domains of the registrar stay readable."""
    domains_affected: int
    """Domains that the connection no longer keeps up to date."""


class RegistrarVerification(Model):
    """The registrar's result for the credentials."""

    ok: bool
    """Whether the registrar accepts the credentials."""
    code: str | None
    """Kind of the failure; null without one. Known values: auth_failed, restricted, ip_not_allowed, rate_limited, unavailable, malformed, incomplete, not_found, refused, unsupported, inventory_limit, charge_limit."""
    message: str
    """The reason as a sentence."""
    hint: str | None
    """The remedy; null without one."""
    checked_at: AwareDatetime
    """Time of the check."""


class RenewalCalendarLink(Model):
    """The link of a renewal calendar; it is shown once."""

    url: str | None = None
    """Subscribe to it in a calendar program. It is the only credential. Absent if an Idempotency-Key repeats the response."""
    created_at: AwareDatetime
    """When the link was made."""


class RenewalDropDates(Model):
    """End of each state of a domain that is not renewed."""

    renewable_until: AwareDatetime | None
    """Until when you can keep the name: renew, restore or reactivate it."""
    grace_end: AwareDatetime | None
    """Latest end of the auto-renew grace period."""
    redemption_end: AwareDatetime | None
    """End of the redemption period that follows."""
    quarantine_end: AwareDatetime | None
    """End of the quarantine, in which only its former holder gets the name."""
    pending_delete_end: AwareDatetime | None
    """End of the days before the drop, in which nobody can keep the name."""
    drops_at: AwareDatetime | None
    """When anyone can register the name."""
    basis: str | None
    """Rules that the dates follow; null where those of the TLD are not known."""
    source: str | None
    """Page of the registry that states the rules."""


class RenewedDomainReply(Model):
    """The domain after a renewal."""

    id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    expires_at: AwareDatetime | None
    """When the registration expires; null when unknown."""


class RowProblem(Model):
    """An error or a warning about a row."""

    code: str
    """Stable code of the error or warning."""
    message: str
    """The error or warning as a sentence."""
    field: str | None = None
    """Member or column with the error; null for the row."""
    did_you_mean: str | None = None
    """A value that would be accepted, if one is close."""


class RowResult(Model):
    """The result of one row."""

    outcome: str
    """Result of the row. Known values: created, updated, unchanged, skipped, error."""
    index: int | None = None
    """Position of the row in the body, from 0; null in a file."""
    line: int | None = None
    """Line of the row in the file, from 1; null in a body."""
    domain: str | None = None
    """Domain of the row as an A-label; as sent when invalid."""
    id: str | None = None
    """Identifier of the created or found object."""
    errors: list[RowProblem] | None = None
    """Why the row was refused."""
    warnings: list[RowProblem] | None = None
    """Warnings about an accepted row."""


class RunChange(Model):
    """A changed field of a domain."""

    domain: str
    """Domain name, as a lower-case A-label."""
    domain_id: str
    """Identifier of the portfolio domain."""
    provider: str
    """The registrar that reported the value."""
    field: str
    """The field, such as `expires_at`."""
    from_: Annotated[Any, Field(alias="from")]
    """The value before; null when it was not known."""
    to: Any
    """The value of the registrar."""


class RunSummary(Model):
    """The sums over all connections."""

    seen: int
    """Domains that were listed."""
    matched: int
    """Listed domains that the portfolio has."""
    updated: int
    """Domains of the portfolio that changed, or would change."""
    unchanged: int
    """Domains of the portfolio whose values were the same."""
    new: int
    """Domains that the inventory did not have."""
    missing: int
    """Domains that are missing from a complete listing."""
    completed: int
    """Connections that were synced."""
    failed: int
    """Connections that failed."""
    skipped: int
    """Connections that were skipped, or offer no list."""
    running: int
    """Pending connections."""


class SavedView(Model):
    """A list of domains that a member opens again: its filters and its order."""

    name: str
    """Name of the view."""
    query: str
    """Query of `GET /v1/portfolio/domains`, such as `status=owned&sort=-roi`."""


class SavedViewsReply(Model):
    """How you view the domains of a portfolio. Each member of the team has views of their own."""

    columns: list[str]
    """Columns of the list of domains, in their order; none for the usual ones. Known values: status, lifecycle, ownership, registrar, folder, tags, tld, expires_at, days_to_expiry, auto_renew, locked, privacy, registered_on, acquired_on, renewal_price, renewal_price_base, estimated_value, asking_price, min_offer, cost, income, net, roi, pinned, notes, created_at, updated_at."""
    views: list[SavedView]
    """Views by name, in your order; at most 50."""


class SnapshotReply(Model):
    """The latest listing of a connection."""

    connection_id: str
    """Identifier of the connection."""
    provider: str
    """The registrar."""
    source: str
    """Source: the registrar's `api`, or an `import`. Known values: api, import."""
    taken_at: AwareDatetime
    """When it ended."""
    complete: bool
    """Whether the listing is complete; otherwise domains may be out of date."""
    domains: int
    """Number of domains in the listing."""
    last_complete_at: AwareDatetime | None
    """The latest complete listing; null without one."""
    age_s: int
    """Seconds since then."""


class SuspiciousDrop(Model):
    """Domains that the last listing did not have, and that are kept until the next one confirms it."""

    code: str | None = None
    """Always `suspicious_drop`."""
    domains: int
    """Number of domains that are held back."""
    since: AwareDatetime | None
    """Time of the listing that did not have them."""
    message: str
    """What happened, as a sentence."""
    next_action: str
    """What to do."""


class TeamInviteReply(Model):
    """An invitation."""

    id: str
    """Identifier of the invitation."""
    email: str
    """The invited address."""
    role: str
    """The role that it gives. Known values: owner, admin, manager, accountant, viewer."""
    approve_plans: bool
    """Whether it gives the permission `approve_plans`."""
    invited_by: str
    """The account that invited last."""
    expires_at: AwareDatetime
    """When it expires."""
    status: str
    """`pending` until it is accepted, revoked or expired. Known values: pending, expired, accepted, revoked."""


class TeamMemberReply(Model):
    """A member of the team."""

    account_id: str
    """The member's account."""
    email: str
    """Email address of the account."""
    name: str
    """Name of the account; empty when it has none."""
    role: str
    """The member's role in the team. Known values: owner, admin, manager, accountant, viewer."""
    status: str | None = None
    """Always `active`; invitations are listed apart."""
    note: str | None
    """The team's own text about the member."""
    approve_plans: bool
    """Whether the member decides about plans of the account."""
    joined_at: AwareDatetime
    """When the member joined; for the owner, when the account was created."""


class TeamMembershipReply(Model):
    """Another account's portfolio in which you are a member."""

    team_id: str
    """Identifier of the team: the account whose portfolio it is."""
    owner_account_id: str
    """Send it as `X-Portfolio-Account` to use the portfolio."""
    owner_email: str
    """Email address of the portfolio's account."""
    owner_name: str
    """Name of the portfolio's account."""
    role: str
    """Your role there. Known values: owner, admin, manager, accountant, viewer."""
    approve_plans: bool
    """Whether you decide about the plans of that account."""
    joined_at: AwareDatetime
    """When you joined."""


class TeamReply(Model):
    """The team of the portfolio."""

    team_id: str
    """Identifier of the team: the account whose portfolio it is."""
    owner_account_id: str
    """The account whose portfolio it is."""
    your_role: str
    """Your role in this team. Known values: owner, admin, manager, accountant, viewer."""
    members: list[TeamMemberReply]
    """The members, the portfolio's own account first."""
    invites: list[TeamInviteReply]
    """Pending invitations; empty for roles that do not manage the team."""
    memberships: list[TeamMembershipReply]
    """Other accounts' portfolios in which you are a member."""
    roles: dict[str, list[str]]
    """The permissions of each role."""
    count: int
    """Number of members."""


class TemplateColumn(Model):
    """A column of a template."""

    name: str
    """The field, as in `mapping` of an import."""
    header: str
    """Its header in the template."""
    type: str
    """Kind of its values. Known values: date, text, domain, kind, number, amount, currency."""
    required: bool
    """Whether each row needs a value."""
    example: str
    """A value."""
    aliases: list[str]
    """Other headers of the field."""


class TransferBlock(Model):
    """A reason why a domain cannot move now."""

    code: str
    """The rule. Known values: creation_lock, transfer_lock, registrant_change_lock, losing_registrar_response, auth_code_response, auth_code_lifetime, registrar_lock, registry_lock, pending_transfer, pending_delete, redemption, ips_tag."""
    until: AwareDatetime | None
    """The time at which it ends automatically; null if it requires a change."""
    source: str
    """Document that contains the rule."""
    known_from: str
    """The source of the fact on which it is based. Known values: registrar, rdap, portfolio."""
    message: str
    """The rule in a sentence."""


class TransferSource(Model):
    """The queried source."""

    name: str
    """The source. Known values: registrar, rdap, portfolio, rules."""
    checked_at: AwareDatetime | None
    """Time of the last query; null: never."""
    ok: bool
    """Whether it responded."""
    error: str | None
    """Why it did not respond; null with a response."""


class TransferStep(Model):
    """A step on the way to another registrar."""

    name: str
    """The step. Known values: wait_until_eligible, unlock, auth_code, request_at_gaining_registrar, confirm, complete."""
    done: bool
    """Whether it is done."""
    at: AwareDatetime | None
    """When it was done, or can be; null: not known."""


class UnmappedColumn(Model):
    """A column that was not recognized; name it with `mapping`."""

    column: str
    """Header of the column."""
    did_you_mean: str | None
    """The column with the closest name; null when none is close."""


class UnmatchedCharge(Model):
    """A new charge that needs a decision."""

    charge_id: str | None
    """The charge; null in a dry run, which records none."""
    line: int | None
    """Line of the file."""
    index: int | None
    """Index of the row in the body."""
    domain: str | None
    """The domain that is named, if any."""
    description: str
    """The row of the file."""
    candidates: list[ChargeCandidate]
    """The likeliest domain, if any."""
    reason: str | None
    """`entry_limit`: its domain has as many entries as it can have. Known values: entry_limit."""


class UnreadReply(Model):
    """An item of a registrar's list that could not be read, or only in part."""

    item: str
    """The item: a domain, the number of a bill, or its place in the list."""
    reason: str
    """What could not be read, and why."""


class WebhookTestReply(Model):
    """The result of a sample."""

    webhook_id: str
    """The destination."""
    delivery_id: str | None
    """Delivery of the sample; null when `limited`."""
    event: str | None
    """Name of the event that was sent; null when `limited`."""
    status: str
    """`limited`: not sent, the destination reached its limit for this minute. Known values: succeeded, failed, limited."""
    response: ReceiverResponse | None
    """Null when the receiver did not respond."""
    error: str | None
    """The class of the failure; null for a response of 2xx."""


class BillingApplied(Model):
    """Result of an application of charges."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    examined: int
    """Charges that were examined."""
    matched: int
    """Charges whose domain is known."""
    applied: int
    """Charges that were booked, or linked with an entry."""
    still_unmatched: int
    """Charges that need a decision."""
    linked_existing: int
    """Applied charges whose entry a member had recorded."""
    undone: int
    """Charges whose entry was voided."""
    dry_run: bool
    """Whether it was a dry run, without changes."""
    has_more: bool
    """Whether more charges remain; send the request again."""
    results: list[AppliedChargeReply]
    """The first 1,000 charges."""


class BillingCharge(Model):
    """A line of a registrar's bill, or the part of it that is for one domain."""

    provider: str
    """The registrar."""
    connection_id: str | None
    """The connection; null for an import without one."""
    order_id: str | None
    """The registrar's order; null when it names none."""
    line_id: str | None
    """Line of the order, or place among equal rows of a file."""
    charged_on: date
    """Day of the charge."""
    description: str | None
    """The registrar's text; null if the role does not see money."""
    kind: str
    """Kind of the charge. Known values: registration, renewal, transfer, redemption, privacy, tax, refund, other."""
    total: Money | None
    """The charged amount; negative for a refund."""
    parent_order_id: str | None
    """Of a refund: the order that is refunded."""
    domain_raw: str | None
    """The domain as the registrar writes it; null when no field contains it. Of a part: its domain."""
    domain: str | None
    """The domain that is named, as an A-label."""
    years: int | None
    """Years that the charge pays for; null when unknown."""
    tax: Money | None
    """Tax in the total."""
    fees: Money | None
    """Fees in the total."""
    split_of: str | None
    """Of a part: the charge that a member split; null for other charges."""
    id: str
    """Identifier of the charge."""
    source: str
    """The registrar's API, or an imported file. Known values: api, import."""
    imported_at: AwareDatetime
    """When it was recorded."""
    refund_of: str | None
    """Of a refund: the charge that it reverses, if known."""
    entry_id: str | None
    """The entry of the ledger; null while not applied."""
    linked: bool
    """Whether a member recorded the entry before the charge was imported."""
    state: str
    """Whether its domain is known, and whether it is booked. Known values: unmatched, suggested, matched, applied, ignored, split."""
    reason: str | None
    """Why it is not booked although its domain is known. `entry_limit`: the domain has as many entries as it can have. Known values: entry_limit."""
    amount: Money | None
    """Total without tax and fees."""
    annual_cost: Money | None
    """The total of one year; null when unknown."""
    match: ChargeMatch
    """The domain of the charge."""


class BillingRunProvider(Model):
    """Result of a sync for one connection."""

    fetched: int
    """Number of lines in the bills."""
    new: int
    """Charges that were recorded: one for each domain of a line."""
    duplicate: int
    """Charges that were recorded before."""
    matched: int
    """New charges whose domain was found."""
    unmatched: int
    """New charges that need a decision."""
    refunds: int
    """New charges that are refunds."""
    provider: str
    """The registrar."""
    connection_id: str
    """Identifier of the connection."""
    state: str
    """`skipped` and `unsupported`: nothing was done, and `error` says why. Known values: queued, running, completed, failed, skipped, unsupported."""
    error: PartErrorReply | None
    """Why it failed or was skipped; null without an error."""
    unread: list[UnreadReply]
    """The first 100 items of the registrar's list that could not be read, or only in part: what could not be read changes nothing."""
    next_since: date | None
    """First day that the next sync reads."""
    template_path: str | None
    """The CSV template to import instead, if unsupported."""


class BillingRunTotals(Model):
    """Sums of the new charges."""

    by_currency: list[Money]
    """The sum of each currency, less refunds."""


class BillingSplit(Model):
    """A split charge and its parts."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    charge: BillingCharge
    """The charge that is split."""
    parts: list[BillingCharge]
    """The charge of each domain."""


class BillingTemplate(Model):
    """Format of a CSV file of charges or of parking revenue."""

    id: str
    """Name of the template."""
    provider: str | None
    """The registrar; null for any."""
    title: str
    """Kind of the data in the file."""
    columns: list[TemplateColumn]
    """The columns, in their order."""
    header_row: str
    """The header as a line of CSV."""
    sample_csv: str
    """A file that can be imported without changes."""
    notes: str
    """Instructions to fill in the file."""
    verified: bool
    """False: the registrar's export can differ."""
    import_path: str
    """The operation that reads the file."""


class BillingTemplates(Model):
    """Templates of CSV files."""

    items: list[BillingTemplate]
    """The templates."""
    next_cursor: None
    """Always null: the list has one page."""
    count: int
    """Number of templates."""


class ChannelsReply(Model):
    """The channels."""

    email: EmailChannelReply
    """Email to the address of your own account."""
    webhook: ChannelPreference
    """Events to the webhooks of the portfolio's own account, which alone can enable them."""
    in_app: ChannelPreference
    """The list `GET /v1/portfolio/notifications`."""


class ChargeSums(Model):
    """Sums of the charges in one currency; `total` is the sum of the others without `split`, whose parts count."""

    currency: str
    """ISO 4217 code."""
    total: Money | None
    """All charges, less refunds; of split ones their parts."""
    unmatched: Money | None
    """Charges without a domain."""
    suggested: Money | None
    """Charges with candidates."""
    matched: Money | None
    """Charges with a domain that are not booked."""
    applied: Money | None
    """Booked charges."""
    ignored: Money | None
    """Omitted charges."""
    split: Money | None
    """Split charges."""


class ChargeTotals(Model):
    """Numbers and sums of charges."""

    by_state: ChargesByState
    """Numbers of charges."""
    by_currency: list[ChargeSums]
    """Sums of each currency."""


class CostAlert(Model):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: Money | None
    """Notify when the renewals of the current or the next month exceed this amount; null: never."""


class CurrencyTotals(Model):
    """The sums of the entries in a currency, in that currency."""

    cost: Money | None
    """Cost of the acquisition and the holding of domains, less refunds."""
    income: Money | None
    """Income from parking, leases and other use."""
    sale: Money | None
    """Proceeds of sold domains, less commission and fees."""
    net: Money | None
    """`income` and `sale` less `cost`."""
    entries: int
    """Number of entries."""
    unconverted: int
    """Entries without an exchange rate, which are excluded from sums in the base currency."""
    currency: str
    """ISO 4217 code."""


class DetectedTable(Model):
    """Detected properties of a table."""

    format: str
    """The recognized format; `generic` for another table, `list` for names alone."""
    file_type: str | None = None
    """Type of the file, by its bytes; null for JSON. Known values: csv, xlsx, xls, ods."""
    encoding: str | None
    """Encoding of the file; null for JSON and workbooks."""
    likely_encodings: list[str] | None = None
    """When the encoding is a guess: the likeliest ones, of which the first was used."""
    delimiter: str | None
    """Delimiter of the file; null for a single column and for workbooks."""
    header_line: int | None
    """Line of the header; null without one."""
    sheet: str | None = None
    """Name of the sheet of a workbook; null for other tables."""
    omitted_sheets: list[str] | None = None
    """Other sheets of the workbook, which were not read."""
    hidden_sheets: list[str] | None = None
    """Which sheets of the workbook are hidden."""
    merged_cells: list[str] | None = None
    """The first merged cells of the sheet, such as `A1:C1`; the first cell has their value."""
    mapping: dict[str, str]
    """The header of each column."""
    unmapped_columns: list[UnmappedColumn]
    """Columns that were omitted."""
    dropped_columns: list[str]
    """Columns with passwords, codes or personal data, which are never stored."""
    date_order: str | None
    """Order in which numeric dates were read; null when no date needs it. Known values: mdy, dmy."""
    dates_ambiguous: bool
    """Some dates are ambiguous, and others show no order, or both: send `date_order`."""
    decimal_mark: str | None = None
    """Decimal mark of the numbers; null when no number shows a single one. Known values: point, comma."""
    numbers_ambiguous: bool | None = None
    """Some numbers are ambiguous, such as 1.120, and no number shows the decimal mark: a warning of the row says how it was read. Send `decimal_mark`."""
    time_zones: dict[str, str] | None = None
    """The words for time zones, each with the offset from UTC that it was read as."""
    currency_symbols: dict[str, str] | None = None
    """The symbols of currencies, each with the code that it was read as."""
    assumed_currency: str | None = None
    """Currency of the amounts without one; null when each amount has one."""
    merged_rows: int | None = None
    """Rows with the domain of an earlier row."""
    warnings: list[RowProblem] | None = None
    """What the content does not prove, and how it was read; `field` is the option that names it."""


class EditedRow(Model):
    """The result for one of many domains, and what changes of it."""

    outcome: str
    """Result of the row. Known values: created, updated, unchanged, skipped, error."""
    index: int | None = None
    """Position of the row in the body, from 0; null in a file."""
    line: int | None = None
    """Line of the row in the file, from 1; null in a body."""
    domain: str | None = None
    """Domain of the row as an A-label; as sent when invalid."""
    id: str | None = None
    """Identifier of the created or found object."""
    errors: list[RowProblem] | None = None
    """Why the row was refused."""
    warnings: list[RowProblem] | None = None
    """Warnings about an accepted row."""
    changes: list[MemberChange] | None = None
    """The members that change; empty unless it is `updated`."""


class EligibilityReply(Model):
    """Whether a domain may move to another registrar."""

    transferable: bool | None
    """Null when the rules, or the day of the registration, are not known."""
    eligible_at: AwareDatetime | None
    """End of the last obstacle; null without obstacles, or if an obstacle has no end."""
    blocked_by: list[TransferBlock]
    """All obstacles to a transfer."""


class FinanceEntryReply(Model):
    """An entry of the ledger of a domain."""

    id: str
    """Identifier of the entry."""
    kind: str
    """Kind of the amount. Known values: acquisition, registration, renewal, transfer_fee, redemption, privacy, premium_fee, tax, marketplace_fee, commission, escrow_fee, other_cost, buyer_refund, chargeback, sale, sale_installment, lease_income, parking_revenue, refund, other_income."""
    amount: Money
    """The amount in the currency of the payment."""
    occurred_on: date
    """Day of the payment."""
    years: int | None
    """Years that it pays for."""
    registrar: str | None
    """The registrar that was paid."""
    memo: str | None
    """Text about it."""
    source: str
    """Source of the entry. Known values: manual, import, sync, sale, parking."""
    reference: str | None
    """Number of the order or invoice."""
    charge_id: str | None
    """The registrar's charge that it comes from."""
    sale_id: str | None
    """The sale that it is part of."""
    fx_rate: str | None
    """Units of the base currency per unit of the currency; null: there is none."""
    fx_date: date | None
    """Day of the rate, on or before the day of the entry."""
    base_amount: Money | None
    """The amount in the base currency."""
    voided_at: AwareDatetime | None
    """When it was voided; void entries are excluded from all figures."""
    void_reason: str | None
    """Why it was voided."""
    signed_amount: Money
    """The same amount, negative for a cost."""
    fx_source: str | None
    """`bank`: the European Central Bank. `own`: a rate of your own. Known values: bank, own."""


class FinanceIncomeReply(Model):
    """Income of holding the domain."""

    parking: Money
    """Parking revenue."""
    lease: Money
    """Lease income."""
    other: Money
    """Other income; refunds lower the costs instead."""


class FinancePaymentReply(Model):
    """An instalment of the buyer."""

    amount: Money
    """The agreed amount."""
    on: date
    """Day on which it is due."""
    received_on: date | None
    """Day on which it was received; null: it is planned."""


class FinanceRecommendationReply(Model):
    """Advice on the next renewal, based on few facts. It has no effect."""

    verdict: str
    """Keep it, drop it, or review missing data. Known values: keep, review, drop."""
    score: int | None
    """-100 (drop) to 100 (keep); null when the renewal price is unknown."""
    expected_gain: Money | None
    """Expected value of a renewal: 0.01 of the price after commission, and the income of the last 12 months, less the renewal price, in the base currency."""
    reasons: list[str]
    """Facts for or against it. Known values: user_pinned, income_covers_renewal, no_income, no_traffic, renewal_above_value, premium_renewal, high_cost_basis, missing_inputs."""


class FinanceSaleReply(Model):
    """The sale of the domain."""

    id: str | None
    """Identifier; null for proceeds without a sale."""
    gross: Money
    """Amount received from the buyer up to the day of the figures."""
    refunded: Money
    """Amount returned to the buyer up to that day: refunds and chargebacks."""
    costs: Money
    """Commission, fees, tax and the share of a consignor, up to that day."""
    net: Money
    """`gross` less `refunded` and `costs`."""
    price: Money | None
    """The price as agreed; null when the sale was imported."""
    outstanding: Money | None
    """Amount of the instalments that were not received."""
    commission_rate: float | None
    """Part of the price that is the commission."""
    own_share: float
    """Part of the net proceeds that is yours; 1 unless consigned."""
    sold_on: date
    """Day of the sale."""
    venue: str | None
    """The marketplace of the sale."""
    buyer_ref: str | None
    """Your own reference to the buyer."""
    installments: list[FinancePaymentReply]
    """Instalments."""


class HeldDomainReply(Model):
    """A domain that a registrar holds. Null means that the registrar does not report the value."""

    connection_id: str
    """Identifier of the connection."""
    provider: str
    """The registrar."""
    domain: str
    """Domain name, as a lower-case A-label."""
    expires_at: AwareDatetime | None
    """When it expires."""
    registered_at: AwareDatetime | None
    """When it was registered."""
    auto_renew: bool | None
    """Whether the registrar renews it automatically."""
    locked: bool | None
    """Whether the registrar refuses transfers."""
    privacy: bool | None
    """Whether the registrar hides the holder's data."""
    status: str
    """Its state at the registrar. Known values: active, pending, expired, redemption, pending_delete, transferring_out, suspended, gone, unknown."""
    status_raw: str | None
    """Its state in the registrar's own words."""
    nameservers: list[str] | None
    """Its name servers."""
    renewal_price: Money | None
    """The registrar's renewal price."""
    source: str
    """Source: the registrar's `api`, or an `import`. Known values: api, import."""
    first_seen_at: AwareDatetime
    """The first listing that had it."""
    last_seen_at: AwareDatetime
    """The last listing that had it."""
    missing_since: AwareDatetime | None
    """The first complete listing without the domain; null while the registrar holds it."""
    suspected_since: AwareDatetime | None
    """The listing without the domain, while it is held back as part of a suspicious drop."""
    domain_id: str | None
    """Identifier of the portfolio domain; null without one."""
    unicode: str
    """The domain in Unicode."""
    in_portfolio: bool
    """Whether the portfolio has the domain."""


class InventoryImportReply(Model):
    """Result of an import in the inventory and in the portfolio, by row."""

    import_id: str
    """Identifier of the import."""
    provider: str
    """The registrar."""
    connection_id: str
    """The connection of the list."""
    mode: str
    """Effect on domains that the list did not contain. Known values: merge, replace_snapshot."""
    dry_run: bool
    """Whether it only reports its effect."""
    detected: DetectedTable
    """How the list was read."""
    complete: bool
    """Whether the list counts as complete."""
    missing: int
    """Domains of the inventory that are missing from a complete list."""
    updated_domains: int
    """Domains of the portfolio that changed."""
    added_domains: int
    """Domains that were added to the portfolio."""
    results: list[RowResult]
    """Results in the order of the source; `id` is that of the portfolio domain."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    summary: BulkSummary
    """How many rows had each outcome."""


class LedgerEntryReply(Model):
    """An entry of the ledger, with its domain."""

    id: str
    """Identifier of the entry."""
    domain_id: str
    """Identifier of the portfolio domain."""
    kind: str
    """Kind of the amount. Known values: acquisition, registration, renewal, transfer_fee, redemption, privacy, premium_fee, tax, marketplace_fee, commission, escrow_fee, other_cost, buyer_refund, chargeback, sale, sale_installment, lease_income, parking_revenue, refund, other_income."""
    amount: Money
    """The amount in the currency of the payment."""
    occurred_on: date
    """Day of the payment."""
    years: int | None
    """Years that it pays for."""
    registrar: str | None
    """The registrar that was paid."""
    memo: str | None
    """Text about it."""
    source: str
    """Source of the entry. Known values: manual, import, sync, sale, parking."""
    reference: str | None
    """Number of the order or invoice."""
    charge_id: str | None
    """The registrar's charge that it comes from."""
    sale_id: str | None
    """The sale that it is part of."""
    fx_rate: str | None
    """Units of the base currency per unit of the currency; null: there is none."""
    fx_date: date | None
    """Day of the rate, on or before the day of the entry."""
    base_amount: Money | None
    """The amount in the base currency."""
    voided_at: AwareDatetime | None
    """When it was voided; void entries are excluded from all figures."""
    void_reason: str | None
    """Why it was voided."""
    domain: str | None
    """Its name as a lower-case A-label; null when it was removed."""
    signed_amount: Money
    """The same amount, negative for a cost."""
    fx_source: str | None
    """`bank`: the European Central Bank. `own`: a rate of your own. Known values: bank, own."""


class LedgerEntryReplyCountedPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[LedgerEntryReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    total: int | None
    """Number of items on all pages; null unless `include_total` is true."""


class MonthValueReply(Model):
    """Estimated values of the domains that you held at the end of a month, as they were recorded then."""

    base: Money
    """Sum in the base currency, at the rates of today."""
    unconverted: int
    """Currencies without an exchange rate, which `base` excludes."""
    by_currency: list[Money]
    """Sum of the estimates in each currency."""


class NextRenewalReply(Model):
    """The next renewal."""

    on: date
    """Day of the expiry."""
    price: Money | None
    """Price of one year; null when unknown."""
    price_source: str | None
    """`domain`: set on the domain. `last_renewal`: the amount of the last renewal. Known values: domain, last_renewal."""
    years: int
    """Years of the price."""


class NoticesAcknowledgedReply(Model):
    """Result of an acknowledgement."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    acknowledged: int
    """Number of notices that were not acknowledged before."""


class NoticesReadReply(Model):
    """Result of marking notices as read."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    marked: int
    """Number of notices that were unread before."""


class NotificationPreferencesReply(Model):
    """Your preferences in the portfolio, with the defaults of what you have not set."""

    enabled: bool
    """By default true for the portfolio's own account, false for other members."""
    timezone: str
    """Name in the IANA time zone database."""
    channels: ChannelsReply
    """The channels of notices."""
    expiry: Expiry
    """Thresholds of the notices about expiring domains."""
    events: dict[str, EventPreference]
    """Every event, by its name."""
    quiet_hours: QuietHours
    """A part of the day without email, except critical notices. It does not affect webhooks and the list in the application."""
    digest: Digest
    """One email with the notices of a day, a week or a month, by topic; critical ones are sent at once. Parking revenue, recorded renewals and matched charges are notified of too, unless `events` turns them off."""
    muted_domains: list[str]
    """Domains whose expiry has no notices, and whose events have only critical ones; A-labels."""
    muted_tags: list[str]
    """Tags whose domains are muted in the same way, in lower case."""
    cost_alert: CostAlert
    """Alert when the renewals of a month cost more than a limit."""


class NotificationPreferencesWritten(Model):
    """Your preferences after a change."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    enabled: bool
    """By default true for the portfolio's own account, false for other members."""
    timezone: str
    """Name in the IANA time zone database."""
    channels: ChannelsReply
    """The channels of notices."""
    expiry: Expiry
    """Thresholds of the notices about expiring domains."""
    events: dict[str, EventPreference]
    """Every event, by its name."""
    quiet_hours: QuietHours
    """A part of the day without email, except critical notices. It does not affect webhooks and the list in the application."""
    digest: Digest
    """One email with the notices of a day, a week or a month, by topic; critical ones are sent at once. Parking revenue, recorded renewals and matched charges are notified of too, unless `events` turns them off."""
    muted_domains: list[str]
    """Domains whose expiry has no notices, and whose events have only critical ones; A-labels."""
    muted_tags: list[str]
    """Tags whose domains are muted in the same way, in lower case."""
    cost_alert: CostAlert
    """Alert when the renewals of a month cost more than a limit."""


class NotificationTestReply(Model):
    """The results of samples by each channel."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    email: MailTestReply
    """The email to the address of your own account."""
    webhooks: list[WebhookTestReply]
    """Result for each destination that lists the event, if the portfolio is your own."""
    in_app: InAppTestReply
    """The sample in the list of notices."""
    would_be_suppressed_by: str | None
    """Reason why your preferences would delay or prevent the email; otherwise null. Known values: disabled, quiet_hours, digest."""


class ParkingDay(Model):
    """Sums of a day."""

    visits: int | None
    """Visits; null when unknown."""
    clicks: int | None
    """Clicks; null when unknown."""
    revenue: Money | None
    """Revenue in the base currency, each amount at the exchange rate of its day. It is exact, also fractions of a cent. If amounts are converted, it is rounded once."""
    rpm: str | None
    """Revenue per 1,000 visits; null without visits."""
    ctr: str | None
    """Clicks per visit; null without visits."""
    epc: str | None
    """Revenue per click; null without clicks."""
    unconverted: int
    """Rows without an exchange rate, whose revenue is not in the sum."""
    day: date
    """The day, in UTC."""


class ParkingItem(Model):
    """Sums of a domain, a provider or a day."""

    visits: int | None
    """Visits; null when unknown."""
    clicks: int | None
    """Clicks; null when unknown."""
    revenue: Money | None
    """Revenue in the base currency, each amount at the exchange rate of its day. It is exact, also fractions of a cent. If amounts are converted, it is rounded once."""
    rpm: str | None
    """Revenue per 1,000 visits; null without visits."""
    ctr: str | None
    """Clicks per visit; null without visits."""
    epc: str | None
    """Revenue per click; null without clicks."""
    unconverted: int
    """Rows without an exchange rate, whose revenue is not in the sum."""
    domain_id: str | None
    """The domain; null for a group of several."""
    domain: str | None
    """Its name as an A-label."""
    provider: str | None
    """The provider; null for several."""
    day: date | None
    """The day; null for several."""
    renewal_cost_prorated: Money | None
    """The domain's renewal price for the days of the period; null when it is not known."""
    net: Money | None
    """Revenue less the renewal cost; null when that is not known."""
    roi_flag: str | None
    """Whether the revenue covers the renewal cost; null for a group of several domains. Known values: covers_renewal, below_renewal, no_revenue, unknown."""


class ParkingRevenueRecorded(Model):
    """The result of each row of revenue."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    results: list[RowResult]
    """One result for each row, in their order."""
    summary: BulkSummary
    """How many rows had each outcome."""
    detected: DetectedTable
    """How the table was read."""


class ParkingTotals(Model):
    """Sums of all pages of the report."""

    visits: int | None
    """Visits; null when unknown."""
    clicks: int | None
    """Clicks; null when unknown."""
    revenue: Money | None
    """Revenue in the base currency, each amount at the exchange rate of its day. It is exact, also fractions of a cent. If amounts are converted, it is rounded once."""
    rpm: str | None
    """Revenue per 1,000 visits; null without visits."""
    ctr: str | None
    """Clicks per visit; null without visits."""
    epc: str | None
    """Revenue per click; null without clicks."""
    unconverted: int
    """Rows without an exchange rate, whose revenue is not in the sum."""
    by_currency: list[Money] | None
    """Revenue in the currencies that it was recorded in, exact."""
    domains: int
    """Domains with revenue rows in the period."""
    renewal_cost_prorated: Money | None
    """Renewal prices of these domains for the days of the period."""
    unknown_renewal_price: int
    """Domains without a known price, which the renewal cost excludes."""
    net: Money | None
    """Revenue less the renewal cost."""


class PortfolioEdited(Model):
    """The result for each domain, with its changes."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    results: list[EditedRow]
    """One result for each domain, in their order."""
    summary: BulkSummary
    """How many rows had each outcome."""
    digest: str
    """Digest of all changes, to request exactly these after a dry run."""


class PortfolioExpiriesHandedOver(Model):
    """The result for the expiry of each domain: `updated` if a registry decides it from now on."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    results: list[RowResult]
    """One result for each row, in their order."""
    summary: BulkSummary
    """How many rows had each outcome."""


class PortfolioExportEntry(Model):
    """An entry of the ledger."""

    amount: Amount
    """Exact decimal digits of zero or more, as text."""
    currency: str
    """ISO 4217 code."""
    kind: str
    """Kind of the amount. Known values: acquisition, registration, renewal, transfer_fee, redemption, privacy, premium_fee, tax, marketplace_fee, commission, escrow_fee, other_cost, buyer_refund, chargeback, sale, sale_installment, lease_income, parking_revenue, refund, other_income."""
    on: date
    """Day of the payment."""
    years: int | None = None
    """Years that the amount pays for; absent when unknown."""
    registrar: str | None = None
    """The payee; absent when unknown."""
    memo: str | None = None
    """Note about the amount; absent without one."""
    source: str
    """Source of the entry. Known values: manual, import, sync, sale, parking."""
    reference: str | None = None
    """Your own reference, recorded once; absent without one."""
    order_ref: str | None = None
    """Number of the order or invoice; absent without one."""
    charge: str | None = None
    """Reference of the registrar's charge that it books; a later sync recognizes it."""
    voided_at: AwareDatetime | None = None
    """When it was voided; absent otherwise."""
    void_reason: str | None = None
    """Why it was voided."""


class PortfolioExportPayment(Model):
    """An instalment or a fee."""

    amount: Amount
    """Exact decimal digits of zero or more, as text."""
    currency: str
    """ISO 4217 code."""
    kind: str | None = None
    """Kind of a fee. Known values: acquisition, registration, renewal, transfer_fee, redemption, privacy, premium_fee, tax, marketplace_fee, commission, escrow_fee, other_cost, buyer_refund, chargeback, sale, sale_installment, lease_income, parking_revenue, refund, other_income."""
    on: date | None
    """Day; null: that of the sale."""
    received_on: date | None = None
    """When an instalment was received; absent: it is planned, or this is a fee."""


class PortfolioExportRevenue(Model):
    """Parking revenue on a day, exactly as it was recorded."""

    amount: Amount
    """Exact decimal digits of zero or more, as text."""
    currency: str
    """ISO 4217 code."""
    on: date
    """The day, in UTC."""
    provider: str
    """The parking provider."""
    reference: str | None = None
    """Your own reference."""
    visits: int | None = None
    """Counted visits."""
    clicks: int | None = None
    """Clicks on advertisements."""


class PortfolioExportSale(Model):
    """A sale of the domain; its amount is the price."""

    amount: Amount
    """Exact decimal digits of zero or more, as text."""
    currency: str
    """ISO 4217 code."""
    sold_on: date
    """Day of the sale."""
    commission: Money | None = None
    """A fixed commission."""
    commission_rate: str | None = None
    """Part of the price that is the commission."""
    fees: list[PortfolioExportPayment]
    """Costs besides the commission."""
    installments: list[PortfolioExportPayment]
    """Instalments."""
    venue: str | None = None
    """The marketplace of the sale."""
    buyer_ref: str | None = None
    """Your own reference to the buyer."""
    own_share: str
    """Part of the net proceeds that is yours."""


class PortfolioImportItem(Model):
    """An import, without its rows."""

    import_id: str
    """Identifier of the import."""
    state: str
    """`queued` and `running`: a job imports it. `failed`: `failure` says why it stopped. Known values: queued, running, completed, failed, undoing, undone."""
    dry_run: bool
    """Whether it only reports its effect."""
    detected: DetectedTable | None
    """Detected properties of the source; null until a job has read it."""
    failure: RowProblem | None
    """Why the import stopped; else null."""
    rows_total: int | None
    """Number of rows; null until a job has read the source."""
    rows_done: int
    """Rows that have a result."""
    undo: PortfolioImportUndo | None
    """Result of the undo; null without one."""
    created_by: str
    """Account of the member who imported it."""
    created_at: AwareDatetime
    """When it was created."""
    finished_at: AwareDatetime | None
    """When it ended; null before."""
    summary: BulkSummary
    """The number of rows so far, by outcome."""
    merged_duplicates: int
    """Rows with the domain of an earlier row."""
    undo_until: AwareDatetime | None
    """End of the time in which the import can be undone; null when it made no changes."""


class PortfolioImportItemPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[PortfolioImportItem]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class PortfolioImportPreviewRow(Model):
    """A row of a source as an import would read it."""

    index: int | None
    """Position of the row in the body, from 0; null in a file."""
    line: int | None
    """Line of the row in the file, from 1; null in a body."""
    cells: list[str | None]
    """The first 200 characters of each cell, by column; null for a column that is never stored."""
    errors: list[RowProblem]
    """Why the row would be refused."""
    warnings: list[RowProblem]
    """Warnings about the row."""


class PortfolioImportReply(Model):
    """An import with the results of its rows."""

    import_id: str
    """Identifier of the import."""
    state: str
    """`queued` and `running`: a job imports it. `failed`: `failure` says why it stopped. Known values: queued, running, completed, failed, undoing, undone."""
    dry_run: bool
    """Whether it only reports its effect."""
    detected: DetectedTable | None
    """Detected properties of the source; null until a job has read it."""
    failure: RowProblem | None
    """Why the import stopped; else null."""
    rows_total: int | None
    """Number of rows; null until a job has read the source."""
    rows_done: int
    """Rows that have a result."""
    undo: PortfolioImportUndo | None
    """Result of the undo; null without one."""
    created_by: str
    """Account of the member who imported it."""
    created_at: AwareDatetime
    """When it was created."""
    finished_at: AwareDatetime | None
    """When it ended; null before."""
    results: list[RowResult]
    """Results in the order of the source, in a large one the rows of a domain together. Read those of a job with GET."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    summary: BulkSummary
    """The number of rows so far, by outcome."""
    merged_duplicates: int
    """Rows with the domain of an earlier row."""
    undo_until: AwareDatetime | None
    """End of the time in which the import can be undone; null when it made no changes."""


class PortfolioImportUndone(Model):
    """An import after its undo, or what an undo would do."""

    import_id: str
    """Identifier of the import."""
    state: str
    """`queued` and `running`: a job imports it. `failed`: `failure` says why it stopped. Known values: queued, running, completed, failed, undoing, undone."""
    dry_run: bool
    """Whether this only reports what the undo would do."""
    detected: DetectedTable | None
    """Detected properties of the source; null until a job has read it."""
    failure: RowProblem | None
    """Why the import stopped; else null."""
    rows_total: int | None
    """Number of rows; null until a job has read the source."""
    rows_done: int
    """Rows that have a result."""
    undo: PortfolioImportUndo | None
    """Result of the undo; null without one."""
    created_by: str
    """Account of the member who imported it."""
    created_at: AwareDatetime
    """When it was created."""
    finished_at: AwareDatetime | None
    """When it ended; null before."""
    kept_rows: list[RowResult]
    """The first 100 rows of which something is kept; their warnings have the reasons. After the undo, `GET /v1/portfolio/imports/{import_id}?kept=true` lists all."""
    before_row: int | None
    """Send it as `before_row` to continue a dry run; null at its end."""
    summary: BulkSummary
    """The number of rows so far, by outcome."""
    merged_duplicates: int
    """Rows with the domain of an earlier row."""
    undo_until: AwareDatetime | None
    """End of the time in which the import can be undone; null when it made no changes."""


class PortfolioNoticeReply(Model):
    """A notice to you about the portfolio."""

    id: str
    """Identifier of the notice."""
    event: str
    """Name of the event that the notice is about."""
    severity: str
    """Severity of the notice. Known values: info, warn, high, critical."""
    title: str
    """The notice in a sentence, as of `created_at`."""
    domain_id: str | None
    """The portfolio domain; null for other notices."""
    domain: str | None
    """The domain as an A-label; null for other notices."""
    threshold_days: int | None
    """Threshold of a notice about an expiry; else null."""
    expires_on: date | None
    """The expiry when the notice was made; else null."""
    auto_renew: bool | None
    """Whether the registrar renews it; null when unknown."""
    month: date | None
    """First day of the month of a cost alert; else null."""
    amount: Money | None
    """Renewal price of the domain, or renewals of the month; null if unknown."""
    email_at: AwareDatetime | None
    """When its email will be sent; null when none is pending."""
    held_by: str | None
    """Why the email is or was delayed; null without a delay. Known values: disabled, quiet_hours, digest."""
    created_at: AwareDatetime
    """When it was created."""
    read_at: AwareDatetime | None
    """When it was marked as read; null while unread."""
    acknowledged_at: AwareDatetime | None
    """When it was acknowledged, which ends its repetition; null before."""
    redacted: list[str]
    """`finance` when your role does not see `amount`."""
    why: str
    """Reason of the notice, and the preference that disables such notices."""


class PortfolioNoticeReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[PortfolioNoticeReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class PortfolioOwnRate(Model):
    """An exchange rate of your own. Unknown members are refused."""

    currency: str
    """ISO 4217 code, or the name of a stablecoin such as USDC."""
    since: date
    """It counts from this day until the next one."""
    rate: Amount
    """Units of `quote_currency` per unit of `currency`."""
    quote_currency: str
    """A currency that the European Central Bank quotes."""


class PortfolioOwnRates(Model):
    """The exchange rates of your own."""

    rates: list[PortfolioOwnRate]
    """By currency and day."""


class PortfolioTotals(Model):
    """Costs and income of a domain, in the base currency of the portfolio."""

    total_cost: Money
    """The same as `cost`."""
    net_position: Money
    """The same as `net`."""
    unconverted: int
    """Entries without an exchange rate, which the figures do not contain."""


class PortfolioValues(Model):
    """Estimated values of the domains that you hold."""

    by_currency: list[Money] | None
    """Sum of the estimates in each currency; null when your role does not see money."""
    held: int
    """Number of domains that you hold."""
    without_value: int
    """Those without an estimated value."""
    without_renewal_price: int
    """Those without a renewal price of their own."""


class ReconcileReport(Model):
    """The differences between a portfolio and its registrars."""

    generated_at: AwareDatetime
    """When the report was made."""
    writes: bool | None = None
    """Always false: the report changes nothing."""
    summary: ReconcileSummary
    """How many findings there are on all pages."""
    findings: list[ReconcileFinding]
    """Of this page, the most urgent first."""
    not_checked: list[ReconcileNotChecked]
    """What could not be compared, and why."""
    redacted: list[str]
    """`finance`: your role does not see money, so it is null."""
    count: int
    """Number of findings on this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class RegistrarInventory(Model):
    """A page of domains that registrars hold."""

    items: list[HeldDomainReply]
    """The domains of this page, by name."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    snapshots: list[SnapshotReply]
    """The latest listing of each connection."""
    redacted: list[str]
    """`finance` if amounts are omitted; else empty."""


class RegistrarReply(Model):
    """A registrar, and the portfolio's connection to it."""

    provider: str
    """The registrar; `manual:NAME` for one without an API."""
    title: str
    """The registrar's name."""
    connected: bool
    """Whether the portfolio has this connection."""
    connection: str | None
    """Name of the connection; null without one."""
    connection_id: str | None
    """Identifier of the connection."""
    label: str | None
    """Your own text for the connection."""
    status: str | None
    """State of the connection; `stale` after two intervals without a sync. Known values: ok, auth_failed, restricted, rate_limited, stale, never_synced."""
    status_detail: str | None
    """Reason of a failure, and what to do."""
    enabled: bool
    """Whether requests are sent to the registrar."""
    environment: str | None
    """Environment of the registrar's API. Known values: live, sandbox."""
    environments: list[str]
    """The environments that the registrar has. Known values: live, sandbox."""
    base_url: str | None
    """Base URL of requests instead of the registrar's; with a test key only."""
    credential_fields: list[RegistrarCredentialField]
    """The required credentials."""
    credentials_set: list[RegistrarCredential]
    """The stored credentials; empty for a role that does not manage registrars."""
    capabilities: RegistrarCapabilities
    """Capabilities of the registrar's API."""
    api_verified: bool
    """False: the source is other API clients, not the registrar's documentation."""
    dashboard_url: str | None
    """The registrar's website for domain management."""
    credentials_place: str | None
    """Where the registrar's website shows the credentials."""
    credentials_requirement: str | None
    """What the registrar requires for access to its API."""
    domains_count: int
    """Domains of the portfolio that it keeps up to date."""
    sync_interval_hours: int | None
    """Hours between two syncs."""
    last_sync_at: AwareDatetime | None
    """When the inventory was last complete."""
    last_billing_sync_at: AwareDatetime | None
    """When charges were last complete."""
    next_allowed_at: AwareDatetime | None
    """Time of the next allowed request to the registrar; null: now."""
    suspicious_drop: SuspiciousDrop | None
    """Many domains that the last listing did not have; null without."""
    created_at: AwareDatetime | None
    """When it was connected first; null without one."""
    updated_at: AwareDatetime | None
    """When the connection was last changed."""


class RegistrarWritten(Model):
    """A saved connection."""

    provider: str
    """The registrar; `manual:NAME` for one without an API."""
    title: str
    """The registrar's name."""
    connected: bool
    """Whether the portfolio has this connection."""
    connection: str | None
    """Name of the connection; null without one."""
    connection_id: str | None
    """Identifier of the connection."""
    label: str | None
    """Your own text for the connection."""
    status: str | None
    """State of the connection; `stale` after two intervals without a sync. Known values: ok, auth_failed, restricted, rate_limited, stale, never_synced."""
    status_detail: str | None
    """Reason of a failure, and what to do."""
    enabled: bool
    """Whether requests are sent to the registrar."""
    environment: str | None
    """Environment of the registrar's API. Known values: live, sandbox."""
    environments: list[str]
    """The environments that the registrar has. Known values: live, sandbox."""
    base_url: str | None
    """Base URL of requests instead of the registrar's; with a test key only."""
    credential_fields: list[RegistrarCredentialField]
    """The required credentials."""
    credentials_set: list[RegistrarCredential]
    """The stored credentials; empty for a role that does not manage registrars."""
    capabilities: RegistrarCapabilities
    """Capabilities of the registrar's API."""
    api_verified: bool
    """False: the source is other API clients, not the registrar's documentation."""
    dashboard_url: str | None
    """The registrar's website for domain management."""
    credentials_place: str | None
    """Where the registrar's website shows the credentials."""
    credentials_requirement: str | None
    """What the registrar requires for access to its API."""
    domains_count: int
    """Domains of the portfolio that it keeps up to date."""
    sync_interval_hours: int | None
    """Hours between two syncs."""
    last_sync_at: AwareDatetime | None
    """When the inventory was last complete."""
    last_billing_sync_at: AwareDatetime | None
    """When charges were last complete."""
    next_allowed_at: AwareDatetime | None
    """Time of the next allowed request to the registrar; null: now."""
    suspicious_drop: SuspiciousDrop | None
    """Many domains that the last listing did not have; null without."""
    created_at: AwareDatetime | None
    """When it was connected first; null without one."""
    updated_at: AwareDatetime | None
    """When the connection was last changed."""
    verification: RegistrarVerification | None
    """Null with `verify` false, and for a registrar without API."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class RenewalMonth(Model):
    """Renewals that expire in a month."""

    renewals: int
    """Number of domains."""
    base: Money | None
    """Their cost in the base currency."""
    month: str
    """Month of the expiry: `2027-03`."""
    by_currency: list[Money] | None
    """Their cost in each currency of the prices."""


class RenewalRecommendation(Model):
    """Advice from the figures of the domain."""

    verdict: str
    """Keep it, drop it, or review missing data. Known values: keep, review, drop."""
    score: int | None
    """-100 (drop) to 100 (keep); null when the renewal price is unknown."""
    expected_gain: Money | None
    """Expected value of a renewal: 0.01 of the price after commission, and the income of the last 12 months, less the renewal price, in the base currency."""
    reasons: list[str]
    """Facts for or against it. Known values: user_pinned, income_covers_renewal, no_income, no_traffic, renewal_above_value, premium_renewal, high_cost_basis, missing_inputs."""


class RenewalReply(Model):
    """A domain with a due or overdue renewal."""

    domain_id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    domain_unicode: str
    """The name in Unicode; for most names the same."""
    registrar: str | None
    """Where the domain is registered; null when unknown."""
    expires_at: AwareDatetime
    """When the registration expires."""
    days_left: int
    """Days until the day of the expiry, in the time zone of the account: 0 today, negative after it."""
    auto_renew: bool | None
    """Whether the registrar renews the domain; null when unknown."""
    lifecycle: str | None
    """State of the registration. Known values: active, expiring, grace, redemption, quarantine, pending_delete, expired, unknown."""
    renewal_price: Money | None
    """Price of a year; null when unknown."""
    renewal_price_base: Money | None
    """`renewal_price` in the base currency at the rate of today; null without a rate."""
    price_source: str
    """`domain`: the price of the domain. `last_renewal`: the last renewal in the ledger. `median`: the median of your domains with the same suffix and registrar. `unknown`: no price is known, or your role does not see money. Known values: domain, last_renewal, median, unknown."""
    decision: str
    """The decision about the next expiry. Known values: renew, drop, undecided."""
    years: int | None
    """Years to renew for; null when not decided."""
    note: str | None
    """The team's note about the decision."""
    snooze_until: date | None
    """First day of reminders."""
    decided_at: AwareDatetime | None
    """When the decision last changed; null: never."""
    drop_dates: RenewalDropDates
    """Deletion dates by the rules of the top-level domain."""
    recommendation: RenewalRecommendation | None
    """Advice; null when your role does not see money."""


class RenewalRowResult(Model):
    """The result of one row."""

    outcome: str
    """Result of the row. Known values: created, updated, unchanged, skipped, error."""
    index: int | None = None
    """Position of the row in the body, from 0; null in a file."""
    line: int | None = None
    """Line of the row in the file, from 1; null in a body."""
    domain: str | None = None
    """Domain of the row as an A-label; as sent when invalid."""
    id: str | None = None
    """Identifier of the created or found object."""
    errors: list[RowProblem] | None = None
    """Why the row was refused."""
    warnings: list[RowProblem] | None = None
    """Warnings about an accepted row."""
    changes: list[MemberChange] | None = None
    """The members that change; empty unless it is `updated`."""
    pushed: PushedReply | None = None
    """Result at the registrar; null when not requested."""


class RenewalsByDecision(Model):
    """Renewals with a decision."""

    renewals: int
    """Number of domains."""
    base: Money | None
    """Their cost in the base currency."""
    decision: str
    """The decision of the domains in the sum. Known values: renew, drop, undecided."""


class RenewalsUpdated(Model):
    """The result of each row."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    results: list[RenewalRowResult]
    """One result for each row, in their order."""
    summary: BulkSummary
    """How many rows had each outcome."""
    digest: str
    """Digest of all changes, to request exactly these after a dry run."""


class RunProvider(Model):
    """Result of a run for one connection."""

    seen: int
    """Domains that were listed."""
    matched: int
    """Listed domains that the portfolio has."""
    updated: int
    """Domains of the portfolio that changed, or would change."""
    unchanged: int
    """Domains of the portfolio whose values were the same."""
    new: int
    """Domains that the inventory did not have."""
    missing: int
    """Domains that are missing from a complete listing."""
    provider: str
    """The registrar."""
    connection_id: str
    """Identifier of the connection."""
    state: str
    """`skipped` and `unsupported`: nothing was done, and `error` says why. Known values: queued, running, completed, failed, skipped, unsupported."""
    error: PartErrorReply | None
    """Why it failed or was skipped; null without an error."""
    unread: list[UnreadReply]
    """The first 100 items of the registrar's list that could not be read, or only in part: what could not be read changes nothing."""
    counts: dict[str, int]
    """All counts by name, including the counts of a billing run."""
    suspicious_drop: SuspiciousDrop | None
    """Many domains that the listing did not have, which are held back; null without them."""
    started_at: AwareDatetime | None
    """When it started; null before."""
    finished_at: AwareDatetime | None
    """When it ended; null before."""


class SummaryTotals(Model):
    """Sums of ledger entries; money is null for a role that does not see it."""

    cost: Money | None
    """Cost of the acquisition and the holding of domains, less refunds."""
    income: Money | None
    """Income from parking, leases and other use."""
    sale: Money | None
    """Proceeds of sold domains, less commission and fees."""
    net: Money | None
    """`income` and `sale` less `cost`."""
    entries: int
    """Number of entries."""
    unconverted: int
    """Entries without an exchange rate, which are excluded from sums in the base currency."""


class TagTotals(Model):
    """The sums of the domains with a tag."""

    cost: Money | None
    """Cost of the acquisition and the holding of domains, less refunds."""
    income: Money | None
    """Income from parking, leases and other use."""
    sale: Money | None
    """Proceeds of sold domains, less commission and fees."""
    net: Money | None
    """`income` and `sale` less `cost`."""
    entries: int
    """Number of entries."""
    unconverted: int
    """Entries without an exchange rate, which are excluded from sums in the base currency."""
    tag: str
    """Tag of the domains, in lower case."""
    domains: int
    """Number of domains."""


class TeamAccepted(Model):
    """The team that was joined."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    team_id: str
    """Identifier of the team: the account whose portfolio it is."""
    role: str
    """Your role in the team. Known values: owner, admin, manager, accountant, viewer."""
    member: TeamMemberReply
    """You, as a member of the team."""


class TeamInviteCreated(Model):
    """A new or renewed invitation with its token."""

    id: str
    """Identifier of the invitation."""
    email: str
    """The invited address."""
    role: str
    """The role that it gives. Known values: owner, admin, manager, accountant, viewer."""
    approve_plans: bool
    """Whether it gives the permission `approve_plans`."""
    invited_by: str
    """The account that invited last."""
    expires_at: AwareDatetime
    """When it expires."""
    accept_token: str | None = None
    """The token for `POST /v1/portfolio/team/accept`. Shown once; the email contains it too. Absent if an Idempotency-Key repeats the answer."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    status: str
    """`pending` until it is accepted, revoked or expired. Known values: pending, expired, accepted, revoked."""


class TeamMemberWritten(Model):
    """A member of the team."""

    account_id: str
    """The member's account."""
    email: str
    """Email address of the account."""
    name: str
    """Name of the account; empty when it has none."""
    role: str
    """The member's role in the team. Known values: owner, admin, manager, accountant, viewer."""
    status: str | None = None
    """Always `active`; invitations are listed apart."""
    note: str | None
    """The team's own text about the member."""
    approve_plans: bool
    """Whether the member decides about plans of the account."""
    joined_at: AwareDatetime
    """When the member joined; for the owner, when the account was created."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class TldTotals(Model):
    """The sums of the domains with a public suffix."""

    cost: Money | None
    """Cost of the acquisition and the holding of domains, less refunds."""
    income: Money | None
    """Income from parking, leases and other use."""
    sale: Money | None
    """Proceeds of sold domains, less commission and fees."""
    net: Money | None
    """`income` and `sale` less `cost`."""
    entries: int
    """Number of entries."""
    unconverted: int
    """Entries without an exchange rate, which are excluded from sums in the base currency."""
    tld: str
    """Public suffix of the domains, such as `com` or `co.uk`."""
    domains: int
    """Number of domains."""


class TransferReply(Model):
    """The state of the transfer of a domain, with its sources."""

    domain_id: str
    """Identifier of the domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    state: str
    """`none`: no information. `locked`: only the registrar's lock prevents a transfer. `eligible`: nothing known does, but the lock is not known. An ended transfer is shown for 60 days. Known values: none, not_eligible, locked, eligible, unlocked, auth_code_issued, pending_out, pending_in, action_required, completed, failed, cancelled."""
    direction: str | None
    """Direction of the transfer; null without one. Known values: in, out."""
    provider: str | None
    """The connected registrar, or the one that reports."""
    provider_status: str | None
    """The status in the registrar's own term."""
    message: str | None
    """The registrar's text."""
    expected: bool | None
    """Whether you prepared the transfer; null if unknown, or if there is none."""
    locked: bool | None
    """Whether the registrar locks the domain; null: not known."""
    transferable: bool | None
    """Whether it may move now; null: not known."""
    eligible_at: AwareDatetime | None
    """End of the last obstacle; null without obstacles, or if an obstacle has no end."""
    blocked_by: list[TransferBlock]
    """All obstacles to a transfer."""
    auth_code: LastAuthCode
    """The last request for the auth code. Never the code."""
    losing_registrar: str | None
    """The losing registrar; null: not known."""
    gaining_registrar: str | None
    """The gaining registrar; null: not known."""
    started_at: AwareDatetime | None
    """When the transfer began; null without one."""
    expected_by: AwareDatetime | None
    """When it is completed at the latest, by the rules."""
    completed_at: AwareDatetime | None
    """When it was completed, failed or cancelled."""
    steps: list[TransferStep]
    """The steps in their order."""
    sources: list[TransferSource]
    """The queried sources and the time of each query."""
    rules_applied: list[AppliedTransferRule]
    """The rules in force, each with its result."""


class AuthCodeReply(Model):
    """How the auth code of a domain is delivered, and the code itself where the registrar returns it."""

    domain_id: str
    """Identifier of the domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    provider: str
    """The registrar."""
    delivery: str
    """How the registrar delivers the code. Known values: returned, emailed, dashboard, unsupported, pending."""
    auth_code: str | None = None
    """The code, which is shown once and never stored. Null when the registrar does not return it, absent when an Idempotency-Key repeats the response."""
    expires_at: AwareDatetime | None
    """End of the validity of the code; null if the registrar does not report it."""
    sent_to: str | None
    """The masked address that receives the code; null if the registrar does not report it."""
    dashboard_url: str | None
    """The registrar's website for the domain; null: not known."""
    instructions: list[str]
    """What to do next."""
    eligibility: EligibilityReply
    """Whether the domain may move now."""
    requested_at: AwareDatetime
    """When the code was requested."""
    audit_id: str
    """The entry in the audit list of the portfolio's account."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class BillingCharges(Model):
    """Charges, the newest first."""

    items: list[BillingCharge]
    """The charges of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    count: int
    """Number of all charges of the filters."""
    totals: ChargeTotals
    """Numbers and sums of all charges of the filters."""
    redacted: list[str]
    """`finance` when the role does not see money."""


class BillingImported(Model):
    """Result of an import of charges, by row."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    results: list[RowResult]
    """One result for each row, in their order."""
    summary: BulkSummary
    """How many rows had each outcome."""
    import_id: str
    """Identifier of the import."""
    provider: str
    """The registrar."""
    dry_run: bool
    """Whether it was a dry run, without recorded charges."""
    detected: DetectedTable
    """How the file was read."""
    matched: int
    """New charges whose domain was found."""
    applied: int
    """New charges that were booked in the ledger."""
    unmatched: list[UnmatchedCharge]
    """New charges that need a decision."""


class BillingRun(Model):
    """A sync of charges."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    run_id: str
    """Identifier of the run."""
    state: str
    """`queued` and `running`: a job executes it. `failed`: every connection failed. Known values: queued, running, completed, failed."""
    dry_run: bool
    """Whether it only reports its effect."""
    created_at: AwareDatetime
    """When it was created."""
    finished_at: AwareDatetime | None
    """When it ended; null before."""
    providers: list[BillingRunProvider]
    """The result of each connection."""
    totals: BillingRunTotals
    """Sum of the new charges; empty in a dry run."""
    summary: BillingCounts
    """Numbers of all connections together."""


class FinancePeriodReply(Model):
    """What the domain cost and earned from a purchase to its sale."""

    cost_basis: Money | None
    """Acquisition or registration, with its fees and tax."""
    carrying_cost: Money | None
    """Renewals and other costs of holding the domain."""
    refunds: Money | None
    """Refunded costs."""
    total_cost: Money | None
    """`cost_basis` and `carrying_cost` less `refunds`."""
    income: FinanceIncomeReply | None
    """Income of holding the domain."""
    sale: FinanceSaleReply | None
    """The sale; null before it."""
    realized_profit: Money | None
    """`sale.net` and income less `total_cost`; null before a sale."""
    net_position: Money | None
    """All receipts less all payments."""
    roi: float | None
    """`net_position` per unit of `total_cost`, such as 0.5; null without costs."""
    annualized_roi: float | None
    """`roi` as an annual rate; null for less than a day and for a total loss."""
    xirr: float | None
    """Annual internal rate of return of the dated payments; of several, that nearest to `annualized_roi`."""
    xirr_reason: str | None
    """Why there is no `xirr`. `one_sign`: only costs or only receipts. `no_cost`: buying and holding cost nothing. `no_solution`: none between -99.99 % and 100,000,000 %. Known values: no_flows, one_day, one_sign, no_cost, no_solution."""
    holding_days: int | None
    """Days from the acquisition until the sale, or until `as_of`."""


class FinanceReply(Model):
    """The finance of a domain: costs, income and value in the present holding period."""

    domain_id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    status: str
    """Status of the domain in your portfolio. Known values: owned, leased, consigned, listed, sold, dropped, expired, transferred_out."""
    base_currency: str
    """Currency of the figures."""
    as_of: date
    """Day of the figures, which exclude later entries."""
    asking_price: Money | None
    """Price that you ask for the domain."""
    estimated_value: Money | None
    """Your estimate of the value of the domain."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    cost_basis: Money | None
    """Acquisition or registration, with its fees and tax."""
    carrying_cost: Money | None
    """Renewals and other costs of holding the domain."""
    refunds: Money | None
    """Refunded costs."""
    total_cost: Money | None
    """`cost_basis` and `carrying_cost` less `refunds`."""
    income: FinanceIncomeReply | None
    """Income of holding the domain."""
    sale: FinanceSaleReply | None
    """The sale; null before it."""
    realized_profit: Money | None
    """`sale.net` and income less `total_cost`; null before a sale."""
    net_position: Money | None
    """All receipts less all payments."""
    roi: float | None
    """`net_position` per unit of `total_cost`, such as 0.5; null without costs."""
    annualized_roi: float | None
    """`roi` as an annual rate; null for less than a day and for a total loss."""
    xirr: float | None
    """Annual internal rate of return of the dated payments; of several, that nearest to `annualized_roi`."""
    xirr_reason: str | None
    """Why there is no `xirr`. `one_sign`: only costs or only receipts. `no_cost`: buying and holding cost nothing. `no_solution`: none between -99.99 % and 100,000,000 %. Known values: no_flows, one_day, one_sign, no_cost, no_solution."""
    holding_days: int | None
    """Days from the acquisition until the sale, or until `as_of`."""
    unrealized_profit: Money | None
    """The estimated value after commission, and `net_position`; null without an estimate."""
    breakeven_price: Money | None
    """Sale price that covers all costs; zero when the income did."""
    next_renewal: NextRenewalReply | None
    """The next renewal; null when it is unknown or not due."""
    earlier_periods: list[FinancePeriodReply]
    """Earlier holding periods, the oldest first."""
    entries: list[FinanceEntryReply]
    """The newest 500 entries, including void entries, the oldest first."""
    entries_count: int | None
    """Number of all entries."""
    unconverted: list[str]
    """Entries without an exchange rate, which are excluded from the figures."""
    recommendation: FinanceRecommendationReply | None
    """Advice; null for a domain that you do not hold."""
    redacted: list[str]
    """`finance`: your role does not see money, so all figures are null or empty."""


class FinanceWritten(Model):
    """The finance of a domain after a change."""

    domain_id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    status: str
    """Status of the domain in your portfolio. Known values: owned, leased, consigned, listed, sold, dropped, expired, transferred_out."""
    base_currency: str
    """Currency of the figures."""
    as_of: date
    """Day of the figures, which exclude later entries."""
    asking_price: Money | None
    """Price that you ask for the domain."""
    estimated_value: Money | None
    """Your estimate of the value of the domain."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    cost_basis: Money | None
    """Acquisition or registration, with its fees and tax."""
    carrying_cost: Money | None
    """Renewals and other costs of holding the domain."""
    refunds: Money | None
    """Refunded costs."""
    total_cost: Money | None
    """`cost_basis` and `carrying_cost` less `refunds`."""
    income: FinanceIncomeReply | None
    """Income of holding the domain."""
    sale: FinanceSaleReply | None
    """The sale; null before it."""
    realized_profit: Money | None
    """`sale.net` and income less `total_cost`; null before a sale."""
    net_position: Money | None
    """All receipts less all payments."""
    roi: float | None
    """`net_position` per unit of `total_cost`, such as 0.5; null without costs."""
    annualized_roi: float | None
    """`roi` as an annual rate; null for less than a day and for a total loss."""
    xirr: float | None
    """Annual internal rate of return of the dated payments; of several, that nearest to `annualized_roi`."""
    xirr_reason: str | None
    """Why there is no `xirr`. `one_sign`: only costs or only receipts. `no_cost`: buying and holding cost nothing. `no_solution`: none between -99.99 % and 100,000,000 %. Known values: no_flows, one_day, one_sign, no_cost, no_solution."""
    holding_days: int | None
    """Days from the acquisition until the sale, or until `as_of`."""
    unrealized_profit: Money | None
    """The estimated value after commission, and `net_position`; null without an estimate."""
    breakeven_price: Money | None
    """Sale price that covers all costs; zero when the income did."""
    next_renewal: NextRenewalReply | None
    """The next renewal; null when it is unknown or not due."""
    earlier_periods: list[FinancePeriodReply]
    """Earlier holding periods, the oldest first."""
    entries: list[FinanceEntryReply]
    """The newest 500 entries, including void entries, the oldest first."""
    entries_count: int | None
    """Number of all entries."""
    unconverted: list[str]
    """Entries without an exchange rate, which are excluded from the figures."""
    recommendation: FinanceRecommendationReply | None
    """Advice; null for a domain that you do not hold."""
    redacted: list[str]
    """`finance`: your role does not see money, so all figures are null or empty."""
    changes: list[FinanceChangeReply]
    """The changes; empty without any."""


class MonthTotals(Model):
    """The sums of a month."""

    cost: Money | None
    """Cost of the acquisition and the holding of domains, less refunds."""
    income: Money | None
    """Income from parking, leases and other use."""
    sale: Money | None
    """Proceeds of sold domains, less commission and fees."""
    net: Money | None
    """`income` and `sale` less `cost`."""
    entries: int
    """Number of entries."""
    unconverted: int
    """Entries without an exchange rate, which are excluded from sums in the base currency."""
    month: str
    """Year and month, such as `2026-01`."""
    value: MonthValueReply | None
    """At its end, or today. Null before the first estimate, and when your role does not see money."""


class OwnRatesWritten(Model):
    """The exchange rates of your own after a change."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    rates: list[PortfolioOwnRate]
    """By currency and day."""


class ParkingReport(Model):
    """Parking revenue of a period."""

    period: ParkingReportPeriod
    """The days of the report, up to today."""
    group_by: str
    """The grouping of the items. Known values: domain, day, provider."""
    base_currency: str
    """Currency of the report (ISO 4217)."""
    items: list[ParkingItem]
    """The groups of this page, the highest revenue first; days by date."""
    totals: ParkingTotals
    """Sums of all pages."""
    daily: list[ParkingDay]
    """Sums of each day with revenue rows, for a chart."""
    redacted: list[str]
    """`finance`: your role does not see money, so every amount is null."""
    count: int
    """Number of items on this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class PortfolioDomainDetail(Model):
    """A domain of a portfolio, with the dates of its deletion if it is not renewed."""

    id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    tld: str
    """Public suffix that the name is registered below, such as `co.uk`."""
    status: str
    """Status of the domain in your portfolio. Only your requests change it; an expiry does not. Known values: owned, leased, consigned, listed, sold, dropped, expired, transferred_out."""
    ownership: str
    """`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty. Known values: owned, leased, consigned."""
    counterparty: str | None
    """The lessor or consignor of the domain."""
    revenue_share: str | None
    """Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. Record parking and lease income as received, and the counterparty's share of it as `other_cost`."""
    registrar: str | None
    """Where the domain is registered; null when unknown."""
    connection_id: str | None
    """The registrar connection that keeps the domain up to date; null without one."""
    registered_on: date | None
    """When the domain was first registered; null when unknown."""
    acquired_on: date | None
    """When you acquired the domain; null when unknown."""
    expires_at: AwareDatetime | None
    """When the registration expires; null when unknown."""
    expiry_source: str | None
    """`rdap`: the registry, the source of expiries that neither you nor a registrar reported. Known values: registrar, rdap, manual."""
    auto_renew: bool | None
    """Whether the registrar renews the domain; null when unknown."""
    locked: bool | None
    """Whether transfers are locked; null when unknown."""
    privacy: bool | None
    """Whether the contacts are hidden; null when unknown."""
    nameservers: list[str]
    """Name servers of the domain; empty when unknown."""
    epp_statuses: list[str]
    """Statuses at the registry as EPP names them, such as `clientHold`."""
    renewal_price: Money | None
    """Price of one more year; null when unknown."""
    asking_price: Money | None
    """Price that you ask for the domain."""
    min_offer: Money | None
    """Lowest offer that you consider."""
    estimated_value: Money | None
    """Your estimate of the value of the domain."""
    tags: list[str]
    """Your tags, in lower case. An array in a request replaces all of them."""
    folder: str | None
    """Your folder."""
    notes: str | None
    """Your notes."""
    pinned: bool
    """Whether you keep the domain independently of its figures."""
    lifecycle: str | None
    """State of the registration by its dates and statuses; `expiring` in the last 30 days and on the day of the expiry. `grace`, `redemption` and `quarantine`: expired, but you can keep it. `expired`: past its deletion. `unknown`: past its expiry, and the rules do not say whether you can keep it. Null: the expiry is unknown, or you no longer hold the domain. Known values: active, expiring, grace, redemption, quarantine, pending_delete, expired, unknown."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    days_to_expiry: int | None
    """Days until the day of the expiry, in the time zone of the account: 0 today, negative after it; null when unknown."""
    roi: float | None
    """`net` per unit of `cost`, such as 0.5; null without costs."""
    net: Money | None
    """All receipts less all payments, up to today in the present holding period, in the base currency: `net_position` of the domain's finance."""
    cost: Money | None
    """Of them the costs of buying and holding the domain, less refunds."""
    income: Money | None
    """Of them the income of holding the domain."""
    renewal_price_base: Money | None
    """`renewal_price` in the base currency at the rate of today; null without a rate."""
    finance: PortfolioTotals | None
    """Figures; null when your role does not see money."""
    redacted: list[str]
    """`finance`: your role does not see money, so every price and share is null."""
    drop_dates: DropDatesReply
    """Deletion dates by the rules of the top-level domain."""
    domain_unicode: str
    """The name in Unicode; for most names the same."""


class PortfolioDomainReply(Model):
    """A domain of a portfolio."""

    id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    tld: str
    """Public suffix that the name is registered below, such as `co.uk`."""
    status: str
    """Status of the domain in your portfolio. Only your requests change it; an expiry does not. Known values: owned, leased, consigned, listed, sold, dropped, expired, transferred_out."""
    ownership: str
    """`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty. Known values: owned, leased, consigned."""
    counterparty: str | None
    """The lessor or consignor of the domain."""
    revenue_share: str | None
    """Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. Record parking and lease income as received, and the counterparty's share of it as `other_cost`."""
    registrar: str | None
    """Where the domain is registered; null when unknown."""
    connection_id: str | None
    """The registrar connection that keeps the domain up to date; null without one."""
    registered_on: date | None
    """When the domain was first registered; null when unknown."""
    acquired_on: date | None
    """When you acquired the domain; null when unknown."""
    expires_at: AwareDatetime | None
    """When the registration expires; null when unknown."""
    expiry_source: str | None
    """`rdap`: the registry, the source of expiries that neither you nor a registrar reported. Known values: registrar, rdap, manual."""
    auto_renew: bool | None
    """Whether the registrar renews the domain; null when unknown."""
    locked: bool | None
    """Whether transfers are locked; null when unknown."""
    privacy: bool | None
    """Whether the contacts are hidden; null when unknown."""
    nameservers: list[str]
    """Name servers of the domain; empty when unknown."""
    epp_statuses: list[str]
    """Statuses at the registry as EPP names them, such as `clientHold`."""
    renewal_price: Money | None
    """Price of one more year; null when unknown."""
    asking_price: Money | None
    """Price that you ask for the domain."""
    min_offer: Money | None
    """Lowest offer that you consider."""
    estimated_value: Money | None
    """Your estimate of the value of the domain."""
    tags: list[str]
    """Your tags, in lower case. An array in a request replaces all of them."""
    folder: str | None
    """Your folder."""
    notes: str | None
    """Your notes."""
    pinned: bool
    """Whether you keep the domain independently of its figures."""
    lifecycle: str | None
    """State of the registration by its dates and statuses; `expiring` in the last 30 days and on the day of the expiry. `grace`, `redemption` and `quarantine`: expired, but you can keep it. `expired`: past its deletion. `unknown`: past its expiry, and the rules do not say whether you can keep it. Null: the expiry is unknown, or you no longer hold the domain. Known values: active, expiring, grace, redemption, quarantine, pending_delete, expired, unknown."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    days_to_expiry: int | None
    """Days until the day of the expiry, in the time zone of the account: 0 today, negative after it; null when unknown."""
    roi: float | None
    """`net` per unit of `cost`, such as 0.5; null without costs."""
    net: Money | None
    """All receipts less all payments, up to today in the present holding period, in the base currency: `net_position` of the domain's finance."""
    cost: Money | None
    """Of them the costs of buying and holding the domain, less refunds."""
    income: Money | None
    """Of them the income of holding the domain."""
    renewal_price_base: Money | None
    """`renewal_price` in the base currency at the rate of today; null without a rate."""
    finance: PortfolioTotals | None
    """Figures; null when your role does not see money."""
    redacted: list[str]
    """`finance`: your role does not see money, so every price and share is null."""
    domain_unicode: str
    """The name in Unicode; for most names the same."""


class PortfolioDomainReplyCountedPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[PortfolioDomainReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
    total: int | None
    """Number of items on all pages; null unless `include_total` is true."""


class PortfolioDomainWritten(Model):
    """A domain of a portfolio, with the dates of its deletion if it is not renewed."""

    id: str
    """Identifier of the portfolio domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    tld: str
    """Public suffix that the name is registered below, such as `co.uk`."""
    status: str
    """Status of the domain in your portfolio. Only your requests change it; an expiry does not. Known values: owned, leased, consigned, listed, sold, dropped, expired, transferred_out."""
    ownership: str
    """`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty. Known values: owned, leased, consigned."""
    counterparty: str | None
    """The lessor or consignor of the domain."""
    revenue_share: str | None
    """Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. Record parking and lease income as received, and the counterparty's share of it as `other_cost`."""
    registrar: str | None
    """Where the domain is registered; null when unknown."""
    connection_id: str | None
    """The registrar connection that keeps the domain up to date; null without one."""
    registered_on: date | None
    """When the domain was first registered; null when unknown."""
    acquired_on: date | None
    """When you acquired the domain; null when unknown."""
    expires_at: AwareDatetime | None
    """When the registration expires; null when unknown."""
    expiry_source: str | None
    """`rdap`: the registry, the source of expiries that neither you nor a registrar reported. Known values: registrar, rdap, manual."""
    auto_renew: bool | None
    """Whether the registrar renews the domain; null when unknown."""
    locked: bool | None
    """Whether transfers are locked; null when unknown."""
    privacy: bool | None
    """Whether the contacts are hidden; null when unknown."""
    nameservers: list[str]
    """Name servers of the domain; empty when unknown."""
    epp_statuses: list[str]
    """Statuses at the registry as EPP names them, such as `clientHold`."""
    renewal_price: Money | None
    """Price of one more year; null when unknown."""
    asking_price: Money | None
    """Price that you ask for the domain."""
    min_offer: Money | None
    """Lowest offer that you consider."""
    estimated_value: Money | None
    """Your estimate of the value of the domain."""
    tags: list[str]
    """Your tags, in lower case. An array in a request replaces all of them."""
    folder: str | None
    """Your folder."""
    notes: str | None
    """Your notes."""
    pinned: bool
    """Whether you keep the domain independently of its figures."""
    lifecycle: str | None
    """State of the registration by its dates and statuses; `expiring` in the last 30 days and on the day of the expiry. `grace`, `redemption` and `quarantine`: expired, but you can keep it. `expired`: past its deletion. `unknown`: past its expiry, and the rules do not say whether you can keep it. Null: the expiry is unknown, or you no longer hold the domain. Known values: active, expiring, grace, redemption, quarantine, pending_delete, expired, unknown."""
    created_at: AwareDatetime
    """When it was created."""
    updated_at: AwareDatetime
    """When it last changed."""
    days_to_expiry: int | None
    """Days until the day of the expiry, in the time zone of the account: 0 today, negative after it; null when unknown."""
    roi: float | None
    """`net` per unit of `cost`, such as 0.5; null without costs."""
    net: Money | None
    """All receipts less all payments, up to today in the present holding period, in the base currency: `net_position` of the domain's finance."""
    cost: Money | None
    """Of them the costs of buying and holding the domain, less refunds."""
    income: Money | None
    """Of them the income of holding the domain."""
    renewal_price_base: Money | None
    """`renewal_price` in the base currency at the rate of today; null without a rate."""
    finance: PortfolioTotals | None
    """Figures; null when your role does not see money."""
    redacted: list[str]
    """`finance`: your role does not see money, so every price and share is null."""
    drop_dates: DropDatesReply
    """Deletion dates by the rules of the top-level domain."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    domain_unicode: str
    """The name in Unicode; for most names the same."""


class PortfolioExportRow(Model):
    """A domain with all members of an import."""

    status: str
    """Status of the domain in your portfolio. Only your requests change it; an expiry does not. Known values: owned, leased, consigned, listed, sold, dropped, expired, transferred_out."""
    ownership: str
    """`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty. Known values: owned, leased, consigned."""
    counterparty: str | None
    """The lessor or consignor of the domain."""
    revenue_share: str | None
    """Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. Record parking and lease income as received, and the counterparty's share of it as `other_cost`."""
    registrar: str | None
    """Where the domain is registered; null when unknown."""
    registered_on: date | None
    """When the domain was first registered; null when unknown."""
    acquired_on: date | None
    """When you acquired the domain; null when unknown."""
    expires_at: AwareDatetime | None
    """When the registration expires; null when unknown."""
    expiry_source: str | None
    """`rdap`: the registry, the source of expiries that neither you nor a registrar reported. Known values: registrar, rdap, manual."""
    auto_renew: bool | None
    """Whether the registrar renews the domain; null when unknown."""
    locked: bool | None
    """Whether transfers are locked; null when unknown."""
    privacy: bool | None
    """Whether the contacts are hidden; null when unknown."""
    nameservers: list[str]
    """Name servers of the domain; empty when unknown."""
    epp_statuses: list[str]
    """Statuses at the registry as EPP names them, such as `clientHold`."""
    renewal_price: Money | None
    """Price of one more year; null when unknown."""
    asking_price: Money | None
    """Price that you ask for the domain."""
    min_offer: Money | None
    """Lowest offer that you consider."""
    estimated_value: Money | None
    """Your estimate of the value of the domain."""
    tags: list[str]
    """Your tags, in lower case. An array in a request replaces all of them."""
    folder: str | None
    """Your folder."""
    notes: str | None
    """Your notes."""
    pinned: bool
    """Whether you keep the domain independently of its figures."""
    domain: str
    """Domain name, as a lower-case A-label."""
    unicode: str
    """The name in Unicode; for most names the same."""
    entries: list[PortfolioExportEntry] | None
    """Its other ledger entries; null, as the next two, when your role does not see money."""
    sales: list[PortfolioExportSale] | None
    """Its sales, by day."""
    parking: list[PortfolioExportRevenue] | None
    """Its parking revenue, by day."""
    renewal_decisions: list[PortfolioExportDecision]
    """The last decision about its renewal; empty without one."""


class PortfolioImportPreview(Model):
    """What an import would read from a source."""

    detected: DetectedTable
    """Detected properties of the source; with a `problem` no columns."""
    problem: RowProblem | None
    """Why no row can be read, such as a missing column; else null."""
    columns: list[PortfolioImportColumn]
    """The columns of the source."""
    rows_total: int | None
    """Number of rows; null with a `problem`."""
    rows_examined: int
    """Rows that were searched for problems, the first 1,000."""
    rows: list[PortfolioImportPreviewRow]
    """The first 20 rows."""
    problem_rows: list[PortfolioImportPreviewRow]
    """The first 100 examined rows with errors or warnings."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""


class PortfolioSummaryReply(Model):
    """Costs and income of the domains of a portfolio in a period."""

    base_currency: str
    """Currency of all sums but those of `by_currency`."""
    since: date
    """First day of the period."""
    until: date
    """Last day of the period."""
    domains: int
    """Number of domains in the portfolio."""
    values: PortfolioValues
    """Estimated values of the domains that you hold today."""
    totals: SummaryTotals
    """The sums of the period."""
    months: list[MonthTotals]
    """Each month of the period in order, also one without entries."""
    by_currency: list[CurrencyTotals]
    """The sums by currency, in that currency."""
    by_tld: list[TldTotals]
    """The sums by public suffix, those with the most domains first; at most 200."""
    by_tag: list[TagTotals]
    """The sums by tag, at most 200. A domain with several tags counts for each tag."""
    redacted: list[str]
    """`finance` when your role does not see money, which is then null."""


class RegistrarList(Model):
    """All registrars."""

    items: list[RegistrarReply]
    """An item for each connection, then the others."""
    next_cursor: None
    """Always null: the list has one page."""
    count: int
    """Number of items."""


class RegistrarRun(Model):
    """A run over the registrar connections of a portfolio."""

    run_id: str
    """Identifier of the run."""
    state: str
    """`queued` and `running`: a job executes it. `failed`: every connection failed. Known values: queued, running, completed, failed."""
    dry_run: bool
    """Whether it only reports its effect."""
    created_at: AwareDatetime
    """When it was created."""
    finished_at: AwareDatetime | None
    """When it ended; null before."""
    kind: str
    """`sync` lists domains, `billing` charges; `inventory` is an import. Known values: sync, billing, inventory."""
    providers: list[RunProvider]
    """The result of each connection."""
    changes: list[RunChange]
    """The first 1,000 changed fields; `updated` counts domains."""
    summary: RunSummary
    """The sums over all providers."""
    redacted: list[str]
    """`finance` if amounts are omitted; else empty."""


class RenewalRecorded(Model):
    """A recorded renewal."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    entry: FinanceEntryReply
    """The entry of the ledger."""
    domain: RenewedDomainReply
    """The domain with its new expiry."""
    expiry_advanced_by_days: int
    """Days that the expiry moved by."""
    duplicate_of: str | None
    """Entry of an earlier renewal that is likely the same: same years, within 7 days and 5 % of the amount, or the same order. Both count until you void one."""
    finance: FinanceReply
    """The figures with the renewal."""


class RenewalTotalsReply(Model):
    """Sums of all due renewals, on all pages; each price counts for the decided years."""

    count: int
    """Number of domains."""
    by_currency: list[Money] | None
    """Cost in each currency of the prices."""
    base: Money | None
    """Cost in the base currency, at the rates of today."""
    unconverted: int
    """Domains whose price has no exchange rate, which `base` excludes."""
    by_month: list[RenewalMonth]
    """Cost by month of the expiry."""
    by_decision: list[RenewalsByDecision]
    """Cost by decision."""
    auto_renew_on: int
    """Domains that the registrar renews automatically."""
    auto_renew_off: int
    """Domains that the registrar does not renew automatically."""
    auto_renew_unknown: int
    """Domains whose setting is not known."""
    auto_renew_contradicted: int
    """Domains whose setting is against the decision."""
    unknown_price: int | None
    """Domains without a known price."""


class RenewalsReply(Model):
    """Due and overdue renewals."""

    within_days: int
    """Days ahead of the report."""
    base_currency: str
    """Currency of the sums (ISO 4217)."""
    items: list[RenewalReply]
    """Domains of this page, the earliest expiry first."""
    totals: RenewalTotalsReply
    """Sums of all pages."""
    redacted: list[str]
    """`finance`: your role does not see money, so every price is null."""
    count: int
    """Number of items on this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class BillingEnsured(Model):
    """Age of the data of each connection, and the runs that refresh it."""

    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    providers: list[ConnectionFreshness]
    """Each connection with an API."""
    inventory: InventoryRun | None
    """The sync of domains; null when none is needed."""
    billing: BillingRun | None
    """The sync of charges; null when none is needed."""


class PortfolioExport(Model):
    """All domains of a portfolio: the body of an import."""

    rows: list[PortfolioExportRow]
    """The domains, by name."""
    redacted: list[str] | None = None
    """`finance`: your role does not see money. Absent otherwise."""
