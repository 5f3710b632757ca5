"""The servers of others that settings name, the mail server and Stripe: a start and `builders doctor` try them.

A server that refuses what the settings say is a failure. One that does not respond is none: mail waits, and
invoices are paid by bank.
"""

import asyncio
import socket
from concurrent.futures import Future
from threading import Thread
from typing import Any

import click

from builders.cli.doctor import Finding
from builders.cli.session import CannotStart, note, read_settings
from builders.kit.outbound.client import Outbound
from builders.kit.outbound.connections import Failure, OutboundFailed
from builders.kit.process.settings import Settings
from builders.mail import addresses
from builders.mail.sender import read_sender
from builders.mail.transports import Limits, SmtpTransport, parse_url

LIMITS = Limits(connect_s=5, command_s=5, total_s=8)
MAX_SHOWN = 200  # characters of a reply
SESSIONS = "/v1/checkout/sessions?limit=1"  # a restricted key that may create sessions may list them
REFUSED = {401, 403}


@click.command("try-servers", hidden=True)
def try_servers_command() -> None:
    """Try the mail server and Stripe, for a start of `serve`."""
    require(read_settings())


def require(settings: Settings) -> None:
    """Note the servers that do not respond; end the command if one refuses what the settings say."""
    for found in run_checks(settings):
        if not found.ok:
            raise CannotStart(f"{found.check}: {found.detail}", next_action=found.next_action)
        if found.next_action is not None:
            note(f"{found.check}: {found.detail} {found.next_action}")


def run_checks(settings: Settings, *, limits: Limits = LIMITS) -> list[Finding]:
    """Return a finding about each of the servers that the settings name, within the limits."""

    async def run() -> list[Finding]:
        found = await asyncio.gather(
            check_mail_server(settings, limits=limits), check_stripe(settings, limits=limits)
        )
        return [each for each in found if each is not None]

    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(run())


class _Loop(asyncio.SelectorEventLoop):
    """Looks up names in threads that neither its end nor the end of the process waits for.

    The system waits for a silent name server for longer than the limits, and asyncio for the system.
    """

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:  # as asyncio declares it
        """Look up a name."""
        found = Future[Any]()
        found.set_running_or_notify_cancel()  # an answer that comes too late is none of a cancelled future

        def look_up() -> None:
            try:
                found.set_result(socket.getaddrinfo(host, port, **options))
            except (OSError, ValueError) as error:  # a name can be one that IDNA refuses
                found.set_exception(error)

        Thread(target=look_up, daemon=True).start()
        return await asyncio.wrap_future(found, loop=self)


async def check_mail_server(settings: Settings, *, limits: Limits = LIMITS) -> Finding | None:
    """Connect and sign in as for a message; None without a mail server, or with settings that cannot be read."""
    check = "BUILDERS_SMTP_URL"
    if settings.smtp_url is None:
        return None
    try:
        server = parse_url(settings.smtp_url.get_secret_value())
        transport = SmtpTransport(server, own_name=read_sender(settings).domain, limits=limits)
    except (OSError, ValueError):  # `setting_files` says it
        return None
    where = f"{server.host} port {server.port}"
    failure = await transport.probe()
    if failure is None:
        return Finding(check=check, ok=True, detail=f"{where} accepts us.")
    reply = " ".join(map(str, filter(None, (failure.code, failure.text))))
    reason = addresses.one_line(reply)[:MAX_SHOWN].rstrip(".")  # the server's text must not control a terminal
    action = (
        "Correct the user, the password, the port or `starttls` in it."
        if failure.is_local_error
        else "Mail waits until it responds. If it stays so, correct the host and the port, or open the firewall."
    )
    detail = f"{where} cannot be used now: {reason}."
    return Finding(check=check, ok=not failure.is_local_error, detail=detail, next_action=action)


async def check_stripe(settings: Settings, *, limits: Limits = LIMITS) -> Finding | None:
    """Ask Stripe for what payment links need; None without a key."""
    check = "BUILDERS_STRIPE_KEY"
    if settings.stripe_key is None:
        return None
    headers = {"Authorization": f"Bearer {settings.stripe_key.get_secret_value()}"}
    later = "Invoices have no payment links until it responds. If it stays so, allow HTTPS to its host."
    try:
        async with Outbound(settings) as outbound:
            answer = await outbound.request(
                "GET", settings.stripe_api_base + SESSIONS, headers=headers, total_s=limits.total_s, keep_bytes=1
            )
    except OutboundFailed as error:
        if error.kind is Failure.BLOCKED_ADDRESS:
            action = "Unset BUILDERS_STRIPE_API_BASE; for tests, set BUILDERS_OUTBOUND_ALLOW."
            return Finding(check=check, ok=False, detail=str(error), next_action=action)
        return Finding(check=check, ok=True, detail=f"Stripe does not respond: {error}", next_action=later)
    if answer.status in REFUSED:
        action = "Set a key of your account that is active and may write Checkout Sessions (Stripe: API keys)."
        detail = f"Stripe refuses the key (status {answer.status})."
        return Finding(check=check, ok=False, detail=detail, next_action=action)
    if answer.status >= 400:  # noqa: PLR2004 - RFC 9110, 15.5
        return Finding(check=check, ok=True, detail=f"Stripe answers {answer.status}.", next_action=later)
    return Finding(check=check, ok=True, detail="Stripe accepts the key.")
