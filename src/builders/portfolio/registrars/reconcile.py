"""Compare a portfolio with the inventory of its registrars, without writes, and publish new urgent differences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock, domain_names, ids
from builders.portfolio.domains.today import get_today
from builders.portfolio.registrars.events import DRIFT_DETECTED, DriftData, DriftFinding
from builders.portfolio.registrars.findings import (
    EXPIRY_TOLERANCE,
    NEAR_EXPIRY,
    Difference,
    Filters,
    FindingCategory,
    FindingSeverity,
    ListedConnection,
    NotCheckedReason,
    ReconcileFinding,
    ReconcileNotChecked,
    ReconcileReport,
    ReconcileSummary,
)
from builders.portfolio.registrars.providers import Meaning, get_profile, label_of, read_names
from builders.portfolio.registrars.records import DEFAULT_CONNECTION
from builders.portfolio.registrars.store import reconcile as store
from builders.portfolio.registrars.store.rules import PLACES, RULES, Compared
from builders.portfolio.registrars.suggestions import Snapshots

URGENT = Filters(min_severity=FindingSeverity.HIGH)
MAX_KNOWN = 10_000  # findings; the least urgent ones beyond are not published
MAX_NAMED = 20  # findings that an event lists
TRANSFER_PERIOD = timedelta(days=30)  # after a request for the auth code
_OF_DOMAINS = [category for category, rule in RULES.items() if rule.is_of_domains]
_NEED_COMPLETE = [category for category, rule in RULES.items() if rule.needs_complete]
# Characters that IDNA 2003 mapped and IDNA 2008 keeps (UTS 46, section 4): ß, ς and the joiners.
_DEVIATIONS = str.maketrans({"ß": "ss", "ς": "\u03c3", "\u200c": None, "\u200d": None})

# The place of a finding, the most urgent first: rank of its severity, place of its category, domain, connection.
Position = tuple[int, int, str, UUID]
START: Position = (-1, -1, "", ids.NIL)
Counts = Counter[tuple[FindingCategory, FindingSeverity, UUID]]  # ... of a connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a comparison reads first."""

    now: datetime
    snapshots: Snapshots  # all connections
    compared: Sequence[UUID]  # connections whose listing is fresh enough
    shown: Sequence[UUID]  # connections whose findings are wanted
    parameters: Mapping[str, Any]  # of the statement


async def get_reconcile_report(
    conn: Conn, *, account_id: UUID, filters: Filters, page: PageRequest, shows_finance: bool
) -> ReconcileReport:
    """Return a page of the differences, the most urgent first, with the counts of all pages.

    All statements read one state of the database, in a separate read-only transaction.
    """
    severity, place, domain, connection_id = page.position(int, int, str, UUID) or START
    after = (severity, place, domain, connection_id)
    async with conn.transaction():
        await store.begin(conn)
        context = await read_context(conn, account_id=account_id, filters=filters, shows_finance=shows_finance)
        compared, counts, found = await compare(
            conn, context=context, filters=filters, after=after, limit=page.limit + 1
        )
    cut = page.cut(found, lambda each: (*_position(each)[:3], str(each.connection_id)))
    not_checked = [each for each in list_not_checked(context) if each.connection_id in context.shown]
    by_category, by_severity, by_provider = Counter[FindingCategory](), Counter[FindingSeverity](), Counter[str]()
    for (category, severity, each), count in counts.items():
        by_category[category] += count
        by_provider[context.snapshots[each].provider] += count
        if shows_finance or not RULES[category].is_money:
            by_severity[severity] += count
    return ReconcileReport(
        generated_at=context.now,
        summary=ReconcileSummary(
            by_category=dict(by_category),
            by_severity=dict(by_severity),
            by_provider=dict(by_provider),
            compared=compared,
            ok=bool(context.snapshots) and not counts and not not_checked,
        ),
        findings=[_finding(each, context.snapshots, shows_finance=shows_finance) for each in cut.items],
        not_checked=not_checked,
        redacted=[] if shows_finance else ["finance"],
        count=len(cut.items),
        next_cursor=cut.next_cursor,
    )


