"""`builders deliveries`."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

import click

from builders.cli.session import (
    account_option,
    json_option,
    plain,
    query,
    run,
    sandbox_option,
    show,
    table,
    transact,
)
from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.http.pagination import MAX_LIMIT, PageRequest
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from builders.webhooks import deliveries as webhook_deliveries
from builders.webhooks.records import Backlog, DeliveryDetail, DeliveryFilter, DeliveryStatus, UnhealthyDestination

Item = dict[str, Any]  # a delivery as GET /v1/notifications/deliveries lists it


@click.group()
def deliveries() -> None:
    """Manage webhook deliveries."""


async def _account(conn: Conn, email: str, *, sandbox: bool) -> UUID:
    account = await accounts.get_account_by_email(conn, email=email)
    return account.sandbox_id if sandbox else account.id


@deliveries.command("list")
@account_option
@sandbox_option
@click.option("--status", type=click.Choice([status.value for status in DeliveryStatus]))
@click.option("--webhook", help="Id of the destination.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@json_option
def list_deliveries(
    email: str, status: str | None, webhook: str | None, limit: int, *, sandbox: bool, as_json: bool
) -> None:
    """List the deliveries of an account, newest first."""

    async def work(database: Database, _: Settings) -> list[Item]:
        items: list[Item] = []
        async with database.connection() as conn:
            account_id = await _account(conn, email, sandbox=sandbox)
            filters = DeliveryFilter(
                destination_id=None if webhook is None else ids.parse(webhook),
                status=None if status is None else DeliveryStatus(status),
            )
            page = PageRequest(limit=min(limit, MAX_LIMIT), seal=lambda key: str(key[0]))
            while len(items) < limit:
                found = await webhook_deliveries.list_deliveries(
                    conn,
                    account_id=account_id,
                    livemode=not sandbox,
                    page=page,
                    filters=filters,
                )
                items += json.loads(found.items)
                if found.next_cursor is None:
                    break
                page = replace(page, after=(found.next_cursor,))
        return items[:limit]

    items = run(work)
    show(items, as_json=as_json, text=table(_HEAD, map(_cells, items), empty="No deliveries."))


@deliveries.command("show")
@account_option
@sandbox_option
@click.argument("delivery_id")
@json_option
def show_delivery(email: str, delivery_id: str, *, sandbox: bool, as_json: bool) -> None:
    """Show a delivery with its attempts."""

    async def work(conn: Conn) -> DeliveryDetail:
        return await webhook_deliveries.get_delivery_detail(
            conn, account_id=await _account(conn, email, sandbox=sandbox), delivery_id=ids.parse(delivery_id)
        )

    found = query(work)
    lines = [f"{found.delivery.event} {found.delivery.status}, {found.delivery.attempts} attempts"]
    lines += [
        f"  {each.n}  {each.started_at:%Y-%m-%dT%H:%M:%SZ}  {each.duration_ms} ms  {each.status or each.error}  "
        f"{plain((each.excerpt or '')[:80])}"
        for each in found.attempts
    ]
    show(found, as_json=as_json, text="\n".join(lines))


@deliveries.command()
@account_option
@sandbox_option
@click.argument("delivery_id")
@json_option
def retry(email: str, delivery_id: str, *, sandbox: bool, as_json: bool) -> None:
    """Retry a delivery now, by a worker; its schedule continues if that fails."""

    async def work(conn: Conn) -> DeliveryDetail:
        account_id = await _account(conn, email, sandbox=sandbox)
        key = ids.parse(delivery_id)
        await webhook_deliveries.requeue_delivery(conn, account_id=account_id, delivery_id=key)
        return await webhook_deliveries.get_delivery_detail(conn, account_id=account_id, delivery_id=key)

    found = transact(work)
    show(found.delivery, as_json=as_json, text=f"The delivery {found.delivery.id} is due.")


@deliveries.command()
@json_option
def stuck(*, as_json: bool) -> None:
    """Show the backlog of all accounts and the failing receivers."""
    found = query(webhook_deliveries.get_backlog)
    lines = [
        f"oldest unpublished event: {found.outbox_s} s",
        f"deliveries due: {found.due}, the oldest for {found.overdue_s} s; pending in all: {found.pending}",
        *map(_unhealthy, found.unhealthy),
    ]
    show(_published(found), as_json=as_json, text="\n".join(lines))


_HEAD = ("ID", "CREATED", "EVENT", "STATUS", "ATTEMPTS", "LAST")


def _cells(item: Item) -> Sequence[object]:
    last = item["last_status"] or item["last_error"] or "-"
    return item["id"], item["created_at"], item["event"], item["status"], item["attempt_count"], last


def _published(backlog: Backlog) -> dict[str, object]:
    """Return the backlog with the member names of the command's JSON output, which never change."""
    members = asdict(backlog)
    unhealthy = [{**each, "open_until": each.pop("paused_until")} for each in members.pop("unhealthy")]
    return {**members, "troubled": unhealthy}


def _unhealthy(each: UnhealthyDestination) -> str:
    last = each.last_failure_status or each.last_failure_error
    since = "-" if each.failing_since is None else f"{each.failing_since:%Y-%m-%dT%H:%M:%SZ}"
    failed = f"{each.failures} failures since {since}, last {last}"
    return f"{each.id}  {plain(each.url)}  {failed}; {each.pending} pending"
