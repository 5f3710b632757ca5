# Written by script/clients.
"""What callers send: portfolio."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from builders_client.values import AmountLike, DateLike, MoneyLike, TimeLike


class AcquisitionUpdate(TypedDict):
    """The acquisition of the domain. It replaces the entry of the acquisition. Unknown members are refused."""

    amount: NotRequired[MoneyLike | AmountLike]
    """The paid amount; required for the first record."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    on: NotRequired[DateLike]
    """Day of the payment; by default the day of acquisition or registration of the domain, else today. After the
    sale: it was bought back. `acquired_on` is accepted too.
    """
    kind: NotRequired[Literal["acquisition", "registration"]]
    """`registration`: you registered the domain; you did not buy it from a holder."""
    venue: NotRequired[str | None]
    """Marketplace or seller; stored as the memo of the entry."""


class BillingEnsure(TypedDict):
    """When data counts as stale. Unknown members that resemble known ones are refused."""

    force: NotRequired[bool]
    """Refresh data that is not stale, too."""
    max_age_hours: NotRequired[int]
    """Hours after which data is stale."""
    providers: NotRequired[Sequence[str] | None]
    """Only these registrars."""


class BillingImport(TypedDict):
    """Charges to import: a `csv` text, or `rows`. Unknown members that resemble known ones are refused."""

    csv: NotRequired[str | None]
    """A CSV file as text. Send other files as the body itself."""
    rows: NotRequired[Sequence[Mapping[str, Any]] | None]
    """Rows as objects; their members are named as the fields, or as the headers of a file."""
    format: NotRequired[
        Literal["auto", "generic", "cloudflare", "dynadot", "gandi", "namecheap", "porkbun", "spaceship"] | str
    ]
    """Format of the table: `auto` recognizes it by the header. Or the name of a saved format."""
    mapping: NotRequired[Mapping[str, str]]
    """The column of a field, by field; for columns that are not recognized."""
    date_order: NotRequired[Literal["auto", "ymd", "mdy", "dmy"]]
    """Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."""
    decimal_mark: NotRequired[Literal["auto", "point", "comma"]]
    """Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides."""
    encoding: NotRequired[str | None]
    """Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."""
    sheet: NotRequired[str | None]
    """Sheet of a workbook; by default the first visible one with cells."""
    delimiter: NotRequired[Literal["auto", "comma", "semicolon", "tab", "bar"]]
    """What parts the cells of a text. `auto`: the rows decide."""
    header_line: NotRequired[int | None]
    """Line of the header, from 1; 0 if there is none. By default it is recognized."""
    dry_run: NotRequired[bool]
    """Whether to report the effect without any change."""
    provider: NotRequired[str | None]
    """The registrar that charged, or `manual:NAME`; by default that of the format."""
    currency: NotRequired[str | None]
    """Currency of amounts without one; by default the portfolio's base currency."""
    apply: NotRequired[bool]
    """Whether to book charges with a certain domain; otherwise they are only matched."""


class BillingSync(TypedDict):
    """Which charges to fetch, and whether to book them. Unknown members that resemble known ones are refused."""

    providers: NotRequired[Sequence[str] | None]
    """Only these registrars."""
    since: NotRequired[DateLike | None]
    """First day of the charges; by default some days before the last sync."""
    until: NotRequired[DateLike | None]
    """Last day of the charges; today by default."""
    apply: NotRequired[bool]
    """Whether to book charges with a certain domain; otherwise they are only matched."""
    dry_run: NotRequired[bool]
    """Report the effect without recording charges."""


class ChannelUpdate(TypedDict):
    """A channel."""

    enabled: NotRequired[bool | None]
    """Whether the channel is used."""


class ChargePartCreate(TypedDict):
    """A part of a charge. Unknown members are refused."""

    domain: str
    """Name or identifier of a portfolio domain; of one part each."""
    amount: MoneyLike
    """Its amount in the currency of the charge; of a refund negative."""


class ChargeUpdate(TypedDict):
    """A member's decision about a charge; absent members do not change. Unknown members are refused."""

    domain: NotRequired[str | None]
    """Name or identifier of the portfolio domain of the charge; null if there is none."""
    ignored: NotRequired[bool]
    """Whether the charge is permanently excluded from the portfolio."""


class CostAlertUpdate(TypedDict):
    """A limit on the renewals of a calendar month."""

    monthly_renewals_above: NotRequired[MoneyLike | None]
    """Notify when the renewals of the current or the next month exceed this amount; null: never."""