async def read_context(conn: Conn, *, account_id: UUID, filters: Filters, shows_finance: bool) -> Context:
    """Read the parameters of the comparisons of all categories."""
    today = await get_today(conn, account_id=account_id)
    now = today.now
    snapshots = await store.list_snapshots(conn, account_id=account_id)
    fresh = [each for each in snapshots if each.taken_at is not None and not each.is_stale(now)]
    compared = [each.connection_id for each in fresh]
    registrars = await store.list_registrars(conn, account_id=account_id) if snapshots else ()
    meanings = read_names(registrars, providers=list(dict.fromkeys(each.provider for each in snapshots)))
    of_connections = _list_places(registrars, meanings, snapshots)
    accepted = [(text, each) for text, each in of_connections if each in compared] + [
        (text, each.connection_id)
        for text, meaning in meanings.items()
        for each in (fresh if meaning.accepted else ())
        if each.provider in meaning.accepted
    ]
    named = [(text, each.provider) for text, each in meanings.items() if each.provider is not None]
    forms = await _list_forms(conn, account_id=account_id, connections=compared) if compared else ()
    shown = [each.connection_id for each in snapshots if filters.provider in {None, each.provider}]
    parameters = {
        "account_id": account_id,
        "now": now,
        "connections": compared,
        "shown": shown,
        "connected": [each.connection_id for each in snapshots],
        "connected_to": [each.provider for each in snapshots],
        # Without a reliable listing there is no time.
        "complete_at": [None if each.has_failed or each.is_stale(now) else each.complete_at for each in snapshots],
        **_columns(("registrars", "providers"), named),
        **_columns(("connection_names", "named_connections"), of_connections),
        **_columns(("accepted", "accepted_of"), accepted),
        **_columns(("held_forms", "own_forms"), forms),
        "least": filters.min_severity.rank,
        "shows_finance": shows_finance,
        "tolerance": EXPIRY_TOLERANCE,
        "today": today.day,
        "near": today.in_days(NEAR_EXPIRY),
        "zone": today.zone.key,
    }
    by_id = {each.connection_id: each for each in snapshots}
    return Context(now=now, snapshots=by_id, compared=compared, shown=shown, parameters=parameters)


def _list_places(
    registrars: Sequence[str], meanings: Mapping[str, Meaning], snapshots: Sequence[ListedConnection]
) -> Sequence[tuple[str, UUID]]:
    """Return the names of registrars that mean a connection: its id, its own name, or that beside the registrar's.

    A name that is also a registrar's means the registrar.
    """
    named = dict[str, UUID]()
    for each in snapshots:
        label = label_of(each.provider)
        own = () if each.name == DEFAULT_CONNECTION else (each.name,)
        for text in (str(each.connection_id), f"{label} ({each.name})", *own):
            named.setdefault(text.lower(), each.connection_id)
    return [(text, named[text]) for text in registrars if text in named and meanings[text].provider is None]


def _columns(names: tuple[str, str], rows: Sequence[tuple[Any, Any]]) -> Mapping[str, Any]:
    return {names[0]: [one for one, _ in rows], names[1]: [other for _, other in rows]}


async def _list_forms(conn: Conn, *, account_id: UUID, connections: Sequence[UUID]) -> Sequence[tuple[str, str]]:
    """Return the names that a registrar holds in one form, and the portfolio has in another one."""
    names = await store.list_forms(conn, account_id=account_id, connections=connections)
    pairs = [(name, form) if is_held else (form, name) for is_held, name in names for form in _other_forms(name)]
    if not pairs:
        return ()
    return await store.list_pairs(
        conn,
        account_id=account_id,
        connections=connections,
        held=[held for held, _ in pairs],
        own=[own for _, own in pairs],
    )


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
) -> tuple[int, Counts, Sequence[Difference]]:
    """Return the wanted findings, the most urgent first: counts, and up to `limit` behind a position.

    The first number is that of the domains that were compared.
    """
    if not context.snapshots:
        return 0, Counter(), ()
    wanted = {
        category: rule
        for category, rule in RULES.items()
        if filters.category in {None, category}
        and any(each.rank <= filters.min_severity.rank for each in rule.severities)
    }
    behind = dict(zip(("after_severity", "after_place", "after_domain", "after_connection"), after, strict=True))
    parameters = {**context.parameters, **behind, "places": [PLACES[each] for each in wanted], "limit": limit}
    compared, counts, differences = await store.compare(conn, parameters=parameters)
    about = [
        Difference(
            category=category,
            severity=rule.severities[0],
            connection_id=each,
            registrar_value=since.isoformat(timespec="seconds").replace("+00:00", "Z"),
        )
        for category, rule in wanted.items()
        for each in context.shown
        if not isinstance(rule.found, Compared | str)
        and (since := rule.found(context.snapshots[each], context.now)) is not None
    ]
    counts.update((each.category, each.severity, each.connection_id) for each in about)
    later = [each for each in about if _position(each) > after]
    return compared, counts, sorted([*differences, *later], key=_position)


