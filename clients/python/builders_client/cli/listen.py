"""`bld listen`: pass each event on to a local receiver or a command; none is missed."""

import base64
import json
import os
import secrets
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from builders_client.cli import feed, output, passing, profiles, texts
from builders_client.cli.faults import FAILED, USAGE, Fault
from builders_client.cli.passing import Event
from builders_client.cli.state import State, state_of
from builders_client.cursor import CursorFile

FIRST_PAUSE_S, LONGEST_PAUSE_S, ANSWER_S = 0.5, 30.0, 30.0
_ACCEPTED = range(200, 300)
# Return why an event was not accepted; None when it was.
Receiver = Callable[[Event], str | None]


def listen(
    ctx: typer.Context,
    *,
    forward: Annotated[
        str | None, typer.Option("--forward", metavar="URL", help="Send each event to this local address, signed.")
    ] = None,
    execute: Annotated[
        str | None,
        typer.Option(
            "--exec", metavar="CMD", help="Run this program for each event, which it reads on its input."
        ),
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only this event or area, such as alias.*.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Begin at this time, or `now`, the first time; else with the oldest event."),
    ] = None,
    cursor_file: Annotated[
        Path | None, typer.Option("--cursor-file", help="Where the position is kept; by default for the profile.")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option("--attempts", min=1, help="End when an event is refused this often; else never.")
    ] = None,
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", min=1, max=64, help="Pass on this many at once; events of one resource stay in order."
        ),
    ] = 1,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="End after the last present event.")] = False,
) -> None:
    """Pass each event on, in order, until it is accepted.

    A 2xx answer or the exit code 0 accepts it. The position is kept on disk: after a stop, the events since then
    follow. An event that was in hand comes again with the same id. The receiver verifies requests with
    BLD_WEBHOOK_SECRET, or with the secret that is shown.
    CMD runs without a shell.
    """
    state = state_of(ctx)
    if (forward is None) == (execute is None):
        raise Fault(
            "Give either --forward or --exec.",
            next_action="bld listen --forward http://localhost:8000/hook",
            code=USAGE,
        )
    file = cursor_file or profiles.state_folder(state.profile) / "listen.json"
    receive = _forwarder(ctx, forward) if forward is not None else _runner(execute or "")
    with feed.only_reader(file):
        since = feed.read_since(since)
        place = CursorFile(file)
        pages = feed.pages(state, place=place, types=types or (), since=since, once=no_follow)
        _pass_on(state, place, pages, receive, attempts=attempts, concurrency=concurrency)


def _pass_on(
    state: State,
    place: CursorFile,
    pages: Iterator[Sequence[Event]],
    receive: Receiver,
    *,
    attempts: int | None,
    concurrency: int,
) -> None:
    """Pass all events on, and store which were accepted."""
    is_over = threading.Event()

    def deliver(event: Event) -> None:
        _deliver(state, receive, event, attempts, is_over)

    try:
        for events in pages:
            for event in passing.pass_on(events, deliver, concurrency=concurrency):
                place.add(event["id"])
                _print(state, event)
    finally:
        is_over.set()


def _print(state: State, event: Event) -> None:
    if state.is_json:
        output.print_line(state, event)
    else:
        typer.echo(feed.line(event))


def _deliver(
    state: State, receive: Receiver, event: Event, attempts: int | None, is_over: threading.Event
) -> None:
    """Pass an event on until it is accepted: later ones of its resources wait. Raise Fault."""
    count, pause = 0, FIRST_PAUSE_S
    while (reason := receive(event)) is not None and not is_over.is_set():
        count += 1
        if count == attempts:
            raise Fault(
                f"The event {event['id']} ({event['type']}) was not accepted: {reason}",
                next_action="Mend the receiver, then listen again: this event comes again.",
                code=FAILED,
            )
        texts.note(f"{event['type']}  {event['id']}  {reason}; again in {pause:.1f} s")
        state.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)


def _runner(command: str) -> Receiver:
    """Return the receiver that runs a command with the event on its standard input."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Fault(f"--exec: {error}", next_action="Close the quotes.", code=USAGE) from error
    if not words:
        raise Fault("--exec is empty.", next_action="Name a program.", code=USAGE)

    def run(event: Event) -> str | None:
        try:
            done = subprocess.run(words, input=_body(event), check=False)  # noqa: S603 - the user names the program
        except OSError as error:
            raise Fault(
                f"{words[0]} cannot be started: {error.strerror}", next_action="Check --exec.", code=USAGE
            ) from error
        return None if done.returncode == 0 else f"exit code {done.returncode}"

    return run


def _forwarder(ctx: typer.Context, url: str) -> Receiver:
    """Return the receiver that sends a signed request."""
    from builders_client import webhooks
    from builders_client.transport import Lost, Request, Transport

    if not url.startswith(("http://", "https://")):
        raise Fault(f"{url} is no address.", next_action="Write --forward http://localhost:8000/hook.", code=USAGE)
    secret, http = _secret(state_of(ctx)), Transport(None)
    ctx.call_on_close(http.close)

    def send(event: Event) -> str | None:
        content = _body(event)
        headers = webhooks.sign(content, secret, event_id=str(event["id"]))
        request = Request("POST", url, headers, content)
        answer = http.send(request, idle=ANSWER_S, end=time.monotonic() + ANSWER_S)
        if isinstance(answer, Lost):
            return answer.reason
        return None if answer.status in _ACCEPTED else f"status {answer.status}"

    return send


def _body(event: Event) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def _secret(state: State) -> str:
    """Return the secret of local requests; the first time it is made, and shown."""
    if found := os.environ.get("BLD_WEBHOOK_SECRET", "").strip():
        return found
    file = profiles.state_folder(state.profile) / "listen.secret"
    if not file.exists():
        profiles.write_private(file, f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}\n")
    secret = file.read_text(encoding="utf-8").strip()
    texts.note(f"The receiver verifies requests with {secret}")
    return secret
