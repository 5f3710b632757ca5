"""`builders deliveries`."""

from collections.abc import Sequence
from dataclasses import asdict

import click

from builders.cli.commands import (
    Item,
    Member,
    Output,
    Session,
    account_option,
    limit_option,
    list_items,
    plain,
    reads,
    sandbox_option,
    table,
    writes,
)
from builders.identity.records import Account
from builders.kit.values import ids
from builders.webhooks import deliveries as webhook_deliveries
from builders.webhooks.records import DeliveryFilter, DeliveryStatus, UnhealthyDestination

_HEAD = ("ID", "CREATED", "EVENT", "STATUS", "ATTEMPTS", "LAST")


@click.group()
def deliveries() -> None:
    """Manage webhook deliveries."""


@deliveries.command("list")
@account_option
@sandbox_option
@click.option("--status", type=Member(DeliveryStatus))
@click.option("--webhook", help="Id of the destination.")
@limit_option(10_000)
@reads
async def list_deliveries(
    session: Session,
    account: Account,
    status: DeliveryStatus | None,
    webhook: str | None,
    limit: int,
    *,
    sandbox: bool,
) -> Output:
    """List the deliveries of an account, newest first."""
    filters = DeliveryFilter(destination_id=None if webhook is None else ids.parse(webhook), status=status)
    items = await list_items(
        lambda page: webhook_deliveries.list_deliveries(
            session.conn,
            account_id=account.sandbox_id if sandbox else account.id,
            livemode=not sandbox,
            page=page,
            filters=filters,
        ),
        limit=limit,
    )
    return Output(items, table(_HEAD, map(_cells, items), empty="No deliveries."))


def _cells(item: Item) -> Sequence[object]:
    last = item["last_status"] or item["last_error"] or "-"
    return item["id"], item["created_at"], item["event"], item["status"], item["attempt_count"], last


@deliveries.command("show")
@account_option
@sandbox_option
@click.argument("delivery_id")
@reads
async def show_delivery(session: Session, account: Account, delivery_id: str, *, sandbox: bool) -> Output:
    """Show a delivery with its attempts."""
    found = await webhook_deliveries.get_delivery_detail(
        session.conn, account_id=account.sandbox_id if sandbox else account.id, delivery_id=ids.parse(delivery_id)
    )
    lines = [f"{found.delivery.event} {found.delivery.status}, {found.delivery.attempts} attempts"]
    lines += [
        f"  {each.n}  {each.started_at:%Y-%m-%dT%H:%M:%SZ}  {each.duration_ms} ms  {each.status or each.error}  "
        f"{plain((each.excerpt or '')[:80])}"
        for each in found.attempts
    ]
    return Output(found, "\n".join(lines))


@deliveries.command()
@account_option
@sandbox_option
@click.argument("delivery_id")
@writes
async def retry(session: Session, account: Account, delivery_id: str, *, sandbox: bool) -> Output:
    """Retry a delivery now, by a worker; its schedule continues if that fails."""
    account_id, key = account.sandbox_id if sandbox else account.id, ids.parse(delivery_id)
    await webhook_deliveries.requeue_delivery(session.conn, account_id=account_id, delivery_id=key)
    found = await webhook_deliveries.get_delivery_detail(session.conn, account_id=account_id, delivery_id=key)
    return Output(found.delivery, f"The delivery {found.delivery.id} is due.")


@deliveries.command()
@reads
async def stuck(session: Session) -> Output:
    """Show the backlog of all accounts and the failing receivers."""
    found = await webhook_deliveries.get_backlog(session.conn)
    lines = [
        f"oldest unpublished event: {found.outbox_s} s",
        f"deliveries due: {found.due}, the oldest for {found.overdue_s} s; pending in all: {found.pending}",
        *map(_unhealthy, found.unhealthy),
    ]
    # The JSON output has own names of members, which never change.
    members = asdict(found)
    troubled = [{**each, "open_until": each.pop("paused_until")} for each in members.pop("unhealthy")]
    return Output({**members, "troubled": troubled}, "\n".join(lines))


def _unhealthy(each: UnhealthyDestination) -> str:
    last = each.last_failure_status or each.last_failure_error
    since = "-" if each.failing_since is None else f"{each.failing_since:%Y-%m-%dT%H:%M:%SZ}"
    failed = f"{each.failures} failures since {since}, last {last}"
    return f"{each.id}  {plain(each.url)}  {failed}; {each.pending} pending"
