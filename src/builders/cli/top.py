"""`builders top`: what the processes of this machine do, who causes it, and what waits, in one screen."""

import asyncio
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import exp
from typing import Any
from uuid import UUID

import click
import psycopg

from builders import worker
from builders.cli.address import with_address
from builders.cli.commands import json_option, show, table
from builders.cli.session import connected, fail, read_settings
from builders.identity import accounts
from builders.identity.records import Account
from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import worker_metrics
from builders.kit.process import activity
from builders.kit.process.settings import Settings
from builders.kit.values import clock

INTERVAL_S = 2.0
ROWS = 10
_LANES = "oldest_job_seconds"
MEASURED = worker.JOBS  # their import declares what is measured in the database

Facts = Mapping[str, Any]  # as --json prints them
Processes = Mapping[str, Mapping[str, Any]]  # as activity.read returns them


@click.command("top")
@json_option
@click.option("--once", is_flag=True, help="Print it once, and not every two seconds; the default with --json.")
def top(*, as_json: bool, once: bool) -> None:
    """Show requests, waits, jobs, queues and the busiest accounts of the processes of this data folder.

    Requests and jobs are those of the last minute, or the last 10,000 of a process. An account is busy while
    its requests and jobs run, without what they wait for.
    """
    given = with_address(read_settings())
    if not activity.read(given.data_dir):
        fail(f"No process of the service runs with the data folder {given.data_dir}. Set BUILDERS_DATA_DIR.")
    with connected(given, migrated=False) as settings, suppress(KeyboardInterrupt):
        asyncio.run(_watch(settings, as_json=as_json, once=once or as_json))


async def _watch(settings: Settings, *, as_json: bool, once: bool) -> None:
    async with Database(settings.conninfo, settings) as database:
        before, measured_at = activity.read(settings.data_dir), float("-inf")
        is_measured = False
        while True:
            await asyncio.sleep(INTERVAL_S)
            now = activity.read(settings.data_dir)
            if clock.monotonic() - measured_at > worker_metrics.INTERVAL_S:
                is_measured, measured_at = await _measure(database), clock.monotonic()
            facts = _facts(_Rates(before, now), settings, is_measured=is_measured)
            facts = {**facts, "accounts": await _name(database, facts["accounts"])}
            if not once:
                click.clear()
            show(facts, as_json=as_json, text=_describe(facts))
            if once:
                return
            before = now


async def _measure(database: Database) -> bool:
    """Measure the database; return False if it does not respond."""
    try:
        await worker_metrics.measure_all(database)
    except (DatabaseUnavailable, DatabaseBusy, psycopg.Error):
        return False
    return True


async def _name(database: Database, busiest: Sequence[Facts]) -> Sequence[Facts]:
    """Return the accounts with their addresses, as far as the database responds."""
    owners: Mapping[UUID, Account] = {}
    with suppress(DatabaseUnavailable, DatabaseBusy, psycopg.Error):
        async with database.connection() as conn:
            owners = await accounts.list_owners(conn, account_ids=[UUID(each["id"]) for each in busiest])
    found = [(each, owners.get(UUID(each["id"]))) for each in busiest]
    return [
        {**each, "email": owner and owner.email, "sandbox": owner is not None and str(owner.id) != each["id"]}
        for each, owner in found
    ]


@dataclass(frozen=True, slots=True)
class _Rates:
    """Two readings of the processes: what they counted in between, for each second."""

    before: Processes
    now: Processes

    def total(self, name: str, **labels: str) -> float:
        """Return the growth of a counter with these labels."""
        return sum(self.of_process(each, name, **labels) for each in self.now) / INTERVAL_S

    def of_process(self, process: str, name: str, **labels: str) -> float:
        """Return the growth in one process between the readings."""
        earlier = self.before.get(process, {"samples": ()})
        return _sum(self.now[process]["samples"], name, labels) - _sum(earlier["samples"], name, labels)

    def works(self, what: str) -> list[dict[str, Any]]:
        """Return the works by name or account, for each second, the busiest first."""
        found: dict[str, dict[str, Any]] = {}
        for process in self.now.values():
            for name, each in process[what].items():
                work = found.setdefault(name, {"id": name, "kind": each["kind"], "classes": Counter()})
                for member in ("number", "refused", "failed", "busy_s"):
                    work[member] = work.get(member, 0.0) + each[member] / process["window_s"]
                work["classes"].update({int(key): number for key, number in each["classes"].items()})
        return sorted(found.values(), key=lambda work: (work["busy_s"], work["number"]), reverse=True)


