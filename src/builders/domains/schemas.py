"""Bodies and replies about account domains, and about domains on which an account can claim names."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool

from builders.domains.records import AccountDomain, DomainSettings, ProofFinding, ProofSeen
from builders.kit.http.bodies import Body, PatchBody, Reply
from builders.kit.http.members import create_of, patch_of, written_of
from builders.kit.values.docs import doc
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
