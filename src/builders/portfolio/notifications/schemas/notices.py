"""Request and response models of the list of notices."""

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Body, Reply, WriteReply
from builders.kit.http.fields import CreatedAt
from builders.kit.http.pagination import Page
from builders.kit.values.money import Money
from builders.portfolio.notifications.notices import why_of
from builders.portfolio.notifications.records import Notice, Severity, Suppression

MAX_MARKED = 500
_NONE: list[UUID] = []


class PortfolioNoticeReply(Reply):
    """A notice to you about the portfolio."""

    id: Annotated[UUID, Field(description="Identifier of the notice.")]
    event: Annotated[str, Field(description="Name of the event that the notice is about.")]
    severity: Annotated[Severity, Field(description="Severity of the notice.")]
    title: Annotated[str, Field(description="The notice in a sentence, as of `created_at`.")]
    why: Annotated[str, Field(description="Reason of the notice, and the preference that disables such notices.")]
    domain_id: Annotated[UUID | None, Field(description="The portfolio domain; null for other notices.")]
    domain: Annotated[str | None, Field(description="The domain as an A-label; null for other notices.")]
    threshold_days: Annotated[int | None, Field(description="Threshold of a notice about an expiry; else null.")]
    expires_on: Annotated[date | None, Field(description="The expiry when the notice was made; else null.")]
    auto_renew: Annotated[bool | None, Field(description="Whether the registrar renews it; null when unknown.")]
    month: Annotated[date | None, Field(description="First day of the month of a cost alert; else null.")]
    amount: Annotated[
        Money | None,
        Field(description="Renewal price of the domain, or renewals of the month; null if unknown."),
    ]
    email_at: Annotated[
        datetime | None, Field(description="When its email will be sent; null when none is pending.")
    ]
    held_by: Annotated[
        Suppression | None, Field(description="Why the email is or was delayed; null without a delay.")
    ]
    created_at: CreatedAt
    read_at: Annotated[datetime | None, Field(description="When it was marked as read; null while unread.")]
    acknowledged_at: Annotated[
        datetime | None, Field(description="When it was acknowledged, which ends its repetition; null before.")
    ]
    redacted: Annotated[
        list[Literal["finance"]], Field(description="`finance` when your role does not see `amount`.")
    ]


class NoticesRead(Body):
    """Which notices are marked as read or acknowledged: those in `ids`, and all up to `until`."""

    ids: Annotated[list[UUID], Field(max_length=MAX_MARKED, description="Identifiers of notices.")] = _NONE
    until: Annotated[
        UUID | None, Field(description="This notice and all older ones; the first of the list for all.")
    ] = None


class NoticesReadReply(WriteReply):
    """Result of marking notices as read."""

    marked: Annotated[int, Field(description="Number of notices that were unread before.")]


class NoticesAcknowledgedReply(WriteReply):
    """Result of an acknowledgement."""

    acknowledged: Annotated[int, Field(description="Number of notices that were not acknowledged before.")]


def notice_page(page: Page[Notice], *, shows_finance: bool) -> Page[PortfolioNoticeReply]:
    """Return a page of notices; money is null for a role that does not see it."""
    items = [_notice(each, shows_finance=shows_finance) for each in page.items]
    return Page(items=items, next_cursor=page.next_cursor)


def _notice(notice: Notice, *, shows_finance: bool) -> PortfolioNoticeReply:
    return PortfolioNoticeReply.from_record(
        notice,
        why=why_of(notice),
        amount=notice.money if shows_finance else None,
        redacted=[] if shows_finance else ["finance"],
    )
