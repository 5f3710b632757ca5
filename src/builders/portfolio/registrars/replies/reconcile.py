"""The reply to a comparison of a portfolio with its registrars."""

from collections import Counter
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from builders.kit.http.bodies import Reply
from builders.portfolio.registrars.findings import (
    Finding,
    FindingCategory,
    FindingSeverity,
    NotChecked,
    NotCheckedReason,
    Report,
    SuggestedAction,
)


class ReconcileAction(Reply):
    """A request that resolves a finding. Send it unchanged, with sufficient rights."""

    method: Annotated[Literal["GET", "POST", "PATCH"], Field(description="HTTP method.")]
    path: Annotated[str, Field(description="Path of this API.")]
    body: Annotated[dict[str, Any] | None, Field(description="JSON body; null for none.")]


class ReconcileFinding(Reply):
    """A difference between the portfolio and a registrar."""

    id: Annotated[UUID, Field(description="Identifier, stable while the difference exists.")]
    category: Annotated[FindingCategory, Field(description="What differs.")]
    severity: Annotated[
        FindingSeverity | None,
        Field(description="Severity of the finding; null for a changed price when your role does not see money."),
    ]
    domain: Annotated[str | None, Field(description="Lower-case A-label; null: it is about the connection.")]
    domain_id: Annotated[UUID | None, Field(description="The portfolio domain; null when there is none.")]
    provider: Annotated[str, Field(description="The registrar.")]
    connection: Annotated[str, Field(description="Name of the connection to it.")]
    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    portfolio_value: Annotated[
        bool | str | list[str] | dict[str, Any] | None,
        Field(description="Value in the portfolio: a time, flag, text or money; null if there is none."),
    ]
    registrar_value: Annotated[
        bool | str | list[str] | dict[str, Any] | None,
        Field(description="Value at the registrar; a list for several registrars."),
    ]
    delta_days: Annotated[
        int | None, Field(description="Days from the portfolio's time to the registrar's; null for other values.")
    ]
    message: Annotated[str, Field(description="The finding in a sentence, for people.")]
    suggested_action: Annotated[
        ReconcileAction | None, Field(description="A request that resolves it; null when no request can.")
    ]
    dashboard_url: Annotated[
        str | None, Field(description="The registrar's website, for what its API does not offer.")
    ]


class ReconcileNotChecked(Reply):
    """A connection that could not be compared in all categories."""

    provider: Annotated[str, Field(description="The registrar.")]
    connection: Annotated[str, Field(description="Name of the connection to it.")]
    connection_id: Annotated[UUID, Field(description="Identifier of the connection.")]
    reason: Annotated[
        NotCheckedReason,
        Field(
            description="`never_synced`; `incomplete`: no listing was complete yet; `stale`: the last is too old "
            "(48 hours or two sync intervals, 35 days for a registrar without an API); `failed`: the last sync; "
            "`disabled`: the connection is, and its listing is old."
        ),
    ]
    categories: Annotated[list[FindingCategory], Field(description="The categories that were not compared.")]
    listed_at: Annotated[datetime | None, Field(description="When the domains were listed last; null: never.")]
    complete_at: Annotated[datetime | None, Field(description="When a listing was last complete; null: never.")]


class ReconcileSummary(Reply):
    """Counts of all pages."""

    by_category: Annotated[dict[FindingCategory, int], Field(description="Findings by category, without zeros.")]
    by_severity: Annotated[
        dict[FindingSeverity, int], Field(description="Findings by severity, without zeros and those without one.")
    ]
    by_provider: Annotated[dict[str, int], Field(description="Findings by registrar, without zeros.")]
    compared: Annotated[int, Field(description="Domains that the portfolio and a registrar both have.")]
    ok: Annotated[
        bool,
        Field(description="Whether registrars are connected, everything was compared, and nothing was found."),
    ]


class ReconcileReport(Reply):
    """The differences between a portfolio and its registrars."""

    generated_at: Annotated[datetime, Field(description="When the report was made.")]
    writes: Annotated[Literal[False], Field(description="Always false: the report changes nothing.")] = False
    summary: Annotated[ReconcileSummary, Field(description="How many findings there are on all pages.")]
    findings: Annotated[list[ReconcileFinding], Field(description="Of this page, the most urgent first.")]
    not_checked: Annotated[list[ReconcileNotChecked], Field(description="What could not be compared, and why.")]
    redacted: Annotated[
        list[Literal["finance"]], Field(description="`finance`: your role does not see money, so it is null.")
    ]
    count: Annotated[int, Field(description="Number of findings on this page.")]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` to get the next page; null on the last page.")
    ]


def report_reply(report: Report) -> ReconcileReport:
    """Return a report."""
    return ReconcileReport(
        generated_at=report.generated_at,
        summary=_summary(report),
        findings=[_finding(each) for each in report.findings],
        not_checked=[_not_checked(each) for each in report.not_checked],
        redacted=[] if report.shows_finance else ["finance"],
        count=len(report.findings),
        next_cursor=report.next_cursor,
    )


def _summary(report: Report) -> ReconcileSummary:
    providers = {each.connection_id: each.provider for each in report.snapshots}
    by_category: Counter[FindingCategory] = Counter()
    by_severity: Counter[FindingSeverity] = Counter()
    by_provider: Counter[str] = Counter()
    for each in report.counts:
        by_category[each.category] += each.count
        if each.severity is not None:
            by_severity[each.severity] += each.count
        by_provider[providers[each.connection_id]] += each.count
    return ReconcileSummary(
        by_category=dict(by_category),
        by_severity=dict(by_severity),
        by_provider=dict(by_provider),
        compared=report.compared,
        ok=bool(report.snapshots) and not report.counts and not report.not_checked,
    )


def _finding(finding: Finding) -> ReconcileFinding:
    found = finding.difference
    return ReconcileFinding(
        id=found.id,
        category=found.category,
        severity=finding.severity,
        domain=found.domain or None,
        domain_id=found.domain_id,
        provider=finding.snapshot.provider,
        connection=finding.snapshot.name,
        connection_id=found.connection_id,
        portfolio_value=finding.portfolio_value,
        registrar_value=finding.registrar_value,
        delta_days=found.delta_days,
        message=finding.message,
        suggested_action=_action(finding.suggested_action),
        dashboard_url=finding.dashboard_url,
    )


def _action(action: SuggestedAction | None) -> ReconcileAction | None:
    return None if action is None else ReconcileAction.from_record(action)


def _not_checked(each: NotChecked) -> ReconcileNotChecked:
    return ReconcileNotChecked(
        provider=each.snapshot.provider,
        connection=each.snapshot.name,
        connection_id=each.snapshot.connection_id,
        reason=each.reason,
        categories=list(each.categories),
        listed_at=each.snapshot.taken_at,
        complete_at=each.snapshot.complete_at,
    )
