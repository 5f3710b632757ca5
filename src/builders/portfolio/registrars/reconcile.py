"""Compare a portfolio with the inventory of its registrars, without writes."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock, domain_names
from builders.portfolio.registrars.findings import (
    OF_CONNECTIONS,
    SEVERITIES,
    Count,
    Difference,
    Filters,
    FindingCategory,
    ListedConnection,
    NotChecked,
    NotCheckedReason,
    Report,
)
from builders.portfolio.registrars.registrar_names import read_names
from builders.portfolio.registrars.store import reconcile as store
from builders.portfolio.registrars.store.reconcile import Context, Found, Position
from builders.portfolio.registrars.suggestions import make_finding

_PLACES = {each: place for place, each in enumerate(FindingCategory)}
_COMPARISONS = tuple(each for each in FindingCategory if each not in OF_CONNECTIONS)
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
    differences = sorted((each for part in found for each in part.differences), key=sort_key)
    cut = page.cut(differences, _cursor_key)
    snapshots = {each.connection_id: each for each in context.snapshots}
    shown = set(context.shown)
    return Report(
        generated_at=context.now,
        findings=[make_finding(each, snapshots=snapshots, shows_finance=shows_finance) for each in cut.items],
        next_cursor=cut.next_cursor,
        counts=[each for part in found for each in part.counts],
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


async def compare(
    conn: Conn, *, context: Context, filters: Filters, after: Position, limit: int
) -> Sequence[Found]:
    """Return the findings of each category that is wanted: counts, and up to `limit` behind a position."""
    found = [
        await store.compare(conn, context=context, category=each, after=after, limit=limit)
        for each in _COMPARISONS
        if filters.wants(each)
    ]
    shown = [each for each in context.snapshots if each.connection_id in set(context.shown)]
    about = [*_find_stale(shown, context.now), *_find_drops(shown)]
    found.append(_page_of([each for each in about if filters.wants(each.category)], after=after))
    return found


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


def _page_of(differences: Sequence[Difference], *, after: Position) -> Found:
    counts = [
        Count(category=each.category, severity=each.severity, connection_id=each.connection_id, count=1)
        for each in differences
    ]
    behind = (after.severity, after.category, after.domain, after.connection_id)
    return Found(counts=counts, differences=[each for each in differences if sort_key(each) > behind])


def _about(snapshot: ListedConnection, category: FindingCategory, *, at: datetime | None) -> Difference:
    [severity] = SEVERITIES[category]
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
            categories=_COMPARISONS if each.connection_id not in context.compared else _NEEDS_COMPLETE,
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
    return (each.severity.rank, _PLACES[each.category], each.domain or "", each.connection_id)


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
