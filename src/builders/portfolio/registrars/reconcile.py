"""Compare a portfolio with the inventory of its registrars, without writes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock, domain_names
from builders.portfolio.registrars.findings import (
    Count,
    Difference,
    Filters,
    Finding,
    FindingCategory,
    ListedConnection,
    NotChecked,
    NotCheckedReason,
    Report,
)
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.registrar_names import label_of, read_names
from builders.portfolio.registrars.store import reconcile as store
from builders.portfolio.registrars.store.reconcile import Context, Found, Position
from builders.portfolio.registrars.store.rules import PLACES, RULES
from builders.portfolio.registrars.suggestions import Snapshots, list_holders

_OF_DOMAINS = tuple(category for category, rule in RULES.items() if rule.found is not None)
# Characters that IDNA 2003 mapped and IDNA 2008 keeps (UTS 46, section 4): ß, ς and the joiners.
_DEVIATIONS = str.maketrans({"ß": "ss", "ς": "\u03c3", "\u200c": None, "\u200d": None})


async def get_reconcile_report(
    conn: Conn, *, account_id: UUID, filters: Filters, page: PageRequest, shows_finance: bool
) -> Report:
    """Return a page of the differences, the most urgent first, with the counts of all pages.

    All statements read one state of the database, in a separate read-only transaction.
    """
    async with conn.transaction():
        await store.begin(conn)
        context = await read_context(conn, account_id=account_id, filters=filters, shows_finance=shows_finance)
        found = await compare(conn, context=context, filters=filters, after=_position(page), limit=page.limit + 1)
        compared = await store.count_compared(conn, account_id=account_id, connections=context.compared)
    cut = page.cut(found.differences, _cursor_key)
    snapshots = {each.connection_id: each for each in context.snapshots}
    shown = set(context.shown)
    return Report(
        generated_at=context.now,
        findings=[_finding(each, snapshots, shows_finance=shows_finance) for each in cut.items],
        next_cursor=cut.next_cursor,
        counts=[
            replace(each, severity=None) if _is_hidden(each.category, shows_finance=shows_finance) else each
            for each in found.counts
        ],
        snapshots=context.snapshots,
        not_checked=[each for each in list_not_checked(context) if each.snapshot.connection_id in shown],
        compared=compared,
        shows_finance=shows_finance,
    )


async def read_context(conn: Conn, *, account_id: UUID, filters: Filters, shows_finance: bool) -> Context:
    """Read the parameters of the comparisons of all categories."""
    now = clock.now()
    snapshots = await store.list_snapshots(conn, account_id=account_id)
    compared = [each for each in snapshots if each.taken_at is not None and not each.is_stale(now)]
    registrars = await store.list_registrars(conn, account_id=account_id)
    providers = list(dict.fromkeys(each.provider for each in snapshots))
    meanings = read_names(registrars, providers=providers)
    connections = [each.connection_id for each in compared]
    of_provider = defaultdict[str, list[UUID]](list)
    for each in compared:
        of_provider[each.provider].append(each.connection_id)
    return Context(
        account_id=account_id,
        now=now,
        snapshots=snapshots,
        compared=connections,
        shown=[each.connection_id for each in snapshots if filters.provider in {None, each.provider}],
        providers={text: each.provider for text, each in meanings.items() if each.provider is not None},
        accepted=[
            (text, connection_id)
            for text, meaning in meanings.items()
            for provider in meaning.accepted
            for connection_id in of_provider.get(provider, ())
        ],
        forms=await _find_forms(conn, account_id=account_id, connections=connections),
        least=filters.min_severity,
        shows_finance=shows_finance,
    )


async def _find_forms(conn: Conn, *, account_id: UUID, connections: Sequence[UUID]) -> Sequence[tuple[str, str]]:
    """Return the names that a registrar holds in one form, and the portfolio has in another one."""
    held, own = await store.list_forms(conn, account_id=account_id, connections=connections)
    pairs = [(name, form) for name in held for form in _other_forms(name)]
    pairs += [(form, name) for name in own for form in _other_forms(name)]
    if not pairs:
        return ()
    return await store.find_pairs(conn, account_id=account_id, connections=connections, pairs=pairs)


def _other_forms(name: str) -> Sequence[str]:
    """Return other A-labels of a name: its own, if it is none, and that of IDNA 2003."""
    try:
        text = domain_names.unicode_of(name)
    except UnicodeError:
        return ()
    forms = (domain_names.find_a_label(text), domain_names.find_a_label(text.translate(_DEVIATIONS)))
    return [form for form in dict.fromkeys(forms) if form is not None and form != name]


async def compare(conn: Conn, *, context: Context, filters: Filters, after: Position, limit: int) -> Found:
    """Return the wanted findings, the most urgent first: counts, and up to `limit` behind a position."""
    wanted = [
        category
        for category, rule in RULES.items()
        if filters.category in {None, category}
        and any(each.rank <= filters.min_severity.rank for each in rule.severities)
    ]
    found = await store.compare(conn, context=context, categories=wanted, after=after, limit=limit)
    shown = [each for each in context.snapshots if each.connection_id in set(context.shown)]
    about = [each for each in (*_find_stale(shown, context.now), *_find_drops(shown)) if each.category in wanted]
    counts = [
        Count(category=each.category, severity=each.severity, connection_id=each.connection_id, count=1)
        for each in about
    ]
    behind = (after.severity, after.category, after.domain, after.connection_id)
    differences = [*found.differences, *(each for each in about if sort_key(each) > behind)]
    return Found(counts=[*found.counts, *counts], differences=sorted(differences, key=sort_key))


def _find_stale(shown: Sequence[ListedConnection], now: datetime) -> Sequence[Difference]:
    """Return the connections whose last listing is too old; a disabled one cannot have a newer listing."""
    return [
        _about(each, FindingCategory.STALE_SNAPSHOT, at=each.complete_at or each.taken_at)
        for each in shown
        if each.is_stale(now) and each.is_enabled
    ]


def _find_drops(shown: Sequence[ListedConnection]) -> Sequence[Difference]:
    """Return the connections whose last listing is held back."""
    return [
        _about(each, FindingCategory.SUSPICIOUS_DROP, at=each.suspected_drop_at)
        for each in shown
        if each.suspected_drop
    ]


def _about(snapshot: ListedConnection, category: FindingCategory, *, at: datetime | None) -> Difference:
    [severity] = RULES[category].severities
    return Difference(
        category=category,
        severity=severity,
        domain=None,
        domain_id=None,
        connection_id=snapshot.connection_id,
        portfolio_value=None,
        registrar_value=_json_time(at),
        delta_days=None,
        facts={},
    )


def _json_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def list_not_checked(context: Context) -> Sequence[NotChecked]:
    """Return the connections of which some categories, or all, could not be compared."""
    reasons = ((each, _reason(each, context.now)) for each in context.snapshots)
    return [
        NotChecked(
            snapshot=each,
            reason=reason,
            categories=_OF_DOMAINS if each.connection_id not in context.compared else _NEEDS_COMPLETE,
        )
        for each, reason in reasons
        if reason is not None
    ]


_NEEDS_COMPLETE = (FindingCategory.MISSING_AT_REGISTRAR,)


def _reason(snapshot: ListedConnection, now: datetime) -> NotCheckedReason | None:
    if snapshot.is_stale(now) and not snapshot.is_enabled:
        return NotCheckedReason.DISABLED
    if snapshot.has_failed:
        return NotCheckedReason.FAILED
    if snapshot.taken_at is None:
        return NotCheckedReason.NEVER_SYNCED
    if snapshot.is_stale(now):
        return NotCheckedReason.STALE
    return NotCheckedReason.INCOMPLETE if snapshot.complete_at is None else None


def sort_key(each: Difference) -> tuple[int, int, str, UUID]:
    """Return the place in the order of findings: the most urgent first."""
    return (each.severity.rank, PLACES[each.category], each.domain or "", each.connection_id)


def _cursor_key(each: Difference) -> Sequence[str | int | None]:
    severity, place, domain, connection_id = sort_key(each)
    return (severity, place, domain, str(connection_id))


def _position(page: PageRequest) -> Position:
    if page.after is None:
        return Position()
    severity, place, domain, connection_id = page.after
    return Position(
        severity=int(severity or 0),
        category=int(place or 0),
        domain=str(domain),
        connection_id=UUID(str(connection_id)),
    )


def _is_hidden(category: FindingCategory, *, shows_finance: bool) -> bool:
    """Return whether the values are money that the role does not see; the severity would show which is higher."""
    return RULES[category].is_money and not shows_finance


def _finding(difference: Difference, snapshots: Snapshots, *, shows_finance: bool) -> Finding:
    """Return a difference with its message and suggestion; without finance none of them shows money."""
    rule, snapshot = RULES[difference.category], snapshots[difference.connection_id]
    is_hidden = _is_hidden(difference.category, shows_finance=shows_finance)
    message, action = rule.suggest(difference, snapshots)
    return Finding(
        difference=difference,
        portfolio_value=None if is_hidden else difference.portfolio_value,
        registrar_value=None if is_hidden else _registrar_value(difference, snapshots),
        snapshot=snapshot,
        message=message,
        suggested_action=None if is_hidden else action,
        dashboard_url=get_profile(snapshot.provider).dashboard_url,
        severity=None if is_hidden else difference.severity,
    )


def _registrar_value(difference: Difference, snapshots: Snapshots) -> Any:  # JSON
    if difference.category is FindingCategory.DUPLICATE_ACROSS_REGISTRARS:
        return [each.provider for each in list_holders(difference, snapshots)]
    if difference.category is FindingCategory.REGISTRAR_MISMATCH:
        return label_of(snapshots[difference.connection_id].provider)
    return difference.registrar_value