def _sum(samples: Iterable[tuple[str, Mapping[str, str], float]], name: str, labels: Mapping[str, str]) -> float:
    return sum(value for each, own, value in samples if each == name and labels.items() <= own.items())


def _quantile_ms(classes: Mapping[int, int], share: float) -> float | None:
    """Return a quantile of times in classes; None without any."""
    left = share * sum(classes.values())
    for each in sorted(classes):
        left -= classes[each]
        if left <= 0:
            return round(exp((each - 0.5) * activity.GROWTH) * 1000, 1)
    return None


def _rates_of(works: Sequence[Facts]) -> Facts:
    """Return the sum of works, for each second."""
    members = (("all", "number"), ("refused", "refused"), ("failed", "failed"), ("busy_s", "busy_s"))
    return {f"{name}_per_s": round(sum(each[member] for each in works), 3) for name, member in members}


def _shown(works: Sequence[Facts], **more: Any) -> Facts:
    """Return the sum of works, with their quantiles."""
    classes = Counter[int]()
    for each in works:
        classes.update(each["classes"])
    return {
        **more,
        **_rates_of(works),
        "p50_ms": _quantile_ms(classes, 0.5),
        "p95_ms": _quantile_ms(classes, 0.95),
    }


def _facts(rates: _Rates, settings: Settings, *, is_measured: bool) -> Facts:
    names, disk = rates.works("names"), shutil.disk_usage(settings.data_dir)
    works = {kind: [each for each in names if each["kind"] == kind] for kind in ("request", "job")}
    return {
        "at": clock.now().isoformat(timespec="seconds"),
        "processes": {each: {"loop_lag_ms": _lag_ms(rates, each)} for each in rates.now},
        "requests": _shown(works["request"]),
        "jobs": _shown(works["job"]),
        "waits_s_per_s": {
            what: round(rates.total("builders_wait_seconds_sum", what=what), 3)
            for what in ("account", "connection")
        },
        "events_per_s": rates.total("builders_events_total"),
        "deliveries_per_s": {
            "success": rates.total("builders_webhook_attempts_total", result="success"),
            "all": rates.total("builders_webhook_attempts_total"),
        },
        "emails_per_s": {
            "sent": rates.total("builders_mail_attempts_total", result="sent"),
            "all": rates.total("builders_mail_attempts_total"),
        },
        "machine": {"load": os.getloadavg(), "processors": os.cpu_count()},
        "disk": {"bytes": disk.total, "free_bytes": disk.free},
        "database": _database_facts() if is_measured else None,
        "operations": [
            _shown([each], operation=each["id"], kind=each["kind"])
            for kind in ("request", "job")
            for each in works[kind][:ROWS]
        ],
        "accounts": [{"id": each["id"], **_rates_of([each])} for each in rates.works("accounts")[:ROWS]],
    }


def _lag_ms(rates: _Rates, process: str) -> float | None:
    """Return the mean lag of the event loop; None while it does not turn."""
    turns = rates.of_process(process, "builders_loop_lag_seconds_count")
    lag_s = rates.of_process(process, "builders_loop_lag_seconds_sum")
    return round(lag_s / turns * 1000, 1) if turns else None


def _database_facts() -> Facts:
    """Return what this process has measured in the database."""
    gauges: dict[str, dict[str, float]] = {}
    for name, labels, value in activity.list_samples():
        gauges.setdefault(name.removeprefix("builders_"), {})[" ".join(labels.values())] = value
    single = (
        *("database_connections", "database_max_connections", "database_oldest_transaction_seconds"),
        *("database_bytes", "outbox_oldest_seconds", "webhook_due", "webhook_oldest_due_seconds"),
        *("webhook_pending", "mail_waiting", "mail_oldest_waiting_seconds"),
    )
    return {
        **{name: gauges[name][""] for name in single},
        "table_bytes": gauges["table_bytes"],
        "jobs": gauges["jobs"],
        _LANES: gauges[_LANES],
    }


