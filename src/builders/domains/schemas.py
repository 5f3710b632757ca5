"""What goes over the wire at domains."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, StrictBool, StringConstraints

from builders.aliases.records import PriceInterval, SeparatorPolicy
from builders.catalog.records import MailMode, PriceTier
from builders.domains import examples
from builders.domains.records import (
    AccountDomain,
    AccountDomainStatus,
    DomainDetails,
    DomainPatch,
    DomainProof,
    DomainSource,
    ProofSeen,
    RecordHealth,
    VerificationResult,
)
from builders.kit.http.bodies import Body, Reply, WriteReply, by_example
from builders.kit.http.fields import Interval, ManifestKey, ManifestName, SeparatorRule, UpdatedAt
from builders.kit.http.merge_patches import PatchBody
from builders.kit.values import emails
from builders.kit.values.texts import checked

Destination = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=254),
    checked(emails.canonical, "email"),
]


class DomainCreate(Body):
    """A domain to be added to the account."""

    model_config = ConfigDict(json_schema_extra=by_example({"domain": "ada.example"}))

    domain: Annotated[str, Field(min_length=1, max_length=1024, description="In either form.")]
    catch_all: Annotated[
        StrictBool, Field(description="All mail goes to the destination; no names can be claimed.")
    ] = False
    default_destination: Annotated[
        Destination | None, Field(description="Where mail goes that says nothing else; required with catch_all.")
    ] = None


class DomainUpdate(PatchBody):
    """A merge patch of a domain (RFC 7396): what is absent stays as it is, null clears. At least one member."""

    model_config = ConfigDict(json_schema_extra=by_example({"default_destination": "ada@example.net"}))

    catch_all: Annotated[StrictBool | None, Field(description="Cleared, it is false.")] = None
    default_destination: Annotated[
        Destination | None, Field(description="Where mail without a destination of its own goes; null removes it.")
    ] = None

    def patch(self) -> DomainPatch:
        """Return the record."""
        return DomainPatch(
            catch_all=self.patch_of("catch_all", bool(self.catch_all)),
            default_destination=self.patch_of("default_destination", self.default_destination),
        )


class DomainProofReply(Reply):
    """How the domain is known to be the account's."""

    method: Annotated[DomainProof, Field(description="`dns`: by the record below; it must stay there.")]
    type: Annotated[Literal["TXT"], Field(description="Type of the DNS record.")] = "TXT"
    name: Annotated[str, Field(description="Where the record is.")]
    value: Annotated[str, Field(description="Content of the TXT record to set.")]
    checked_at: Annotated[datetime | None, Field(description="When DNS last said something of it.")]
    lost_at: Annotated[datetime | None, Field(description="Since when it is gone, of a domain that was live.")]


class DnsFindingReply(Reply):
    """What was found of a record that mail needs."""

    status: Annotated[
        RecordHealth, Field(description="`unchecked`: DNS has not answered yet, or nobody said what it should be.")
    ]
    found: Annotated[list[str], Field(description="The first five values.")]
    next_action: Annotated[str | None, Field(description="Which record to set.")]
    checked_at: Annotated[datetime | None, Field(description="When DNS last answered.")]


class DomainDnsReply(Reply):
    """The records that mail needs."""

    mx: Annotated[DnsFindingReply, Field(description="Where mail for the domain is delivered.")]
    spf: Annotated[DnsFindingReply, Field(description="Which servers may send mail for the domain.")]
    dkim: Annotated[DnsFindingReply, Field(description="The key that signs mail of the domain.")]
    dmarc: Annotated[DnsFindingReply, Field(description="What receivers do with mail that is not authenticated.")]


