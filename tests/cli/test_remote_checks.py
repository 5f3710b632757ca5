"""The mail server and Stripe are tried: what they refuse is a failure, and their absence is none."""

import asyncio
import base64
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from subprocess import run
from threading import Thread

import pytest
from pydantic import SecretStr

from builders.app import Service
from builders.cli import remote_checks
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli
from tests.cli.serving import Serving, builders as builders_process, data_folder, refusing_port
from tests.invoices.stripe_server import StripeServer, failure, serving
from tests.mail.smtp_server import MailServer

KEY = "rk_live_51NotARealKeyOfAnybody"


def with_mail(url: str) -> Settings:
    return Settings(smtp_url=SecretStr(url), mail_from="Builders <mail@builders.example>")


async def test_a_mail_server_that_accepts_the_password_is_fine() -> None:
    async with MailServer(takes_logins=True) as server:
        found = await remote_checks.check_mail_server(with_mail(server.url(credentials="ada:right@")))
    assert found is not None
    assert (found.ok, found.next_action) == (True, None)
    assert (server.logins, server.received) == ([(b"ada", b"right")], [])


async def test_a_refused_password_of_the_mail_server_is_a_failure() -> None:
    async with MailServer(takes_logins=True) as server:
        server.script.auth = ["535 5.7.8 no"] * 3
        found = await remote_checks.check_mail_server(with_mail(server.url(credentials="ada:wr0ng@")))
    assert found is not None
    assert not found.ok
    assert "535 The mail server refused our user and password: 5.7.8 no" in found.detail
    assert "Correct the user, the password" in (found.next_action or "")
    assert "wr0ng" not in str(found)


async def test_a_password_that_the_mail_server_repeats_is_masked() -> None:
    plain, login = (base64.b64encode(each).decode() for each in (b"\0ada\0wr0ng", b"wr0ng"))
    async with MailServer(takes_logins=True) as server:
        server.script.auth = [f"535 5.7.8 wr0ng, {plain}, {login}"] * 3
        found = await remote_checks.check_mail_server(with_mail(server.url(credentials="ada:wr0ng@")))
    assert found is not None
    assert "535 The mail server refused our user and password: 5.7.8 ***, ***, ***." in found.detail


async def test_a_mail_server_without_the_required_encryption_is_a_failure() -> None:
    async with MailServer() as server:
        found = await remote_checks.check_mail_server(with_mail(server.url(query="?starttls=required")))
    assert found is not None
    assert not found.ok
    assert "offers no STARTTLS" in found.detail


async def test_a_mail_server_that_is_down_is_a_warning() -> None:
    with refusing_port() as port:
        found = await remote_checks.check_mail_server(with_mail(f"smtp://127.0.0.1:{port}"))
    assert found is not None
    assert found.ok
    assert f"127.0.0.1 port {port} cannot be used now: " in found.detail
    assert "Mail waits until it responds." in (found.next_action or "")


async def test_a_mail_server_that_defers_the_password_is_a_warning() -> None:
    async with MailServer(takes_logins=True) as server:
        server.script.auth = ["454 4.7.0 later"] * 3
        found = await remote_checks.check_mail_server(with_mail(server.url(credentials="ada:right@")))
    assert found is not None
    assert found.ok
    assert "cannot be used now: 454 " in found.detail


async def test_a_reply_of_a_mail_server_does_not_control_the_terminal() -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"554-no \x1b[2J caf\xe9\r\n554 never\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        found = await remote_checks.check_mail_server(with_mail(f"smtp://127.0.0.1:{port}"))
    assert found is not None
    assert found.detail == f"127.0.0.1 port {port} cannot be used now: 554 no [2J caf never."


async def test_settings_without_these_servers_are_not_checked() -> None:
    assert await remote_checks.check_mail_server(Settings()) is None
    assert await remote_checks.check_stripe(Settings()) is None


async def _check(server: StripeServer, service: Service, **changes: object) -> tuple[bool, str, str]:
    place = server.url.removeprefix("http://")
    update = {"outbound_allow": (place,), **changes}
    found = await remote_checks.check_stripe(service.api.state.settings.model_copy(update=update))
    assert found is not None
    return found.ok, found.detail, found.next_action or ""


async def test_a_key_that_stripe_accepts_is_fine(service: Service) -> None:
    async with serving(service) as server:
        assert await _check(server, service) == (True, "Stripe accepts the key.", "")
    assert server.sessions == []


