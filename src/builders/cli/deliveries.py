"""`builders deliveries`."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import click
from pydantic import TypeAdapter

from builders.cli import commands
from builders.identity import accounts
from builders.identity.records import Account
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.values import ids
from builders.webhooks import deliveries as webhook_deliveries
from builders.webhooks.records import Delivery, DeliveryFilter, DeliveryStatus, UnhealthyDestination

_HEAD = ("ID", "CREATED", "EVENT", "STATUS", "ATTEMPTS", "LAST")


@click.group()
def deliveries() -> None:
    """Manage webhook deliveries."""


@deliveries.command("list")
@commands.account_option
@commands.sandbox_option
@click.option("--status", type=commands.Member(DeliveryStatus))
@click.option("--webhook", help="Id of the destination.")
@commands.limit_option(10_000)
@commands.reads
async def list_deliveries(
    session: commands.Session,
    account: Account,
    status: DeliveryStatus | None,
    webhook: str | None,
    limit: int,
    *,
    sandbox: bool,
) -> commands.Output:
    """List the deliveries of an account, newest first."""
    filters = DeliveryFilter(destination_id=None if webhook is None else ids.parse(webhook), status=status)
    items = await commands.list_items(
        lambda page: webhook_deliveries.list_deliveries(
            session.conn,
            account_id=account.sandbox_id if sandbox else account.id,
            livemode=not sandbox,
            page=page,
            filters=filters,
        ),
        limit=limit,
    )
    return commands.Output(items, commands.table(_HEAD, map(_cells, items), empty="No deliveries."))


def _cells(item: commands.Item) -> Sequence[object]:
    last = item["last_status"] or item["last_error"] or "-"
    return item["id"], item["created_at"], item["event"], item["status"], item["attempt_count"], last


@deliveries.command("show")
@commands.account_option
@commands.sandbox_option
@click.argument("delivery_id")
@commands.reads
async def show_delivery(
    session: commands.Session, account: Account, delivery_id: str, *, sandbox: bool
) -> commands.Output:
    """Show a delivery with its attempts."""
    found = await webhook_deliveries.get_delivery_detail(
        session.conn, account_id=account.sandbox_id if sandbox else account.id, delivery_id=ids.parse(delivery_id)
    )
    lines = [f"{found.event} {found.status}, {found.attempt_count} attempts"]
    lines += [
        f"  {each.n}  {each.started_at:%Y-%m-%dT%H:%M:%SZ}  {each.took_ms} ms  {each.status or each.error}  "
        f"{commands.plain((each.response_excerpt or '')[:80])}"
        for each in found.attempts
    ]
    return commands.Output(_shown(found, sandbox=sandbox), "\n".join(lines))


def _shown(found: Delivery, *, sandbox: bool) -> object:
    return TypeAdapter(type(found)).dump_python(replace(found, livemode=not sandbox))


@deliveries.command()
@commands.account_option
@commands.sandbox_option
@click.argument("delivery_id")
@commands.writes
async def retry(
    session: commands.Session, account: Account, delivery_id: str, *, sandbox: bool
) -> commands.Output:
    """Retry a delivery now, by a worker; its schedule continues if that fails."""
    account_id, key = account.sandbox_id if sandbox else account.id, ids.parse(delivery_id)
    await webhook_deliveries.requeue_delivery(session.conn, account_id=account_id, delivery_id=key)
    found = await webhook_deliveries.get_delivery(session.conn, account_id=account_id, delivery_id=key)
    return commands.Output(_shown(found, sandbox=sandbox), f"The delivery {found.id} is due.")


@deliveries.command()
@commands.reads
async def stuck(session: commands.Session) -> commands.Output:
    """Show the backlog of all accounts, its oldest event, and the failing receivers."""
    found = await webhook_deliveries.get_backlog(session.conn)
    oldest = await _event(session, found.oldest_event)
    named = "; {type} {id} of {email} ({account_id}), since {created_at:%Y-%m-%dT%H:%M:%SZ}"
    lines = [
        f"oldest undelivered event: {found.outbox_s} s{named.format(**oldest) if oldest else ''}",
        f"deliveries due: {found.due}, the oldest for {found.overdue_s} s; pending in all: {found.pending}",
        *map(_unhealthy, found.unhealthy),
    ]
    # The JSON output has own names of members, which never change.
    members = {**asdict(found), "oldest_event": oldest}
    troubled = [{**each, "open_until": each.pop("paused_until")} for each in members.pop("unhealthy")]
    return commands.Output({**members, "troubled": troubled}, "\n".join(lines))


async def _event(session: commands.Session, event: PublishedEvent | None) -> commands.Item | None:
    """Return an event with its account, without its data."""
    if event is None:
        return None
    owner = (await accounts.list_owners(session.conn, account_ids=[event.account_id])).get(event.account_id)
    about = {"account_id": event.account_id, "email": owner.email if owner else None}
    return {"id": event.id, "type": event.name, **about, "created_at": event.created_at}


def _unhealthy(each: UnhealthyDestination) -> str:
    last = each.last_failure_status or each.last_failure_error
    since = "-" if each.failing_since is None else f"{each.failing_since:%Y-%m-%dT%H:%M:%SZ}"
    failed = f"{each.failures} failures since {since}, last {last}"
    return f"{each.id}  {commands.plain(each.url)}  {failed}; {each.pending} pending"