def list_not_checked(context: Context) -> Sequence[ReconcileNotChecked]:
    """Return the connections of which some categories, or all, could not be compared."""
    return [
        ReconcileNotChecked(
            provider=each.provider,
            connection=each.name,
            connection_id=each.connection_id,
            reason=reason,
            categories=_NEED_COMPLETE if each.connection_id in context.compared else _OF_DOMAINS,
            listed_at=each.taken_at,
            complete_at=each.complete_at,
        )
        for each in context.snapshots.values()
        if (reason := _reason(each, context.now)) is not None
    ]


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


def _position(difference: Difference) -> Position:
    return (
        difference.severity.rank,
        PLACES[difference.category],
        difference.domain or "",
        difference.connection_id,
    )


def _finding(difference: Difference, snapshots: Snapshots, *, shows_finance: bool) -> ReconcileFinding:
    """Return a difference with its message and suggestion.

    Without finance none of them shows money, nor the severity, which would show which amount is higher.
    """
    rule, snapshot = RULES[difference.category], snapshots[difference.connection_id]
    is_hidden = rule.is_money and not shows_finance
    suggestion = rule.suggest(difference, snapshots)
    return ReconcileFinding(
        id=difference.id,
        category=difference.category,
        severity=None if is_hidden else difference.severity,
        domain=difference.domain,
        domain_id=difference.domain_id,
        provider=snapshot.provider,
        connection=snapshot.name,
        connection_id=difference.connection_id,
        portfolio_value=None if is_hidden else difference.portfolio_value,
        registrar_value=None if is_hidden else rule.show(difference, snapshots),
        delta_days=difference.delta_days,
        message=suggestion.message,
        suggested_action=None if is_hidden else suggestion.action,
        manual_step=suggestion.manual_step,
        dashboard_url=get_profile(snapshot.provider).dashboard_url,
    )


async def detect_drift(conn: Conn, *, account_id: UUID) -> None:
    """Publish portfolio.reconcile.drift_detected when findings of severity high or critical are new.

    Findings of a connection that could not be compared this time stay known. Needs a transaction.
    """
    known = await store.lock_drift(conn, account_id=account_id)
    context = await read_context(conn, account_id=account_id, filters=URGENT, shows_finance=True)
    *_, found = await compare(conn, context=context, filters=URGENT, after=START, limit=MAX_KNOWN)
    urgent = found[:MAX_KNOWN]
    before, kept = set(known), known if list_not_checked(context) else ()
    after = list(dict.fromkeys((*(each.id for each in urgent), *kept)))[:MAX_KNOWN]
    if set(after) == before:
        return
    await store.update_drift(conn, account_id=account_id, finding_ids=after)
    new = [each for each in urgent if each.id not in before]
    if not new:
        return
    data = DriftData(
        severity=new[0].severity,
        new=len(new),
        total=len(urgent),
        by_category=dict(Counter(each.category for each in new)),
        findings=[
            DriftFinding(
                id=each.id,
                category=each.category,
                severity=each.severity,
                domain=each.domain or "",
                domain_id=each.domain_id,
                provider=context.snapshots[each.connection_id].provider,
            )
            for each in new[:MAX_NAMED]
        ],
    )
    await outbox.publish(conn, DRIFT_DETECTED, account_id=account_id, data=data)


async def expect_departure(conn: Conn, *, account_id: UUID, domain: str, at: datetime) -> None:
    """Expect the transfer of a domain whose auth code was requested at a time."""
    await store.upsert_departure(
        conn, account_id=account_id, domain=domain, expected_until=at + TRANSFER_PERIOD, now=clock.now()
    )