async def test_a_key_that_stripe_refuses_is_a_failure(service: Service) -> None:
    async with serving(service) as server:
        ok, detail, action = await _check(server, service, stripe_key=SecretStr(KEY))
    assert (ok, detail) == (False, "Stripe refuses the key (status 401).")
    assert "may write Checkout Sessions" in action


async def test_a_key_without_the_right_is_a_failure(service: Service) -> None:
    async with serving(service) as server:
        server.failures = [(403, failure("invalid_request_error", "This key cannot read sessions."))]
        ok, detail, _ = await _check(server, service)
    assert (ok, detail) == (False, "Stripe refuses the key (status 403).")


async def test_a_failure_of_stripe_is_a_warning(service: Service) -> None:
    async with serving(service) as server:
        server.failures = [(503, failure("api_error", "later"))]
        ok, detail, action = await _check(server, service)
    assert (ok, detail) == (True, "Stripe answers 503.")
    assert "no payment links until it responds" in action


async def test_stripe_that_does_not_respond_is_a_warning(service: Service) -> None:
    with refusing_port() as port:
        base = f"http://127.0.0.1:{port}"
        async with serving(service) as server:
            server.url = base
            ok, detail, action = await _check(server, service, stripe_api_base=base)
    assert (ok, detail) == (True, "Stripe does not respond: No connection could be made.")
    assert "allow HTTPS" in action


async def test_an_address_of_stripe_that_may_not_be_reached_is_a_failure(service: Service) -> None:
    async with serving(service) as server:
        ok, detail, action = await _check(server, service, outbound_allow=())
    assert (ok, detail) == (False, "The URL's address is not public.")
    assert "BUILDERS_STRIPE_API_BASE" in action


@contextmanager
def refusing_stripe() -> Iterator[dict[str, str]]:
    """Run a server that refuses each key; provide the settings that lead to it."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        place = f"127.0.0.1:{server.server_port}"
        try:
            yield {
                "BUILDERS_STRIPE_KEY": KEY,
                "BUILDERS_STRIPE_API_BASE": f"http://{place}",
                "BUILDERS_OUTBOUND_ALLOW": place,
            }
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("word", "status"), [("worker", os.EX_CONFIG), ("doctor", 1)])
def test_a_refused_key_ends_the_worker_and_fails_doctor(
    builders: Cli, plain_environment: pytest.MonkeyPatch, word: str, status: int
) -> None:
    with refusing_stripe() as given:
        for name, value in given.items():
            plain_environment.setenv(name, value)
        ended = builders(word)
    assert ended.exit_code == status
    assert "BUILDERS_STRIPE_KEY: Stripe refuses the key (status 401)." in ended.output
    assert KEY not in ended.output


def test_a_refused_key_ends_the_service(unused_database: str) -> None:
    with data_folder() as data, refusing_stripe() as given:
        ended = builders_process(data, "serve", "--port", "0", BUILDERS_DATABASE_URL=unused_database, **given)
    assert ended.returncode == os.EX_CONFIG  # systemd does not start it again
    assert "BUILDERS_STRIPE_KEY: Stripe refuses the key (status 401)." in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_service_starts_without_its_mail_server(unused_database: str) -> None:
    with (
        refusing_port() as port,
        data_folder() as data,
        Serving(
            data,
            "--http-only",
            BUILDERS_DATABASE_URL=unused_database,
            BUILDERS_SMTP_URL=f"smtp://127.0.0.1:{port}",
            BUILDERS_MAIL_FROM="mail@builders.example",
        ) as serve,
    ):
        serve.wait()
        assert "Mail waits until it responds." in serve.log()


SILENT = """
import socket, sys, time
from pydantic import SecretStr
from builders.cli import remote_checks
from builders.kit.process.settings import Settings
from builders.mail.transports import Limits

socket.getaddrinfo = lambda *_, **__: time.sleep(60)  # a name server that does not answer
settings = Settings(smtp_url=SecretStr("smtp://mail.example"), mail_from="Builders <mail@builders.example>")
[found] = remote_checks.run_checks(settings, limits=Limits(connect_s=0.3, command_s=0.3, total_s=0.5))
print(found.ok, found.detail)
"""


def test_a_silent_name_server_holds_up_neither_the_checks_nor_the_end_of_the_process() -> None:
    ended = run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=True, timeout=30)
    assert (ended.stdout, ended.stderr) == (
        "True mail.example port 587 cannot be used now: Timed out connecting to mail.example on port 587.\n",
        "",
    )