class DigestUpdate(TypedDict):
    """One email with the notices of a day, a week or a month."""

    enabled: NotRequired[bool | None]
    """Whether notices wait for a digest."""
    frequency: NotRequired[Literal["daily", "weekly", "monthly"] | None]
    """A monthly digest is sent on the first day of the month."""
    weekday: NotRequired[
        Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] | None
    ]
    """Day of a weekly digest."""
    hour: NotRequired[int | None]
    """Local hour of the digest, 0 to 23."""
    include: NotRequired[
        Sequence[
            Literal[
                "renewals",
                "parking",
                "reconcile",
                "charges",
                "domains",
                "registrars",
                "transfers",
                "imports",
                "team",
            ]
        ]
        | None
    ]
    """Topics whose notices wait for the digest."""


class EntryCreate(TypedDict):
    """An entry to add to the ledger of the domain. Unknown members are refused."""

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
    """Kind of the amount; record a sale with `sale`. `refund`: you got money back. `buyer_refund`, `chargeback`:
    the buyer did, of the price.
    """
    amount: MoneyLike | AmountLike
    """Zero or more; the kind decides the sign."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    occurred_on: NotRequired[DateLike | None]
    """Day; today by default."""
    years: NotRequired[int | None]
    """Years that the amount pays for."""
    registrar: NotRequired[str | None]
    """The registrar that was paid."""
    memo: NotRequired[str | None]
    """Your own text."""
    reference: NotRequired[str | None]
    """Your own reference, such as an invoice number; an entry with the same reference is recorded once."""


class EventUpdate(TypedDict):
    """Whether and how you are notified of an event."""

    enabled: NotRequired[bool | None]
    """Null: the default of the event."""
    channels: NotRequired[Sequence[Literal["email", "webhook", "in_app"]] | None]
    """The channels to use, if they are enabled; null: all."""


class ExpiryUpdate(TypedDict):
    """When notices about expiring domains are due."""

    thresholds: NotRequired[Sequence[int] | None]
    """Days before the expiry, negative after it; the largest number first."""
    include_auto_renew_on: NotRequired[bool | None]
    """Whether to notify about domains that renew automatically."""
    repeat_until_ack: NotRequired[bool | None]
    """Repeat a notice each day, until you acknowledge it, the renewal is decided, or 30 days have passed since the
    expiry.
    """


class InstallmentCreate(TypedDict):
    """A payment of the buyer. Unknown members are refused."""

    amount: MoneyLike | AmountLike
    """The paid amount, in the currency of the price."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    on: DateLike
    """When it is due."""
    received_on: NotRequired[DateLike | None]
    """When you received it; until you send this, it is planned and counts in no figure."""


