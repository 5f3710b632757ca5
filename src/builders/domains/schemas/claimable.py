"""Replies about domains on which an account can claim names."""

from typing import Annotated, Literal

from pydantic import Field

from builders.aliases.records import PriceInterval, SeparatorPolicy
from builders.catalog.records import MailMode, PriceTier
from builders.domains.schemas.domains import DomainRulesReply
from builders.kit.http.bodies import Reply
from builders.kit.http.fields import Interval, SeparatorRule


class ClaimablePriceReply(Reply):
    """The price of a name."""

    amount: Annotated[str, Field(description="Exact decimal digits.")]
    currency: Annotated[str, Field(description="ISO 4217.")]
    interval: Annotated[PriceInterval, Field(description=Interval)]
    tier: Annotated[PriceTier, Field(description="Price class of the domain.")]


class ClaimableReply(Reply):
    """A domain on which the account can claim names."""

    domain: Annotated[str, Field(description="Lower-case A-label.")]
    unicode: Annotated[str | None, Field(description="The domain in Unicode; null if it is the same.")]
    source: Annotated[
        Literal["account", "catalog"],
        Field(description="`account` for a domain of your own, `catalog` for one of the vendor."),
    ]
    mail_mode: Annotated[MailMode, Field(description="Whether names can be mailboxes, aliases, or both.")]
    categories: Annotated[
        list[str],
        Field(description="Slugs of its categories, the main one first; empty for a domain of your own."),
    ]
    price: Annotated[ClaimablePriceReply | None, Field(description="Price of a name; null: free of charge.")]
    min_local_length: Annotated[int, Field(description="Minimum length of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, Field(description=SeparatorRule)]
    rules: Annotated[DomainRulesReply, Field(description="Rules for local parts on this domain.")]
    remaining: Annotated[
        int | None, Field(description="Number of names that can still be claimed; null: no limit.")
    ]