class DomainRulesReply(Reply):
    """Which names can be claimed."""

    min_length: Annotated[int, Field(serialization_alias="min", description="Fewest characters of a local part.")]
    max_length: Annotated[int, Field(serialization_alias="max", description="Most characters of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, Field(description=SeparatorRule)]


class DomainManagedByReply(Reply):
    """The manifest that manages it."""

    manifest: ManifestName
    key: ManifestKey


class AccountDomainReply(Reply):
    """A domain of the account."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.DOMAIN))

    id: Annotated[UUID, Field(description="Identifier of the account domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    unicode: Annotated[str | None, Field(description="As people read it, where that differs.")]
    source: Annotated[
        DomainSource, Field(description="How the account got the domain; `owned` ones are verified by DNS.")
    ]
    status: Annotated[AccountDomainStatus, Field(description="Names can be claimed while it is `live`.")]
    verification: Annotated[
        DomainProofReply, Field(description="How ownership is proved, and which record to set.")
    ]
    catch_all: Annotated[
        bool, Field(description="All mail goes to `default_destination`; no names can be claimed.")
    ]
    default_destination: Annotated[
        str | None, Field(description="Where mail without a destination of its own goes; null without one.")
    ]
    claimable: Annotated[bool, Field(description="Whether names can be claimed on it; they cost nothing.")]
    rules: Annotated[DomainRulesReply, Field(description="Rules for local parts on this domain.")]
    alias_count: Annotated[int, Field(description="Names of the account on it.")]
    dns: Annotated[DomainDnsReply, Field(description="What DNS says of the records that mail needs.")]
    managed_by: Annotated[
        DomainManagedByReply | None, Field(description="The manifest that manages its settings; null without one.")
    ]
    next_action: Annotated[
        str | None, Field(description="What to do next, in a sentence; null when nothing is to be done.")
    ]
    added_at: Annotated[datetime, Field(description="When it was added to the account.")]
    verified_at: Annotated[datetime | None, Field(description="When ownership was last proved; null before.")]
    suspended_at: Annotated[
        datetime | None, Field(description="When it was suspended because its proof was gone; null otherwise.")
    ]
    released_at: Annotated[
        datetime | None, Field(description="When the account released it; null while it has it.")
    ]
    updated_at: UpdatedAt
    version: Annotated[int, Field(description="Grows with every change but those of `dns`; the ETag is of it.")]
    livemode: Annotated[bool, Field(description="False with a test key.")]


class AccountDomainWritten(AccountDomainReply, WriteReply):
    """A domain of the account after a change; at first it waits for its proof."""

    model_config = ConfigDict(json_schema_extra=by_example({**examples.PENDING, "warnings": []}))


class ProofFindingReply(Reply):
    """What DNS says of the proof right now."""

    status: Annotated[ProofSeen, Field(description="`unknown`: no answer that can be relied on; try again.")]
    found: Annotated[list[str], Field(description="What the TXT records there say, the first five.")]
    missing: Annotated[str | None, Field(description="What has to be there.")]


class AccountDomainVerified(AccountDomainReply):
    """A domain after DNS was asked."""

    model_config = ConfigDict(
        json_schema_extra=by_example(
            {**examples.DOMAIN, "checked": {"status": "found", "found": [examples.TOKEN], "missing": None}}
        )
    )

    checked: Annotated[ProofFindingReply, Field(description="What DNS said just now.")]


class ClaimablePriceReply(Reply):
    """What a name costs."""

    amount: Annotated[str, Field(description="Exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217.")]
    interval: Annotated[PriceInterval, Field(description=Interval)]
    tier: Annotated[PriceTier, Field(description="Price class of the domain.")]


class ClaimableReply(Reply):
    """A domain on which the account can claim names."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CLAIMABLE))

    domain: Annotated[str, Field(description="Lower-case A-label.")]
    unicode: Annotated[str | None, Field(description="As people read it, where that differs.")]
    source: Annotated[
        Literal["account", "catalog"],
        Field(description="`account` for a domain of your own, `catalog` for one of the vendor."),
    ]
    mail_mode: Annotated[MailMode, Field(description="Whether names can be mailboxes, aliases, or both.")]
    categories: Annotated[
        list[str],
        Field(description="Slugs of its categories, the main one first; empty for a domain of your own."),
    ]
    price: Annotated[ClaimablePriceReply | None, Field(description="Of a usual name; null: names cost nothing.")]
    min_local_length: Annotated[int, Field(description="Fewest characters of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, Field(description=SeparatorRule)]
    rules: Annotated[DomainRulesReply, Field(description="Rules for local parts on this domain.")]
    remaining: Annotated[int | None, Field(description="Names that can still be claimed; null: no such limit.")]


def _next_action(domain: AccountDomain) -> str | None:
    if domain.status is AccountDomainStatus.RELEASED:
        return "Add it again: POST /v1/domains."
    if domain.status is AccountDomainStatus.LIVE and domain.lost_at is None:
        return None
    verify = f"POST /v1/domains/{domain.id}/verify"
    if domain.is_sandbox:
        return f"{verify}; in a sandbox DNS is not asked."
    return f'Set a TXT record at {domain.challenge_name} with the value "{domain.challenge_value}", then {verify}.'


def _computed(domain: AccountDomain, alias_count: int) -> dict[str, Any]:
    """Return what every reply has besides the attributes of the record."""
    managed = domain.manifest and {"manifest": domain.manifest, "key": domain.manifest_key}
    return {
        "verification": {
            "method": domain.proof,
            "name": domain.challenge_name,
            "value": domain.challenge_value,
            "checked_at": domain.asked_at,
            "lost_at": domain.lost_at,
        },
        "claimable": domain.is_claimable,
        "alias_count": alias_count,
        "dns": domain.health,
        "managed_by": managed or None,
        "next_action": _next_action(domain),
        "livemode": not domain.is_sandbox,
    }


def domain_reply(listed: DomainDetails) -> AccountDomainReply:
    """The answer to a read."""
    return AccountDomainReply.from_record(listed.domain, **_computed(listed.domain, listed.alias_count))


def written_reply(listed: DomainDetails) -> AccountDomainWritten:
    """The answer to a change, and to adding one."""
    return AccountDomainWritten.from_record(listed.domain, **_computed(listed.domain, listed.alias_count))


def verified_reply(found: VerificationResult) -> AccountDomainVerified:
    """The answer to a question to DNS."""
    seen = found.proof
    missing = None if seen.seen is ProofSeen.FOUND else found.domain.challenge_value
    computed = _computed(found.domain, found.alias_count)
    checked = {"status": seen.seen, "found": seen.found, "missing": missing}
    return AccountDomainVerified.from_record(found.domain, **computed, checked=checked)