class InventoryImportCreate(TypedDict):
    """The list of domains of a registrar: exactly one of `csv`, `rows` and `domains`. Unknown members that
    resemble known ones are refused.
    """

    csv: NotRequired[str | None]
    """A CSV file as text. Send other files as the body itself."""
    rows: NotRequired[Sequence[Mapping[str, Any]] | None]
    """Rows as objects; their members are named as the fields, or as the headers of a file."""
    format: NotRequired[
        Literal[
            "auto",
            "generic",
            "afternic-sales",
            "afternic",
            "builders",
            "dan-sales",
            "dan",
            "domainmod",
            "dombot",
            "dynadot",
            "efty",
            "gandi",
            "godaddy",
            "hexonet",
            "namecheap",
            "namecom",
            "netsol",
            "parkio",
            "porkbun",
            "sav",
            "sedo-sales",
            "sedo",
            "spaceship",
            "whmcs",
        ]
        | str
    ]
    """Format of the table: `auto` recognizes it by the header. Or the name of a saved format."""
    mapping: NotRequired[Mapping[str, str]]
    """The column of a field, by field; for columns that are not recognized."""
    date_order: NotRequired[Literal["auto", "ymd", "mdy", "dmy"]]
    """Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."""
    decimal_mark: NotRequired[Literal["auto", "point", "comma"]]
    """Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides."""
    encoding: NotRequired[str | None]
    """Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."""
    sheet: NotRequired[str | None]
    """Sheet of a workbook; by default the first visible one with cells."""
    delimiter: NotRequired[Literal["auto", "comma", "semicolon", "tab", "bar"]]
    """What parts the cells of a text. `auto`: the rows decide."""
    header_line: NotRequired[int | None]
    """Line of the header, from 1; 0 if there is none. By default it is recognized."""
    dry_run: NotRequired[bool]
    """Whether to report the effect without any change."""
    domains: NotRequired[Sequence[str] | None]
    """Names of domains, in either form."""
    provider: NotRequired[str | None]
    """The registrar. One without an API is `manual:NAME`, and needs no connection. Required here, or in the query."""
    connection: NotRequired[str | None]
    """Name of the connection, if the registrar has several."""
    mode: NotRequired[Literal["merge", "replace_snapshot"]]
    """`merge`: domains outside the list do not change. `replace_snapshot`: the list is complete, so domains
    outside it are missing, unless a row is refused or no row has a domain.
    """
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; USD by default."""
    add_to_portfolio: NotRequired[bool]
    """Whether to add domains that the portfolio does not have."""


class NoticesRead(TypedDict):
    """Which notices are marked as read or acknowledged: those in `ids`, and all up to `until`."""

    ids: NotRequired[Sequence[str]]
    """Identifiers of notices."""
    until: NotRequired[str | None]
    """This notice and all older ones; the first of the list for all."""


class QuietHoursUpdate(TypedDict):
    """A part of the day without email."""

    enabled: NotRequired[bool | None]
    """Whether there are quiet hours."""
    start: NotRequired[str | None]
    """Local time, `HH:MM`."""
    end: NotRequired[str | None]
    """Local time, `HH:MM`; of the next day if it is not later."""


class NotificationTest(TypedDict):
    """Which sample to send through every channel."""

    event: NotRequired[str | None]
    """When absent: the first event that each webhook lists."""


class PortfolioOwnRate(TypedDict):
    """An exchange rate of your own. Unknown members are refused."""

    currency: str
    """ISO 4217 code, or the name of a stablecoin such as USDC."""
    since: DateLike
    """It counts from this day until the next one."""
    rate: AmountLike
    """Units of `quote_currency` per unit of `currency`."""
    quote_currency: str
    """A currency that the European Central Bank quotes."""


ParkingPeriod = TypedDict(
    "ParkingPeriod",
    {
        "from": DateLike,
        "to": DateLike,
    },
)


class PortfolioPurchase(TypedDict):
    """The price of the purchase or registration of a new domain, recorded as an entry of the ledger. Unknown
    members are refused.
    """

    amount: MoneyLike | AmountLike
    """The paid amount, without fees that have separate entries."""
    currency: NotRequired[str | None]
    """ISO 4217 code of the amounts that are sent without one."""
    on: NotRequired[DateLike | None]
    """Day; by default `acquired_on` of the domain or today. `acquired_on` is accepted too."""
    kind: NotRequired[Literal["acquisition", "registration"]]
    """`registration`: of a name that was free."""


class PortfolioDomainUpdate(TypedDict):
    """A merge patch of a domain. The name does not change: remove the domain and add the other one."""

    ownership: NotRequired[Literal["owned", "leased", "consigned"]]
    """Legal basis on which you hold the domain; `owned` clears the counterparty and the share."""
    currency: NotRequired[str | None]
    """ISO 4217 code of the amounts that are sent without one."""
    status: NotRequired[
        Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"]
    ]
    """Status of the domain in your portfolio. Only your requests change it; an expiry does not."""
    counterparty: NotRequired[str | None]
    """The lessor or consignor of the domain."""
    revenue_share: NotRequired[AmountLike | None]
    """Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. Record parking and lease
    income as received, and the counterparty's share of it as `other_cost`.
    """
    registrar: NotRequired[str | None]
    """Where the domain is registered; null when unknown."""
    registered_on: NotRequired[DateLike | None]
    """When the domain was first registered; null when unknown."""
    acquired_on: NotRequired[DateLike | None]
    """When you acquired the domain; null when unknown."""
    expires_at: NotRequired[TimeLike | None]
    """When the registration expires; null when unknown."""
    auto_renew: NotRequired[bool | None]
    """Whether the registrar renews the domain; null when unknown."""
    locked: NotRequired[bool | None]
    """Whether transfers are locked; null when unknown."""
    privacy: NotRequired[bool | None]
    """Whether the contacts are hidden; null when unknown."""
    nameservers: NotRequired[Sequence[str] | None]
    """Name servers of the domain; empty when unknown."""
    renewal_price: NotRequired[MoneyLike | AmountLike | None]
    """Price of one more year; null when unknown."""
    asking_price: NotRequired[MoneyLike | AmountLike | None]
    """Price that you ask for the domain."""
    min_offer: NotRequired[MoneyLike | AmountLike | None]
    """Lowest offer that you consider."""
    estimated_value: NotRequired[MoneyLike | AmountLike | None]
    """Your estimate of the value of the domain."""
    tags: NotRequired[Sequence[str] | None]
    """Your tags, in lower case. An array in a request replaces all of them."""
    folder: NotRequired[str | None]
    """Your folder."""
    notes: NotRequired[str | None]
    """Your notes."""
    pinned: NotRequired[bool]
    """Whether you keep the domain independently of its figures."""


class PortfolioExpiryHandover(TypedDict):
    """Domains whose expiries the registries decide from now on."""

    domains: Sequence[str]
    """Domains, each by its id or its name."""


class PortfolioFormatUpdate(TypedDict):
    """How your own sheet is written."""

    kind: NotRequired[Literal["domains", "parking", "charges"]]
    """What the sheet contains: domains, parking revenue, or charges of registrars."""
    mapping: NotRequired[Mapping[str, str]]
    """The column of a field, by field; for columns that are not recognized."""
    date_order: NotRequired[Literal["auto", "ymd", "mdy", "dmy"]]
    """Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."""
    decimal_mark: NotRequired[Literal["auto", "point", "comma"]]
    """Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides."""
    encoding: NotRequired[str | None]
    """Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."""


class PortfolioImportDefaults(TypedDict):
    """Values for rows that do not have them. Unknown members that resemble known ones are refused."""

    registrar: NotRequired[str | None]
    """Registrar of domains without one in the source."""
    ownership: NotRequired[Literal["owned", "leased", "consigned"] | None]
    """Ownership of added domains."""
    tags: NotRequired[Sequence[str]]
    """Tags that are added to each domain."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; USD by default."""


