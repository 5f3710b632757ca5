"""`bld webhooks` and `bld trigger`: destinations, deliveries, and events of the sandbox."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from builders_client.cli import output, texts
from builders_client.cli.faults import USAGE, Fault
from builders_client.cli.plans import Yes
from builders_client.cli.state import given, state_of

app = typer.Typer(no_args_is_help=True, help="Manage webhook destinations and their deliveries.")
WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK_ID", help="Id of the destination.")]
DeliveryId = Annotated[str, typer.Argument(metavar="DELIVERY_ID", help="Id of the delivery.")]
Event = Annotated[list[str], typer.Option("--event", help="Name of an event, area.* or *; repeat it for more.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Print at most this many.")]
DESTINATIONS: Mapping[str, output.Column] = {
    "ID": "id",
    "LABEL": "label",
    "STATUS": "status",
    "URL": "url",
    "EVENTS": "events",
    "PENDING": "pending",
}
DELIVERIES: Mapping[str, output.Column] = {
    "ID": "id",
    "EVENT": "event",
    "STATUS": "status",
    "ATTEMPTS": "attempt_count",
    "WEBHOOK": "webhook_id",
    "LAST": "last_attempt_at",
}
_SHOWN = ("id", "label", "url", "status", "events", "disabled_reason", "pending", "signing_secret")


def trigger(
    ctx: typer.Context,
    event: Annotated[str, typer.Argument(help="Name of the event, such as alias.created.")],
    *,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another value of its data; NAME:=JSON."),
    ] = None,
    webhook_id: Annotated[
        str | None, typer.Option("--webhook", help="Only to the sandbox destination with this id.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the requests without sending them.")] = False,
) -> None:
    """Cause an event in the sandbox. Its destinations there receive it."""
    state = state_of(ctx)
    body = {"type": "event", "event": event, "deliver": not dry_run, "overrides": dict(map(_override, set_ or ()))}
    found = state.call("sandbox_simulate", body=body | given(webhook_id=webhook_id))
    if state.is_json:
        output.print_json(state, found)
        return
    output.show(state, found, ("event", "event_id", "delivery_ids"))
    for each in found["matched"]:
        result = "would receive it" if each["would_deliver"] else f"skipped: {each['skip_reason']}"
        typer.echo(texts.plain(f"{each['label']}  {result}"))
    if not found["matched"]:
        texts.note("The sandbox has no destination. Next: bld --test webhooks create --url … --event '*'")


def _override(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator:
        raise Fault(f"--set {text} has no value.", next_action="Write --set NAME=VALUE.", code=USAGE)
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], json.loads(value)
    except ValueError as error:
        raise Fault(f"--set {text}: {error}", next_action="Write JSON after := there.", code=USAGE) from error


@app.command("list")
def list_destinations(ctx: typer.Context, *, limit: Limit = None) -> None:
    """List the destinations."""
    state = state_of(ctx)
    found = state.items("webhooks_list_destinations", limit=limit)
    output.show_list(state, found, DESTINATIONS, empty="There are none. Next: bld webhooks create --help")


@app.command("show")
def show(ctx: typer.Context, webhook_id: WebhookId) -> None:
    """Show a destination."""
    state = state_of(ctx)
    output.show(state, state.call("webhooks_get", path={"webhook_id": webhook_id}), _SHOWN)


@app.command("create")
def create(
    ctx: typer.Context,
    *,
    url: Annotated[str, typer.Option("--url", help="A public http or https address.")],
    event: Event,
    label: Annotated[str, typer.Option("--label", help="Your name for the destination.")] = "main",
    disabled: Annotated[bool, typer.Option("--disabled", help="It receives no events yet.")] = False,
) -> None:
    """Create a destination. Its signing secret is shown once."""
    state = state_of(ctx)
    body = {"label": label, "url": url, "events": event, "enabled": not disabled}
    output.show(state, state.call("webhooks_create", body=body), _SHOWN)


@app.command("set")
def change(
    ctx: typer.Context,
    webhook_id: WebhookId,
    *,
    url: Annotated[str | None, typer.Option("--url", help="A public http or https address.")] = None,
    event: Annotated[
        list[str] | None, typer.Option("--event", help="All events, in place of the present.")
    ] = None,
    label: Annotated[str | None, typer.Option("--label", help="Your name for the destination.")] = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether it receives events.")] = None,
) -> None:
    """Change a destination."""
    state = state_of(ctx)
    body = given(url=url, events=event or None, label=label, enabled=enabled)
    if not body:
        raise Fault("Nothing to change.", next_action="Give --url, --event, --label or --enable.", code=USAGE)
    output.show(state, state.call("webhooks_change", path={"webhook_id": webhook_id}, body=body), _SHOWN)


@app.command("delete")
def delete(ctx: typer.Context, webhook_id: WebhookId, *, yes: Yes = False) -> None:
    """Delete a destination."""
    state = state_of(ctx)
    output.confirm(state, f"Delete the destination {webhook_id}?", yes=yes)
    state.call("webhooks_delete", path={"webhook_id": webhook_id})
    output.show(state, {"id": webhook_id, "status": "deleted"})


@app.command("rotate-secret")
def rotate_secret(ctx: typer.Context, webhook_id: WebhookId) -> None:
    """Give a destination a new signing secret. It is shown once; the old one works for a while."""
    state = state_of(ctx)
    found = state.call("webhooks_rotate_secret", path={"webhook_id": webhook_id}, body={})
    output.show(state, found, ("id", "signing_secret", "old_secret_until"))


@app.command("test")
def send_sample(
    ctx: typer.Context,
    webhook_id: WebhookId,
    *,
    event: Annotated[str | None, typer.Option("--event", help="Name of the event to send.")] = None,
) -> None:
    """Send a sample event to a destination and show its answer."""
    state = state_of(ctx)
    found = state.call("webhooks_send_sample", path={"webhook_id": webhook_id}, query=given(event=event))
    output.show(state, found)


@app.command("replay")
def replay(
    ctx: typer.Context,
    webhook_id: WebhookId,
    *,
    since: Annotated[
        str, typer.Option("--since", help="Only events from this time on, such as 2026-01-05T00:00:00Z.")
    ],
    until: Annotated[str | None, typer.Option("--until", help="Only events before this time.")] = None,
    event: Annotated[list[str] | None, typer.Option("--event", help="Only these events.")] = None,
    status: Annotated[str, typer.Option("--status", help="failed, cancelled or succeeded.")] = "failed",
) -> None:
    """Send deliveries of a period again."""
    state = state_of(ctx)
    body = given(since=since, until=until, events=event or None, status=status)
    count = 0
    while True:
        found = state.call("webhooks_replay", path={"webhook_id": webhook_id}, body=body)
        count += found["count"]
        if not found["more"]:
            break
        body["cursor"] = found["next_cursor"]
    output.show(state, {"webhook_id": webhook_id, "count": count})


@app.command("deliveries")
def list_deliveries(
    ctx: typer.Context,
    *,
    webhook_id: Annotated[str | None, typer.Option("--webhook", help="Only of this destination.")] = None,
    event: Annotated[str | None, typer.Option("--event", help="Only of this event.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="Only with this status.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Only from this time on.")] = None,
    limit: Limit = 50,
) -> None:
    """List deliveries, the newest first."""
    state = state_of(ctx)
    query = given(webhook_id=webhook_id, event=event, status=status, since=since)
    found = state.items("webhooks_list_deliveries", limit=limit, query=query)
    output.show_list(state, found, DELIVERIES, empty="There are none. Next: bld trigger alias.created")


@app.command("delivery")
def show_delivery(ctx: typer.Context, delivery_id: DeliveryId) -> None:
    """Show a delivery with its attempts."""
    state = state_of(ctx)
    output.show(state, state.call("webhooks_get_delivery", path={"id": delivery_id}))


@app.command("retry")
def retry(ctx: typer.Context, delivery_id: DeliveryId) -> None:
    """Send a delivery again."""
    state = state_of(ctx)
    found = state.call("webhooks_retry_delivery", path={"id": delivery_id})
    output.show(state, found, ("id", "event", "status", "next_attempt_at"))


@app.command("events")
def list_events(ctx: typer.Context) -> None:
    """List the events that a destination can receive."""
    state = state_of(ctx)
    found = state.call("webhooks_list_events")["items"]
    output.show_list(state, found, {"EVENT": "name", "WHAT": "description"}, empty="There are none.")
