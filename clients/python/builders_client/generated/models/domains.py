# Written by script/clients.

from pydantic import AwareDatetime

from builders_client.values import Amount, Model

from .shared import UnknownField


class DnsFindingReply(Model):
    """The result of the last check of a record that mail needs."""

    status: str
    """`unchecked`: DNS has not responded yet, or the expected record is unknown. Known values: ok, missing, wrong, unchecked."""
    found: list[str]
    """The first five values."""
    next_action: str | None
    """The required record."""
    checked_at: AwareDatetime | None
    """Time of the last DNS response."""


class DomainDnsReply(Model):
    """The records that mail needs."""

    mx: DnsFindingReply
    """Hosts that receive mail for the domain."""
    spf: DnsFindingReply
    """The servers that may send mail for the domain."""
    dkim: DnsFindingReply
    """The key that signs mail of the domain."""
    dmarc: DnsFindingReply
    """Policy for mail that is not authenticated."""


class DomainManagedByReply(Model):
    """The manifest that manages the domain."""

    manifest: str
    """`metadata.name` of the manifest that manages it."""
    key: str
    """`key` of the resource in that manifest."""


class DomainProofReply(Model):
    """The proof that the account owns the domain."""

    method: str
    """`dns`: by the DNS record of this proof, which must remain. Known values: dns, operator, sandbox."""
    type: str | None = None
    """Type of the DNS record."""
    name: str
    """Name of the DNS record."""
    value: str
    """Content of the TXT record to set."""
    checked_at: AwareDatetime | None
    """Time of the last DNS response about the record."""
    lost_at: AwareDatetime | None
    """Since when the record of a live domain is missing; null otherwise."""


class DomainRulesReply(Model):
    """The bounds of a local part, and the separators that it ignores."""

    min: int
    """Minimum length of a local part."""
    max: int
    """Maximum length of a local part."""
    separator_policy: str
    """Separators that do not distinguish two names: `ignore_dots` (`ab` is `a.b`), `ignore_all` (`-` and `_` too), or `distinct` (none). Known values: ignore_dots, ignore_all, distinct."""


class ProofFindingReply(Model):
    """The ownership record in DNS now."""

    status: str
    """`unknown`: DNS gave no reliable response; try again. Known values: found, missing, wrong, unknown."""
    found: list[str]
    """The first five TXT records at the name."""
    missing: str | None
    """The required record; null when it was found."""


class AccountDomainReply(Model):
    """A domain of the account."""

    default_destination: str | None
    """Default recipient of mail to names without destinations, required with catch_all; null without one."""
    catch_all: bool
    """Whether all mail goes to `default_destination`; if so, names cannot be claimed."""
    id: str
    """Identifier of the account domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    source: str
    """How the account obtained the domain; `owned` domains are verified by DNS. Known values: owned, leased, consigned, catalog."""
    status: str
    """Names can be claimed while it is `live`. Known values: pending, live, suspended, released."""
    added_at: AwareDatetime
    """When it was added to the account."""
    verified_at: AwareDatetime | None
    """When ownership was last proved; null before."""
    suspended_at: AwareDatetime | None
    """When it was suspended because of the missing proof; null otherwise."""
    released_at: AwareDatetime | None
    """When the account released it; null before."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Increases with every change except changes of `dns`; part of the ETag."""
    rules: DomainRulesReply
    """Rules for local parts on this domain."""
    alias_count: int
    """Number of the account's names on it."""
    unicode: str | None
    """The domain in Unicode; null if it is the same."""
    claimable: bool
    """Whether names can be claimed on it, free of charge."""
    verification: DomainProofReply
    """Proof of ownership, and the DNS record to set."""
    dns: DomainDnsReply
    """Health of the records that mail needs."""
    managed_by: DomainManagedByReply | None
    """The manifest that manages its settings; null without one."""
    next_action: str | None
    """The next step, as a sentence; null when there is none."""
    livemode: bool
    """False with a test key."""


class AccountDomainReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[AccountDomainReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""


class AccountDomainVerified(Model):
    """A domain after a check of DNS."""

    default_destination: str | None
    """Default recipient of mail to names without destinations, required with catch_all; null without one."""
    catch_all: bool
    """Whether all mail goes to `default_destination`; if so, names cannot be claimed."""
    id: str
    """Identifier of the account domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    source: str
    """How the account obtained the domain; `owned` domains are verified by DNS. Known values: owned, leased, consigned, catalog."""
    status: str
    """Names can be claimed while it is `live`. Known values: pending, live, suspended, released."""
    added_at: AwareDatetime
    """When it was added to the account."""
    verified_at: AwareDatetime | None
    """When ownership was last proved; null before."""
    suspended_at: AwareDatetime | None
    """When it was suspended because of the missing proof; null otherwise."""
    released_at: AwareDatetime | None
    """When the account released it; null before."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Increases with every change except changes of `dns`; part of the ETag."""
    rules: DomainRulesReply
    """Rules for local parts on this domain."""
    alias_count: int
    """Number of the account's names on it."""
    checked: ProofFindingReply
    """Result of the check."""
    unicode: str | None
    """The domain in Unicode; null if it is the same."""
    claimable: bool
    """Whether names can be claimed on it, free of charge."""
    verification: DomainProofReply
    """Proof of ownership, and the DNS record to set."""
    dns: DomainDnsReply
    """Health of the records that mail needs."""
    managed_by: DomainManagedByReply | None
    """The manifest that manages its settings; null without one."""
    next_action: str | None
    """The next step, as a sentence; null when there is none."""
    livemode: bool
    """False with a test key."""


class AccountDomainWritten(Model):
    """A domain of the account."""

    default_destination: str | None
    """Default recipient of mail to names without destinations, required with catch_all; null without one."""
    catch_all: bool
    """Whether all mail goes to `default_destination`; if so, names cannot be claimed."""
    id: str
    """Identifier of the account domain."""
    domain: str
    """Domain name, as a lower-case A-label."""
    source: str
    """How the account obtained the domain; `owned` domains are verified by DNS. Known values: owned, leased, consigned, catalog."""
    status: str
    """Names can be claimed while it is `live`. Known values: pending, live, suspended, released."""
    added_at: AwareDatetime
    """When it was added to the account."""
    verified_at: AwareDatetime | None
    """When ownership was last proved; null before."""
    suspended_at: AwareDatetime | None
    """When it was suspended because of the missing proof; null otherwise."""
    released_at: AwareDatetime | None
    """When the account released it; null before."""
    updated_at: AwareDatetime
    """When it last changed."""
    version: int
    """Increases with every change except changes of `dns`; part of the ETag."""
    rules: DomainRulesReply
    """Rules for local parts on this domain."""
    alias_count: int
    """Number of the account's names on it."""
    warnings: list[UnknownField] | None = None
    """Unknown members, which were ignored; amounts sent as numbers."""
    unicode: str | None
    """The domain in Unicode; null if it is the same."""
    claimable: bool
    """Whether names can be claimed on it, free of charge."""
    verification: DomainProofReply
    """Proof of ownership, and the DNS record to set."""
    dns: DomainDnsReply
    """Health of the records that mail needs."""
    managed_by: DomainManagedByReply | None
    """The manifest that manages its settings; null without one."""
    next_action: str | None
    """The next step, as a sentence; null when there is none."""
    livemode: bool
    """False with a test key."""


class ClaimablePriceReply(Model):
    """The price of a name."""

    amount: Amount
    """Exact decimal digits, as text."""
    currency: str
    """ISO 4217."""
    interval: str
    """Period that the amount pays for: a `month`, a `year`, or `once`. Known values: month, year, once."""
    tier: str
    """Price class of the domain. Known values: standard, plus, premium."""


class ClaimableReply(Model):
    """A domain on which the account can claim names."""

    domain: str
    """Domain name, as a lower-case A-label."""
    source: str
    """`account` for a domain of your own, `catalog` for one of the vendor. Known values: account, catalog."""
    mail_mode: str
    """Whether names can be mailboxes, aliases, or both. Known values: mailbox, alias, both."""
    categories: list[str]
    """Slugs of its categories, the main one first; empty for a domain of your own."""
    price: ClaimablePriceReply | None
    """Price of a name; null: free of charge."""
    rules: DomainRulesReply
    """Rules for local parts on this domain."""
    remaining: int | None
    """Number of names that can still be claimed; null: no limit."""
    unicode: str | None
    """The domain in Unicode; null if it is the same."""
    min_local_length: int
    """Minimum length of a local part."""
    separator_policy: str
    """Separators that do not distinguish two names: `ignore_dots` (`ab` is `a.b`), `ignore_all` (`-` and `_` too), or `distinct` (none). Known values: ignore_dots, ignore_all, distinct."""


class ClaimableReplyPage(Model):
    """A page of a list; send `next_cursor` as `cursor` for the next page, null at the end."""

    items: list[ClaimableReply]
    """The items of this page."""
    next_cursor: str | None
    """Send it as `cursor` to get the next page; null on the last page."""