class RegistrarConnect(TypedDict):
    """A connection to a registrar; omitted members do not change. Unknown members that resemble known ones are
    refused.
    """

    credentials: NotRequired[Mapping[str, str | None]]
    """By the names in `credential_fields`. An omitted secret stays; null clears an optional one."""
    label: NotRequired[str | None]
    """Your own text for the connection; null clears it."""
    environment: NotRequired[Literal["live", "sandbox"]]
    """By default `live`; with a test key `sandbox`, if the registrar has one."""
    base_url: NotRequired[str | None]
    """Base URL of requests instead of the registrar's, with a test key only; null clears it. A new base URL
    requires all credentials.
    """
    enabled: NotRequired[bool]
    """False: no request is sent to the registrar."""
    sync_interval_hours: NotRequired[int]
    """Hours between two syncs."""
    verify: NotRequired[bool]
    """Whether to verify the credentials with a request to the registrar before saving them."""
    require_valid: NotRequired[bool]
    """Whether to reject the request with 424 when the registrar does not accept the credentials."""


class RenewalChange(TypedDict):
    """A decision about a renewal, as a merge patch: absent members keep their value, null clears. Unknown members
    are refused.
    """

    decision: NotRequired[Literal["renew", "drop", "undecided"]]
    """The action at the next expiry. A renewal makes the decision obsolete."""
    years: NotRequired[int | None]
    """Years to renew for; null: not decided, counted as one."""
    note: NotRequired[str | None]
    """The team's note about the decision; null removes it."""
    snooze_until: NotRequired[DateLike | None]
    """First day of reminders of this renewal; null: the usual day."""
    auto_renew: NotRequired[bool | None]
    """Auto-renew setting of the domain; null: unknown."""
    renewal_price: NotRequired[MoneyLike | AmountLike | None]
    """Price of one more year of the domain; null: unknown."""
    currency: NotRequired[str | None]
    """ISO 4217 code of a price without one."""


