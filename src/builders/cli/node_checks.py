"""What `builders doctor` says about the nodes of a database with Citus."""

from collections.abc import Iterator, Sequence

import psycopg

from builders.cli.doctor import Finding
from builders.kit.db import distribution, placement, sessions
from builders.kit.db.distribution import Node, Share
from builders.kit.db.placement import COPIED, NODE
from builders.kit.process.settings import Settings
from builders.kit.values import clock

MAX_PREPARED_S = 60
UNEVEN = 1.5  # the share of the fullest node, compared with equal shares
MIN_COMPARED_BYTES = 2**30  # of all nodes
DISTRIBUTE = "Stop the service, and run `builders distribute`."


def run_checks(settings: Settings) -> list[Finding]:
    """Check tables, shards, prepared transactions and time limits; nothing without Citus or without a database."""
    if settings.session_url is None:
        return []
    try:
        with psycopg.connect(settings.session_url.get_secret_value(), autocommit=True, connect_timeout=5) as conn:
            tables = distribution.read_tables(conn) if distribution.has_citus(conn) else []
            return _check(conn, tables, settings) if any(each.is_placed for each in tables) else []
    except (psycopg.Error, OSError, UnicodeError):  # the finding `database` has it
        return []


def _check(conn: psycopg.Connection, tables: Sequence[distribution.Table], settings: Settings) -> list[Finding]:
    nodes = distribution.read_nodes(conn)
    found = [*_check_tables(tables), *_check_prepared(nodes)]
    if lost := [each.name for each in nodes if each.state is None]:
        action = "Start these servers; requests of the accounts on them are 503 until then."
        detail = f"No response: {', '.join(lost)}."
        return [*found, Finding(check="nodes", ok=False, detail=detail, next_action=action)]
    missing = distribution.list_unlimited(conn, nodes, sessions.parameters_of(settings))
    return [*found, *check_shares(distribution.read_shares(conn)), *_check_limits(missing)]


def _check_tables(tables: Sequence[distribution.Table]) -> Iterator[Finding]:
    missing = [each.name for each in tables if each.is_open]
    places = [placement.place_of(each.name) for each in tables]
    copied, on_coordinator = places.count(COPIED), places.count(NODE)
    detail = (
        f"{len(tables) - copied - on_coordinator - len(missing)} tables are distributed, {copied} are copied to "
        f"each node, {on_coordinator} are on the coordinator."
    )
    if missing:
        detail = f"Not distributed: {', '.join(missing)}."
    yield Finding(check="tables", ok=not missing, detail=detail, next_action=DISTRIBUTE if missing else None)


def check_shares(shares: Sequence[Share]) -> Iterator[Finding]:
    """Check that no node has much more than an equal share."""
    total = sum(each.size for each in shares)
    first = max(shares, key=lambda each: each.size)
    detail = (
        f"{first.name} has {first.size / max(total, 1):.0%} of {total // 2**20} MB, and its largest shard "
        f"{first.largest / max(total, 1):.0%}; {len(shares)} nodes have shards."
    )
    is_uneven = total >= MIN_COMPARED_BYTES and first.size * len(shares) > total * UNEVEN
    action = "Move shards: SELECT citus_rebalance_start();" if is_uneven else None
    yield Finding(check="shards", ok=True, detail=detail, next_action=action)


def _check_prepared(nodes: Sequence[Node]) -> Iterator[Finding]:
    states = [(each.name, each.state) for each in nodes if each.state is not None]
    allowed = ", ".join(f"{name} {state['prepared']}" for name, state in states)
    oldest = clock.now().timestamp() - MAX_PREPARED_S
    old = [name for name, state in states if (state["oldest"] or oldest) < oldest]
    action = None
    if old:
        action = f"On {', '.join(old)} some are older than a minute: SELECT recover_prepared_transactions();"
    if any(state["prepared"] == 0 for _, state in states):
        action = "Set max_prepared_transactions to twice max_connections on each node, and restart it."
    detail = f"max_prepared_transactions: {allowed}."
    yield Finding(check="prepared transactions", ok=action is None, detail=detail, next_action=action)


def _check_limits(missing: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    detail = "Each role has its time limits on each node."
    if missing:
        detail = f"No time limits: {', '.join(f'{role} on {name}' for role, name in missing)}."
    yield Finding(check="time limits", ok=not missing, detail=detail, next_action=DISTRIBUTE if missing else None)