def _describe(facts: Facts) -> str:
    waits, disk, deliveries = facts["waits_s_per_s"], facts["disk"], facts["deliveries_per_s"]
    emails, lags = facts["emails_per_s"], {name: each["loop_lag_ms"] for name, each in facts["processes"].items()}
    load = " ".join(f"{each:.1f}" for each in facts["machine"]["load"])
    turning = (f"{name} {'does not turn' if lag is None else _ms(lag)}" for name, lag in lags.items())
    lines = {
        "requests": _work_line(facts["requests"]),
        "jobs": _work_line(facts["jobs"]),
        "loop lag": ", ".join(turning),
        "waits": f"{waits['account']:.2f} s/s for the account, {waits['connection']:.2f} s/s for a connection",
        "events": _rate(facts["events_per_s"]),
        "deliveries": f"{_rate(deliveries['all'])}, {_rate(deliveries['success'])} with success",
        "emails": f"{_rate(emails['all'])}, {_rate(emails['sent'])} sent",
        "machine": f"load {load}; {facts['machine']['processors']} processors",
        "disk": f"{_size(disk['free_bytes'])} free of {_size(disk['bytes'])}",
        "database": "does not respond",
    }
    found, lanes = facts["database"], ""
    if found is not None:
        lines |= _database_lines(found, lines)
        lanes = _lane_table(found)
    works = [
        (each["operation"], *_cells(each), _ms(each["p50_ms"]), _ms(each["p95_ms"]))
        for each in facts["operations"]
    ]
    busiest = [(each["id"], _address(each), *_cells(each)) for each in facts["accounts"]]
    head = ("PER S", "REFUSED", "FAILED", "BUSY")
    tables = (
        lanes,
        table(("OPERATION OR JOB", *head, "P50", "P95"), works, empty="No requests in the last minute."),
        table(("BUSIEST ACCOUNT", "ADDRESS", *head), busiest, empty="No requests of accounts."),
    )
    return "\n\n".join(("\n".join(f"{name:<12}{text}" for name, text in lines.items()), *filter(None, tables)))


def _database_lines(found: Facts, lines: Mapping[str, str]) -> Mapping[str, str]:
    """Return the lines that say what waits in the database."""

    def oldest(name: str) -> str:
        return f"oldest {found[f'{name}_seconds']:.0f} s"

    used, most = found["database_connections"], found["database_max_connections"]
    return {
        "events": f"{lines['events']}; undelivered: {oldest('outbox_oldest')}",
        "deliveries": f"{lines['deliveries']}; {found['webhook_due']:.0f} due, {oldest('webhook_oldest_due')}",
        "emails": f"{lines['emails']}; {found['mail_waiting']:.0f} wait, {oldest('mail_oldest_waiting')}",
        "database": f"{used:.0f} of {most:.0f} connections, {_size(found['database_bytes'])}",
        "transaction": oldest("database_oldest_transaction"),
        "largest": ", ".join(_largest(found["table_bytes"])),
    }


def _largest(sizes: Mapping[str, float]) -> Sequence[str]:
    """Return the five largest tables with their sizes, the largest first."""
    ordered = sorted(sizes.items(), key=lambda each: each[1], reverse=True)
    return [f"{name} {_size(size)}" for name, size in ordered[:5]]


def _lane_table(found: Facts) -> str:
    states = ("waiting", "planned", "running", "failed")
    rows = [
        (lane, *(f"{found['jobs'][f'{lane} {state}']:.0f}" for state in states), f"{oldest_s:.0f} s")
        for lane, oldest_s in found[_LANES].items()
    ]
    return table(("LANE", "WAITING", "LATER", "RUNNING", "FAILED", "OLDEST"), rows, empty="No jobs.")


def _work_line(found: Facts) -> str:
    all_of, refused, failed = (_rate(found[f"{name}_per_s"]) for name in ("all", "refused", "failed"))
    return f"{all_of}, {refused} refused, {failed} failed; p50 {_ms(found['p50_ms'])}, p95 {_ms(found['p95_ms'])}"


def _address(account: Facts) -> str:
    return f"{account['email'] or '-'}{' (sandbox)' if account['sandbox'] else ''}"


def _rate(per_s: float) -> str:
    """Return a rate; a small one with two decimals."""
    return f"{per_s:.1f}/s" if per_s >= 0.1 else f"{per_s:.2f}/s"  # noqa: PLR2004 - what one decimal shows


def _cells(found: Facts) -> Sequence[str]:
    return [f"{found[f'{name}_per_s']:.3f}" for name in ("all", "refused", "failed", "busy_s")]


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:g} ms"


def _size(value: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:  # noqa: PLR2004 - the next unit
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