class RenewalCreate(TypedDict):
    """A paid renewal. Only the amount is required. Unknown members that resemble known ones are refused."""

    amount: MoneyLike | AmountLike
    """The paid amount for all years."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    renewed_on: NotRequired[DateLike | None]
    """Day of the payment; today by default."""
    years: NotRequired[int]
    """Number of added years."""
    new_expires_at: NotRequired[TimeLike | None]
    """The new expiry; by default the expiry of the domain plus the years."""
    registrar: NotRequired[str | None]
    """Registrar of the renewal; by default that of the domain."""
    order_ref: NotRequired[str | None]
    """Number of the order or invoice."""
    kind: NotRequired[Literal["renewal", "redemption"]]
    """`redemption`: the domain was restored after its deletion."""
    memo: NotRequired[str | None]
    """Your own text."""


class RenewalItem(TypedDict):
    """A decision about the renewal of a domain. Unknown members are refused."""

    decision: NotRequired[Literal["renew", "drop", "undecided"]]
    """The action at the next expiry. A renewal makes the decision obsolete."""
    years: NotRequired[int | None]
    """Years to renew for; null: not decided, counted as one."""
    note: NotRequired[str | None]
    """The team's note about the decision; null removes it."""
    snooze_until: NotRequired[DateLike | None]
    """First day of reminders of this renewal; null: the usual day."""
    auto_renew: NotRequired[bool | None]
    """Auto-renew setting of the domain; null: unknown."""
    renewal_price: NotRequired[MoneyLike | AmountLike | None]
    """Price of one more year of the domain; null: unknown."""
    currency: NotRequired[str | None]
    """ISO 4217 code of a price without one."""
    domain_id: str
    """A domain of the portfolio: its identifier, or its name in either form."""


class SaleFeeCreate(TypedDict):
    """Costs of the seller besides the commission. Unknown members are refused."""

    kind: NotRequired[Literal["marketplace_fee", "escrow_fee", "tax", "other_cost"]]
    """Kind of the payment."""
    amount: MoneyLike | AmountLike
    """The paid amount."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    on: NotRequired[DateLike | None]
    """Day; by default the day of the sale."""


class SavedViewCreate(TypedDict):
    """A list of domains to open again: its filters and its order."""

    name: str
    """Name of the view, of your choice."""
    query: NotRequired[str]
    """Query of the list, such as `status=owned&sort=-roi`; empty for all domains."""


class TeamAccept(TypedDict):
    """The token of an invitation. Unknown members that resemble known ones are refused."""

    token: str
    """`accept_token`, or that of the email."""


class TeamInviteCreate(TypedDict):
    """An invitation of an email address to the team. Unknown members that resemble known ones are refused."""

    email: str
    """The address to invite; only the account with this verified address can accept."""
    role: NotRequired[Literal["owner", "admin", "manager", "accountant", "viewer"]]
    """The role that the invitation gives, up to your own."""
    message: NotRequired[str | None]
    """Text for the invited person, shown in the email."""
    approve_plans: NotRequired[bool]
    """Whether the member decides about plans of the account; only the account itself gives this."""
    expires_in_hours: NotRequired[int]
    """Hours until the invitation expires."""


class TeamMemberUpdate(TypedDict):
    """A change of a member. Unknown members that resemble known ones are refused."""

    role: NotRequired[Literal["owner", "admin", "manager", "accountant", "viewer"]]
    """The new role, up to your own; cannot be null."""
    note: NotRequired[str | None]
    """Your own text about the member; null removes it."""
    approve_plans: NotRequired[bool]
    """Whether the member decides about plans of the account; only the account itself gives and takes this."""


class ChannelsUpdate(TypedDict):
    """The channels."""

    email: NotRequired[ChannelUpdate | None]
    """Email to the address of your own account."""
    webhook: NotRequired[ChannelUpdate | None]
    """Events to the webhooks of the portfolio's own account, which alone can enable them."""
    in_app: NotRequired[ChannelUpdate | None]
    """The list `GET /v1/portfolio/notifications`."""


class ChargeSplit(TypedDict):
    """The parts of a charge, whose amounts add up to its total. Unknown members are refused."""

    parts: Sequence[ChargePartCreate]
    """The part of each domain."""


class OwnRatesUpdate(TypedDict):
    """All exchange rates of your own. Unknown members are refused."""

    rates: Sequence[PortfolioOwnRate]
    """They replace the others."""


