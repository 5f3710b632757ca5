"""Starts the service in an environment, and asks each of its processes."""

import http.client
import re
import secrets
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.promises.environments import Environment
from tests.promises.stranger import Broken, Stranger, tail

READY_S = 180.0
ANSWER_S = 60.0
POLL_S = 0.2
PORTS = range(20_000, 32_000)  # below those of outgoing connections
PAGES = ("/livez", "/readyz", "/", "/docs", "/openapi.json", "/v1/catalog/suggest?q=ada")
# What the processes have counted: HTTP requests, the worker its queue, the look-up server one question, the reader
# of the mail log one line.
COUNTED = (
    r'^builders_http_request_seconds_count\{operation="catalog_suggest",result="answered"\} [1-9]',
    r'^builders_jobs\{lane="default",state="running"\} ',
    r'^builders_lookups_total\{map="domain",.*\} 1',
    r'^builders_mail_log_lines_total\{kind="other"\} 1',
)
MAIL_HOST = "mx1.builders.example"
_ADDRESS = re.compile(r"Builders responds at (http://\S+)")
_LIVE_KEY = re.compile(r"developer_full +live +(svc_live_\S+)")
_FAILURE = re.compile(r'.*(?:"level":"(?:error|critical)"|Traceback).*')
# What Postfix logs when a mail server connects.
_LOGGED = "2026-01-05T09:30:00.000000+00:00 mx1 postfix/smtpd[71]: connect from mail.example.net[192.0.2.1]\n"
T = TypeVar("T")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A running service with the demo."""

    address: str
    live_key: str  # of developer_full
    folder: Path
    log: Path
    user: Stranger  # with the settings of the service
    programs: Environment
    ports: Mapping[str, int]  # of the processes that listen on one


@contextmanager
def running(made: Environment, name: str, *, database_url: str | None = None) -> Iterator[Service]:
    """Run `builders serve` with all its processes; raise Broken if its log then has a failure."""
    folder = made.user.folder(name)
    log, mail_log = folder.parent / f"{name}.log", folder / "mail.log"
    mail_log.write_text(_LOGGED, encoding="utf-8")
    ports = dict(zip(("filter", "metrics"), free_ports(2), strict=True))
    user = made.user.with_variables(
        **{"BUILDERS_DATABASE_URL": database_url} if database_url else {},
        BUILDERS_DATA_DIR=str(folder / "data"),
        BUILDERS_LOOKUP_LISTEN=f"unix:{folder / 'lookup'}",
        BUILDERS_FILTER_LISTEN=f"127.0.0.1:{ports['filter']}",
        BUILDERS_MAIL_LOG=str(mail_log),
        BUILDERS_METRICS_PORT=str(ports["metrics"]),
    )
    with user.running(made.program("builders"), "serve", "--demo", "--port", "0", log=log) as process:
        try:
            said = wait_for("serve", lambda: _announcement(log, process.poll()), within_s=READY_S)
        except Broken as error:
            raise Broken(f"{error}\n{tail(log)}") from error
        address, key = said
        yield Service(address=address, live_key=key, folder=folder, log=log, user=user, programs=made, ports=ports)
    if failures := _FAILURE.findall(log.read_text(encoding="utf-8")):
        raise Broken("\n".join(failures))


def _announcement(log: Path, code: int | None) -> tuple[str, str] | None:
    said = log.read_text(encoding="utf-8")
    if code is not None:
        raise Broken(f"builders serve ended with exit code {code}")
    address, key = _ADDRESS.search(said), _LIVE_KEY.search(said)
    return (address[1], key[1]) if address and key else None


def list_asks(found: Service) -> dict[str, Callable[[], object]]:
    """Return what to ask of each process; each raises Broken or OSError without the right answer."""
    return {
        "http answers": lambda: _ask_http(found.address),
        "lookup answers": lambda: _ask_lookup(found.folder / "lookup"),
        "filter answers": lambda: _wait_for_answer("filter", lambda: greet_filter(found.ports["filter"])),
        "worker sends a mail": lambda: _wait_for_mail(found.folder / "data" / "outbox"),
        "the metrics have counts of all processes": lambda: _ask_metrics(found.ports["metrics"]),
        "the files of the mail host are written": lambda: _configure_mail_host(found),
    }


def _ask_http(address: str) -> None:
    for page in PAGES:
        get(f"{address}{page}")


def _ask_lookup(path: Path) -> None:
    answer = _wait_for_answer("lookup", lambda: ask_lookup(path, "domain harbour.example"))
    if not answer.startswith("OK "):
        raise Broken(f"lookup: {answer}")


def _wait_for_mail(outbox: Path) -> None:
    wait_for("the mail that the worker sends", lambda: any(outbox.glob("*-api_key_created.eml")))


def _ask_metrics(port: int) -> None:
    for line in COUNTED:
        wait_for(f"the metrics to have {line}", partial(_measures, port, line))


def _configure_mail_host(found: Service) -> None:
    """Write the files of Postfix, postsrsd and rspamd."""
    host = found.user.with_variables(BUILDERS_MAIL_HOSTS=MAIL_HOST, BUILDERS_POSTMASTER="ada@example.net")
    root = found.user.folder(f"{found.folder.name}-host")
    written = host.run(found.programs.program("builders"), "postfix", "config", "--root", root)
    names = {Path(line).name for line in written.splitlines()}
    if not {"main.cf", "master.cf", "postsrsd", "rspamd.lua"} <= names:
        raise Broken(f"builders postfix config wrote only\n{written}")


def _measures(port: int, line: str) -> bool:
    metrics = _try(lambda: get(f"http://127.0.0.1:{port}/metrics"))
    return metrics is not None and re.search(line, metrics, re.MULTILINE) is not None


def _wait_for_answer(what: str, ask: Callable[[], T]) -> T:
    return wait_for(what, lambda: _try(ask))


def _try(ask: Callable[[], T]) -> T | None:
    """Return an answer, or None as long as nobody answers."""
    try:
        return ask()
    except (OSError, http.client.HTTPException):
        return None


def wait_for(what: str, find: Callable[[], T | None], *, within_s: float = ANSWER_S) -> T:
    """Return what is found; raise Broken if nothing is in time."""
    deadline = time.monotonic() + within_s
    while not (found := find()):
        if time.monotonic() > deadline:
            raise Broken(f"{what}: no answer within {within_s:.0f} s")
        time.sleep(POLL_S)
    return found


def get(address: str) -> str:
    """Return the text of a page, as a browser asks for it; raise OSError unless its status is 200."""
    request = urllib.request.Request(address, headers={"Accept": "text/html, */*"})  # noqa: S310 # http
    with _OPENER.open(request, timeout=ANSWER_S) as reply:
        return str(reply.read().decode())


def ask_lookup(path: Path, question: str) -> str:
    """Return the answer of the look-up server (socketmap_table(5))."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(str(path))
        connection.sendall(f"{len(question)}:{question},".encode())
        reply = connection.recv(4096).decode()
    return reply.partition(":")[2].removesuffix(",")


def greet_filter(port: int) -> str:
    """Return the reply of the mail filter to LHLO (RFC 2033); raise OSError if it is no welcome."""
    with (
        socket.create_connection(("127.0.0.1", port), ANSWER_S) as connection,
        connection.makefile("rb") as replies,
    ):
        connection.settimeout(ANSWER_S)
        welcome = replies.readline()
        connection.sendall(b"LHLO mx1.builders.example\r\n")
        reply = replies.readline()
        connection.sendall(b"QUIT\r\n")
    if not (welcome.startswith(b"220 ") and reply.startswith(b"250")):
        raise OSError(f"the filter says {welcome!r} and {reply!r}")
    return reply.decode()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, and that no outgoing connection gets before they are used (Linux, ip(7))."""
    found: list[int] = []
    while len(found) < count:
        with suppress(OSError), socket.create_server(("127.0.0.1", secrets.choice(PORTS))) as held:
            found.append(int(held.getsockname()[1]))
    return found
