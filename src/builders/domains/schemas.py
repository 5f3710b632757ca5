"""Bodies and replies about account domains, and about domains on which an account can claim names."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, Field, StrictBool, StringConstraints

from builders.aliases.records import PriceInterval, SeparatorPolicy
from builders.catalog.records import MailMode, PriceTier
from builders.domains.records import (
    AccountDomain,
    AccountDomainStatus,
    DomainProof,
    DomainSettings,
    DomainSource,
    Finding,
    ProofFinding,
    ProofSeen,
)
from builders.kit.http.bodies import Body, PatchBody, Reply, WriteReply
from builders.kit.http.members import reply_members, with_members
from builders.kit.values import texts
from builders.kit.values.docs import Interval, ManifestKey, ManifestName, SeparatorRule, UpdatedAt, doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CurrencyCode, ExactAmount
from builders.kit.values.patches import Changes
from builders.kit.values.texts import checked

Destination = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=254), checked(texts.canonical_email, "email")
]


class DomainCreate(Body):
    """A domain to add to the account."""

    refuses_similar = True

    domain: Annotated[str, Field(min_length=1, max_length=1024, description="Domain in Unicode or as an A-label.")]
    catch_all: Annotated[
        StrictBool, doc("Whether all mail goes to the default destination; if so, names cannot be claimed.")
    ] = False
    default_destination: Annotated[
        Destination | None,
        doc("Default recipient of mail to names without destinations; required with catch_all."),
    ] = None

    def settings(self) -> DomainSettings:
        """Return the record."""
        return DomainSettings(catch_all=self.catch_all, default_destination=self.default_destination)


class DomainUpdate(PatchBody):
    """A merge patch of a domain (RFC 7396): an absent member keeps its value, null clears. At least one member."""

    refuses_similar = True

    catch_all: Annotated[
        StrictBool | None, AfterValidator(bool), doc("All mail goes to the destination; null is false.")
    ] = None
    default_destination: Annotated[
        Destination | None, doc("Default recipient of mail to names without destinations; null removes it.")
    ] = None

    def patch(self) -> Changes[DomainSettings]:
        """Return the record."""
        return Changes(self.sent_members())


class DomainProofReply(Reply):
    """The proof that the account owns the domain."""

    method: Annotated[DomainProof, doc("`dns`: by the DNS record of this proof, which must remain.")]
    type: Annotated[Literal["TXT"], doc("Type of the DNS record.")] = "TXT"
    name: Annotated[str, doc("Name of the DNS record.")]
    value: Annotated[str, doc("Content of the TXT record to set.")]
    checked_at: Annotated[datetime | None, doc("Time of the last DNS response about the record.")]
    lost_at: Annotated[datetime | None, doc("Since when the record of a live domain is missing; null otherwise.")]


@with_members(reply_members(Finding))
class DnsFindingReply(Reply):
    """The result of the last check of a record that mail needs."""


class DomainDnsReply(Reply):
    """The records that mail needs."""

    mx: Annotated[DnsFindingReply, doc("Hosts that receive mail for the domain.")]
    spf: Annotated[DnsFindingReply, doc("The servers that may send mail for the domain.")]
    dkim: Annotated[DnsFindingReply, doc("The key that signs mail of the domain.")]
    dmarc: Annotated[DnsFindingReply, doc("Policy for mail that is not authenticated.")]


class DomainRulesReply(Reply):
    """The bounds of a local part, and the separators that it ignores."""

    min_length: Annotated[int, Field(serialization_alias="min", description="Minimum length of a local part.")]
    max_length: Annotated[int, Field(serialization_alias="max", description="Maximum length of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, doc(SeparatorRule)]


class DomainManagedByReply(Reply):
    """The manifest that manages the domain."""

    manifest: ManifestName
    key: ManifestKey


class AccountDomainReply(Reply):
    """A domain of the account."""

    id: Annotated[UUID, doc("Identifier of the account domain.")]
    domain: DomainName
    unicode: Annotated[str | None, doc("The domain in Unicode; null if it is the same.")]
    source: Annotated[
        DomainSource, doc("How the account obtained the domain; `owned` domains are verified by DNS.")
    ]
    status: Annotated[AccountDomainStatus, doc("Names can be claimed while it is `live`.")]
    verification: Annotated[DomainProofReply, doc("Proof of ownership, and the DNS record to set.")]
    catch_all: Annotated[
        bool, doc("Whether all mail goes to `default_destination`; if so, names cannot be claimed.")
    ]
    default_destination: Annotated[
        str | None, doc("Default recipient of mail to names without destinations; null if there is none.")
    ]
    claimable: Annotated[bool, doc("Whether names can be claimed on it, free of charge.")]
    rules: Annotated[DomainRulesReply, doc("Rules for local parts on this domain.")]
    alias_count: Annotated[int, doc("Number of the account's names on it.")]
    dns: Annotated[DomainDnsReply, doc("Health of the records that mail needs.")]
    managed_by: Annotated[
        DomainManagedByReply | None, doc("The manifest that manages its settings; null without one.")
    ]
    next_action: Annotated[str | None, doc("The next step, as a sentence; null when there is none.")]
    added_at: Annotated[datetime, doc("When it was added to the account.")]
    verified_at: Annotated[datetime | None, doc("When ownership was last proved; null before.")]
    suspended_at: Annotated[
        datetime | None, doc("When it was suspended because of the missing proof; null otherwise.")
    ]
    released_at: Annotated[datetime | None, doc("When the account released it; null before.")]
    updated_at: UpdatedAt
    version: Annotated[int, doc("Increases with every change except changes of `dns`; part of the ETag.")]
    livemode: Annotated[bool, doc("False with a test key.")]

    @classmethod
    def of(cls, domain: AccountDomain, **members: Any) -> Self:  # values of any member
        """Return the reply for a domain; `members` are those that AccountDomainReply does not have."""
        return cls.from_record(
            domain,
            verification={
                "method": domain.proof,
                "name": domain.challenge_name,
                "value": domain.challenge_value,
                "checked_at": domain.asked_at,
                "lost_at": domain.lost_at,
            },
            claimable=domain.is_claimable,
            dns=domain.health,
            managed_by=domain.manifest and {"manifest": domain.manifest, "key": domain.manifest_key},
            next_action=_next_action(domain),
            livemode=not domain.is_sandbox,
            **members,
        )


class AccountDomainWritten(AccountDomainReply, WriteReply):
    """A domain of the account after a change; a new one is pending."""


class ProofFindingReply(Reply):
    """The ownership record in DNS now."""

    status: Annotated[ProofSeen, doc("`unknown`: DNS gave no reliable response; try again.")]
    found: Annotated[list[str], doc("The first five TXT records at the name.")]
    missing: Annotated[str | None, doc("The required record; null when it was found.")]


class AccountDomainVerified(AccountDomainReply):
    """A domain after a check of DNS."""

    checked: Annotated[ProofFindingReply, doc("Result of the check.")]

    @classmethod
    def checked_now(cls, domain: AccountDomain, proof: ProofFinding) -> Self:
        """Return the reply to a verification."""
        missing = None if proof.seen is ProofSeen.FOUND else domain.challenge_value
        return cls.of(domain, checked={"status": proof.seen, "found": proof.found, "missing": missing})


def _next_action(domain: AccountDomain) -> str | None:
    if domain.status is AccountDomainStatus.RELEASED:
        return "Add it again: POST /v1/domains."
    if domain.status is AccountDomainStatus.LIVE and domain.lost_at is None:
        return None
    verify = f"POST /v1/domains/{domain.id}/verify"
    if domain.is_sandbox:
        return f"{verify}; a sandbox needs no DNS record."
    return f'Set a TXT record at {domain.challenge_name} with the value "{domain.challenge_value}", then {verify}.'


class ClaimablePriceReply(Reply):
    """The price of a name."""

    amount: ExactAmount
    currency: Annotated[CurrencyCode, doc("ISO 4217.")]
    interval: Annotated[PriceInterval, doc(Interval)]
    tier: Annotated[PriceTier, doc("Price class of the domain.")]


class ClaimableReply(Reply):
    """A domain on which the account can claim names."""

    domain: DomainName
    unicode: Annotated[str | None, doc("The domain in Unicode; null if it is the same.")]
    source: Annotated[
        Literal["account", "catalog"], doc("`account` for a domain of your own, `catalog` for one of the vendor.")
    ]
    mail_mode: Annotated[MailMode, doc("Whether names can be mailboxes, aliases, or both.")]
    categories: Annotated[
        list[str], doc("Slugs of its categories, the main one first; empty for a domain of your own.")
    ]
    price: Annotated[ClaimablePriceReply | None, doc("Price of a name; null: free of charge.")]
    min_local_length: Annotated[int, doc("Minimum length of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, doc(SeparatorRule)]
    rules: Annotated[DomainRulesReply, doc("Rules for local parts on this domain.")]
    remaining: Annotated[int | None, doc("Number of names that can still be claimed; null: no limit.")]