class ParkingRevenueCreate(TypedDict):
    """Revenue to record: one row (`domain` and `amount`), `rows`, or a `csv` text. Unknown members that resemble
    known ones are refused.
    """

    csv: NotRequired[str | None]
    """A CSV file as text. Send other files as the body itself."""
    rows: NotRequired[Sequence[Mapping[str, Any]] | None]
    """Rows as objects; their members are named as the fields, or as the headers of a file."""
    format: NotRequired[
        Literal["auto", "generic", "above.com", "afternic", "bodis", "cashparking", "dan", "parkingcrew", "sedo"]
        | str
    ]
    """Format of the table: `auto` recognizes it by the header. Or the name of a saved format."""
    mapping: NotRequired[Mapping[str, str]]
    """The column of a field, by field; for columns that are not recognized."""
    date_order: NotRequired[Literal["auto", "ymd", "mdy", "dmy"]]
    """Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."""
    decimal_mark: NotRequired[Literal["auto", "point", "comma"]]
    """Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides."""
    encoding: NotRequired[str | None]
    """Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."""
    sheet: NotRequired[str | None]
    """Sheet of a workbook; by default the first visible one with cells."""
    delimiter: NotRequired[Literal["auto", "comma", "semicolon", "tab", "bar"]]
    """What parts the cells of a text. `auto`: the rows decide."""
    header_line: NotRequired[int | None]
    """Line of the header, from 1; 0 if there is none. By default it is recognized."""
    dry_run: NotRequired[bool]
    """Whether to report the effect without any change."""
    domain: NotRequired[str | None]
    """A domain of the portfolio, for one row: its name in either form, or its identifier."""
    amount: NotRequired[MoneyLike | AmountLike | None]
    """Revenue of one row, which replaces recorded revenue of the same day; 0 cancels it."""
    visits: NotRequired[int | None]
    """Visits of one row; null when unknown."""
    clicks: NotRequired[int | None]
    """Clicks of one row; null when unknown."""
    external_ref: NotRequired[str | None]
    """Your own reference of one row, which distinguishes amounts of one day and provider."""
    date: NotRequired[DateLike | None]
    """The day of the revenue, in UTC; or give `period`."""
    period: NotRequired[ParkingPeriod | None]
    """Period of the revenue, which is divided equally among its days."""
    provider: NotRequired[str | None]
    """Provider of rows without one, such as `sedo`; that of the format, or `manual`, by default."""
    currency: NotRequired[str | None]
    """Currency of amounts without one; by default the portfolio's base currency."""


class PortfolioDomainCreate(TypedDict):
    """A domain to add. Only its name is required; `name` is accepted for `domain`."""

    domain: str
    """The registered name, in Unicode or as an A-label."""
    status: NotRequired[
        Literal["owned", "leased", "consigned", "listed", "sold", "dropped", "expired", "transferred_out"] | None
    ]
    """By default that of `ownership`."""
    currency: NotRequired[str | None]
    """ISO 4217 code of the amounts that are sent without one."""
    purchase: NotRequired[PortfolioPurchase | None]
    """The price of the purchase or registration."""
    ownership: NotRequired[Literal["owned", "leased", "consigned"]]
    """`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty."""
    counterparty: NotRequired[str | None]
    """The lessor or consignor of the domain."""
    revenue_share: NotRequired[AmountLike | None]
    """Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. Record parking and lease
    income as received, and the counterparty's share of it as `other_cost`.
    """
    registrar: NotRequired[str | None]
    """Where the domain is registered; null when unknown."""
    registered_on: NotRequired[DateLike | None]
    """When the domain was first registered; null when unknown."""
    acquired_on: NotRequired[DateLike | None]
    """When you acquired the domain; null when unknown."""
    expires_at: NotRequired[TimeLike | None]
    """When the registration expires; null when unknown."""
    auto_renew: NotRequired[bool | None]
    """Whether the registrar renews the domain; null when unknown."""
    locked: NotRequired[bool | None]
    """Whether transfers are locked; null when unknown."""
    privacy: NotRequired[bool | None]
    """Whether the contacts are hidden; null when unknown."""
    nameservers: NotRequired[Sequence[str]]
    """Name servers of the domain; empty when unknown."""
    renewal_price: NotRequired[MoneyLike | AmountLike | None]
    """Price of one more year; null when unknown."""
    asking_price: NotRequired[MoneyLike | AmountLike | None]
    """Price that you ask for the domain."""
    min_offer: NotRequired[MoneyLike | AmountLike | None]
    """Lowest offer that you consider."""
    estimated_value: NotRequired[MoneyLike | AmountLike | None]
    """Your estimate of the value of the domain."""
    tags: NotRequired[Sequence[str]]
    """Your tags, in lower case. An array in a request replaces all of them."""
    folder: NotRequired[str | None]
    """Your folder."""
    notes: NotRequired[str | None]
    """Your notes."""
    pinned: NotRequired[bool]
    """Whether you keep the domain independently of its figures."""


