"""Bodies and replies about account domains, and about domains on which an account can claim names."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StrictBool

from builders.aliases.records import PriceInterval, Rules, SeparatorPolicy
from builders.catalog.records import MailMode, PriceTier
from builders.domains.records import AccountDomain, DomainSettings, ProofFinding, ProofSeen
from builders.kit.http.bodies import Body, PatchBody, Reply
from builders.kit.http.members import create_of, patch_of, written_of
from builders.kit.values.docs import Interval, SeparatorRule, doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CurrencyCode, ExactAmount
from builders.kit.values.resources import extended, resource

AccountDomainWritten = written_of(AccountDomain)


@create_of(DomainSettings, catch_all=False, default_destination=None)
class DomainCreate(Body):
    """A domain to add to the account."""

    refuses_similar = True

    domain: Annotated[str, Field(min_length=1, max_length=1024, description="Domain in Unicode or as an A-label.")]


@patch_of(DomainSettings, "default_destination")
class DomainUpdate(PatchBody):
    """A merge patch of a domain (RFC 7396): an absent member keeps its value, null clears. At least one member."""

    refuses_similar = True

    catch_all: Annotated[
        StrictBool | None, AfterValidator(bool), doc("All mail goes to the destination; null is false.")
    ] = None


class ProofFindingReply(Reply):
    """The ownership record in DNS now."""

    status: Annotated[ProofSeen, doc("`unknown`: DNS gave no reliable response; try again.")]
    found: Annotated[list[str], doc("The first five TXT records at the name.")]
    missing: Annotated[str | None, doc("The required record; null when it was found.")]


@resource("AccountDomainVerified")
@dataclass(frozen=True, slots=True, kw_only=True)
class AccountDomainVerified(AccountDomain):
    """A domain after a check of DNS."""

    checked: Annotated[ProofFindingReply, doc("Result of the check.")]


def verified(domain: AccountDomain, proof: ProofFinding) -> AccountDomainVerified:
    """Return the answer to a verification."""
    missing = None if proof.seen is ProofSeen.FOUND else domain.challenge_value
    checked = ProofFindingReply(status=proof.seen, found=list(proof.found), missing=missing)
    return extended(AccountDomainVerified, domain, checked=checked)


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
    rules: Annotated[Rules, doc("Rules for local parts on this domain.")]
    remaining: Annotated[int | None, doc("Number of names that can still be claimed; null: no limit.")]
