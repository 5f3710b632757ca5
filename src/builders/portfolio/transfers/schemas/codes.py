"""Replies to requests for auth codes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field, StringConstraints

from builders.kit.http.bodies import UnknownField, WriteReply
from builders.kit.values import texts
from builders.portfolio.transfers.records import MAX_REASON, CodeDelivery, CodeOptions, IssuedCode
from builders.portfolio.transfers.schemas.transfers import EligibilityReply, Time, eligibility_reply

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON), texts.Plain]
REASON = "Why the code is requested, for the audit list."
UNLOCK = "Whether you want to unlock the domain: `instructions` explain how."
REGENERATE = "Whether you want a new code: `instructions` explain how to get one."
_NOT_OFFERED = "The service cannot do this by an API; see `instructions`."


class AuthCodeReply(WriteReply):
    """How the auth code of a domain is delivered, and the code itself where the registrar returns it."""

    shown_once: ClassVar[frozenset[str]] = frozenset({"auth_code"})

    domain_id: Annotated[UUID, Field(description="Identifier of the domain.")]
    domain: Annotated[str, Field(description="Lower-case A-label.")]
    provider: Annotated[str, Field(description="The registrar.")]
    delivery: Annotated[CodeDelivery, Field(description="How the registrar delivers the code.")]
    auth_code: Annotated[
        str | None,
        Field(
            description=(
                "The code, which is shown once and never stored. Null when the registrar does not return it, "
                "absent when an Idempotency-Key repeats the response."
            ),
            repr=False,
        ),
    ] = None
    expires_at: Annotated[
        Time, Field(description="End of the validity of the code; null if the registrar does not report it.")
    ]
    sent_to: Annotated[
        str | None,
        Field(description="The masked address that receives the code; null if the registrar does not report it."),
    ]
    dashboard_url: Annotated[
        str | None, Field(description="The registrar's website for the domain; null: not known.")
    ]
    instructions: Annotated[list[str], Field(description="What to do next.")]
    eligibility: Annotated[EligibilityReply, Field(description="Whether the domain may move now.")]
    requested_at: Annotated[datetime, Field(description="When the code was requested.")]
    audit_id: Annotated[UUID, Field(description="The entry in the audit list of the portfolio's account.")]


def auth_code_reply(issued: IssuedCode, options: CodeOptions) -> AuthCodeReply:
    """Return the reply to a request for an auth code."""
    return AuthCodeReply(
        domain_id=issued.domain.id,
        domain=issued.domain.domain,
        provider=issued.provider,
        delivery=issued.delivery,
        auth_code=issued.code,
        expires_at=issued.expires_at,
        sent_to=None,
        dashboard_url=issued.dashboard_url,
        instructions=list(issued.instructions),
        eligibility=eligibility_reply(issued.eligibility),
        requested_at=issued.requested_at,
        audit_id=issued.audit_id,
        warnings=list(_not_done(options)),
    )


def _not_done(options: CodeOptions) -> Iterator[UnknownField]:
    for name, is_set in (("unlock", options.unlock), ("regenerate", options.regenerate)):
        if is_set:
            yield UnknownField(field=name, code="not_done", did_you_mean=None, message=_NOT_OFFERED)