class PortfolioEdit(TypedDict):
    """The same change of many domains. Unknown members that resemble known ones are refused."""

    domains: Sequence[str]
    """Domains, each by its id or its name."""
    set: NotRequired[PortfolioDomainUpdate | None]
    """A merge patch of each domain."""
    add_tags: NotRequired[Sequence[str]]
    """Tags to add."""
    remove_tags: NotRequired[Sequence[str]]
    """Tags to remove, unless `add_tags` contains them."""
    dry_run: NotRequired[bool]
    """Report the effect without any change."""
    digest: NotRequired[str | None]
    """`digest` of a dry run: the request changes nothing unless it has the same effect."""


class PortfolioImportCreate(TypedDict):
    """What to import: exactly one of `csv`, `rows`, `domains` and `text`. Unknown members that resemble known ones
    are refused.
    """

    csv: NotRequired[str | None]
    """A CSV file as text. Send other files as the body itself."""
    rows: NotRequired[Sequence[Mapping[str, Any]] | None]
    """Rows as objects; their members are named as the fields, or as the headers of a file."""
    format: NotRequired[
        Literal[
            "auto",
            "generic",
            "afternic-sales",
            "afternic",
            "builders",
            "dan-sales",
            "dan",
            "domainmod",
            "dombot",
            "dynadot",
            "efty",
            "gandi",
            "godaddy",
            "hexonet",
            "namecheap",
            "namecom",
            "netsol",
            "parkio",
            "porkbun",
            "sav",
            "sedo-sales",
            "sedo",
            "spaceship",
            "whmcs",
        ]
        | str
    ]
    """Format of the table: `auto` recognizes it by the header. Or the name of a saved format."""
    mapping: NotRequired[Mapping[str, str]]
    """The column of a field, by field; for columns that are not recognized."""
    date_order: NotRequired[Literal["auto", "ymd", "mdy", "dmy"]]
    """Order of day and month in numeric dates. `auto`: a date with a number above 12 decides, else `mdy`."""
    decimal_mark: NotRequired[Literal["auto", "point", "comma"]]
    """Decimal mark of numbers. `auto`: a number such as 12.50 or 1.499,00 decides."""
    encoding: NotRequired[str | None]
    """Encoding of the file, such as `cp1251`. By default its bytes show it, or `detected` has a warning."""
    sheet: NotRequired[str | None]
    """Sheet of a workbook; by default the first visible one with cells."""
    delimiter: NotRequired[Literal["auto", "comma", "semicolon", "tab", "bar"]]
    """What parts the cells of a text. `auto`: the rows decide."""
    header_line: NotRequired[int | None]
    """Line of the header, from 1; 0 if there is none. By default it is recognized."""
    dry_run: NotRequired[bool]
    """Whether to report the effect without any change."""
    domains: NotRequired[Sequence[str] | None]
    """Names of domains, in either form."""
    text: NotRequired[str | None]
    """A text with names of domains, separated by white space, commas or semicolons."""
    defaults: NotRequired[PortfolioImportDefaults | None]
    """Values for rows that do not have them."""
    on_conflict: NotRequired[Literal["merge", "skip", "overwrite"]]
    """Effect of a row on an existing domain. `merge`: a value replaces the present one, a blank cell keeps it,
    tags are added. `overwrite`: a blank cell clears the value. `skip`: the domain stays as it is.
    """


class RenewalsBulkUpdate(TypedDict):
    """Decisions for many domains: `items`, or `domains` with one decision in `set`. Unknown members that resemble
    known ones are refused.
    """

    items: NotRequired[Sequence[RenewalItem] | None]
    """Decisions; an invalid decision does not affect the others."""
    domains: NotRequired[Sequence[str] | None]
    """Domains of the portfolio, by name or identifier; give `set`, too."""
    set: NotRequired[RenewalChange | None]
    """The decision for all `domains`."""
    push_to_registrar: NotRequired[bool]
    """Whether to switch auto-renew at the registrars: to `auto_renew`, otherwise on for `renew` and off for
    `drop`. The decisions are recorded even if a registrar fails.
    """
    dry_run: NotRequired[bool]
    """Report the effect without any change."""
    digest: NotRequired[str | None]
    """`digest` of a dry run: the request changes nothing unless it has the same effect."""


class SaleUpdate(TypedDict):
    """The sale of the domain. An absent member keeps its value; an array replaces the stored array. Unknown
    members are refused.
    """

    id: NotRequired[str | None]
    """Identifier of an earlier sale; by default the present one."""
    gross: NotRequired[MoneyLike | AmountLike]
    """The price before all costs; required for the first record."""
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    sold_on: NotRequired[DateLike]
    """Day of the sale; by default today."""
    commission: NotRequired[MoneyLike | AmountLike | None]
    """A fixed commission, paid on the day of the sale."""
    commission_rate: NotRequired[AmountLike | None]
    """Part of the price that is the commission, such as 0.15; of each payment."""
    fees: NotRequired[Sequence[SaleFeeCreate] | None]
    """Your costs besides the commission."""
    venue: NotRequired[str | None]
    """The marketplace of the sale."""
    buyer_ref: NotRequired[str | None]
    """Your own reference to the buyer."""
    installments: NotRequired[Sequence[InstallmentCreate] | None]
    """Instalments. The remainder is paid on the day of the sale. `instalments` is accepted too."""


class SavedViewsUpdate(TypedDict):
    """What to save of your views; absent members do not change, and a list replaces the whole one."""

    columns: NotRequired[
        Sequence[
            Literal[
                "status",
                "lifecycle",
                "ownership",
                "registrar",
                "folder",
                "tags",
                "tld",
                "expires_at",
                "days_to_expiry",
                "auto_renew",
                "locked",
                "privacy",
                "registered_on",
                "acquired_on",
                "renewal_price",
                "renewal_price_base",
                "estimated_value",
                "asking_price",
                "min_offer",
                "cost",
                "income",
                "net",
                "roi",
                "pinned",
                "notes",
                "created_at",
                "updated_at",
            ]
        ]
        | None
    ]
    """Columns of the list of domains, in their order; none for the usual ones."""
    views: NotRequired[Sequence[SavedViewCreate] | None]
    """Views by name, in your order; at most 50."""


class NotificationPreferencesUpdate(TypedDict):
    """A merge patch of your preferences: objects merge, arrays replace, null resets to the default."""

    enabled: NotRequired[bool | None]
    """Whether you are notified at all."""
    timezone: NotRequired[str | None]
    """IANA name; by default that of your profile, else UTC."""
    events: NotRequired[Mapping[str, EventUpdate | None] | None]
    """By name of the event."""
    channels: NotRequired[ChannelsUpdate | None]
    """The channels of notices."""
    expiry: NotRequired[ExpiryUpdate | None]
    """Thresholds of the notices about expiring domains."""
    quiet_hours: NotRequired[QuietHoursUpdate | None]
    """A part of the day without email, except critical notices. It does not affect webhooks and the list in the
    application.
    """
    digest: NotRequired[DigestUpdate | None]
    """One email with the notices of a day, a week or a month, by topic; critical ones are sent at once. Parking
    revenue, recorded renewals and matched charges are notified of too, unless `events` turns them off.
    """
    muted_domains: NotRequired[Sequence[str] | None]
    """Domains whose expiry has no notices, and whose events have only critical ones; A-labels."""
    muted_tags: NotRequired[Sequence[str] | None]
    """Tags whose domains are muted in the same way, in lower case."""
    cost_alert: NotRequired[CostAlertUpdate | None]
    """Alert when the renewals of a month cost more than a limit."""


class FinanceUpdate(TypedDict):
    """A merge patch of the finance of a domain; null clears a member. Unknown members that resemble known ones are
    refused.
    """

    acquisition: NotRequired[AcquisitionUpdate | None]
    """How the domain was acquired; null voids the entry."""
    sale: NotRequired[SaleUpdate | None]
    """The sale; the domain gets the status `sold`, on the day of the sale if that is in the future. null voids it
    and restores the status.
    """
    currency: NotRequired[str | None]
    """ISO 4217 code of amounts without a currency; by default the base currency."""
    entries_add: NotRequired[Sequence[EntryCreate] | None]
    """Entries to record."""
    entries_void: NotRequired[Sequence[str] | None]
    """Entries to void. The entry of the price of a sale voids the sale."""
    base_currency: NotRequired[str]
    """Base currency of the whole portfolio: every entry is converted again."""
    renewal_price: NotRequired[MoneyLike | AmountLike | None]
    """Price of one more year; null when unknown."""
    asking_price: NotRequired[MoneyLike | AmountLike | None]
    """Price that you ask for the domain."""
    estimated_value: NotRequired[MoneyLike | AmountLike | None]
    """Your estimate of the value of the domain."""
    notes: NotRequired[str | None]
    """Your notes."""
    pinned: NotRequired[bool]
    """Whether you keep the domain independently of its figures."""
