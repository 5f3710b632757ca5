"""The traces of a service with all its processes: from a request to what follows it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from builders.kit.process import traces
from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, builders, data_folder
from tests.collector import Collector, Received, collecting

OWNER, MAILBOX, DOMAIN = "owner@example.net", "hidden-mailbox@example.net", "hidden-harbour.example"
REQUEST_ID = "request-of-promotion"
HIDDEN = (b"hidden-", b"owner@", b"svc_live", b"SELECT ", b"INSERT INTO", b"127.0.0.1", b"/v1/")


@dataclass(frozen=True, slots=True)
class Scene:
    """What happened after a promotion."""

    collector: Collector
    traceparent: str | None  # that the receiver of the webhook got

    @property
    def request(self) -> Received:
        (found,) = self.collector.named("sandbox_promote")
        return found


@contextmanager
def receiving() -> Iterator[tuple[int, list[str | None]]]:
    """Yield the port of a receiver, and the spans that it gets."""
    got: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            got.append(self.headers["traceparent"])
            self.send_response(204)
            self.end_headers()

        def log_request(self, *_: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, got
        server.shutdown()


def promote(serving: Serving, port: int) -> None:
    """Claim a name, of whose event a destination is told, and ask for an email."""
    data, catalog = serving.data, serving.data.with_name("catalog.csv")
    catalog.write_text(f"domain\n{DOMAIN}\n")
    assert builders(data, "accounts", "create", "--email", OWNER).returncode == 0
    words = ("keys", "create", "--account", OWNER, "--kind", "live", "--preset", "developer_full", "--json")
    key = json.loads(builders(data, *words).stdout)["secret"]
    assert builders(data, "catalog", "load", str(catalog)).returncode == 0
    alias = {"key": "a", "address": f"hidden-name@{DOMAIN}", "destinations": [MAILBOX]}
    manifest = {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": "traces"},
        "resources": {"aliases": [alias]},
    }
    headers = {"X-API-Key": key, "X-Request-ID": REQUEST_ID}
    with httpx.Client(base_url=f"http://127.0.0.1:{serving.port}/v1", headers=headers, timeout=30) as client:
        url = f"http://127.0.0.1:{port}/hidden-path"
        hook = {"label": "main", "url": url, "enabled": True, "events": ["alias.*"]}
        assert client.post("/notifications/webhooks", json=hook).status_code == 200
        planned = client.post("/sandbox/plan", json=manifest).json()
        wanted = {"plan_id": planned["id"], "digest": planned["digest"]}
        promoted = client.post("/sandbox/promote", json=wanted)
        assert promoted.json()["status"] == "succeeded", promoted.text
        assert client.post("/auth/login", json={"email": OWNER}).status_code == 200


def mails(collector: Collector) -> list[Received]:
    """Return the attempts to send the email."""
    jobs = collector.named("mail.deliver")
    return [each for each in jobs if each.attributes.get("builders.request_id") == REQUEST_ID]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with collecting() as collector, receiving() as (port, got), data_folder() as data:
        allowed = f"127.0.0.1:{port}"
        with Serving(data, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, BUILDERS_OUTBOUND_ALLOW=allowed) as running:
            running.wait()
            promote(running, port)
            collector.wait_for(lambda each: bool(each.named("webhooks.delivery") and mails(each)))
            assert running.stop() == 0
        yield Scene(collector, got[0])


def test_a_request_has_its_statements_by_name(scene: Scene) -> None:
    below = {each.name for each in scene.collector.spans if each.parent_id == scene.request.span_id}
    assert {"kit.events.outbox.INSERT", "plans.store.INSERT_PROMOTION"} & below
    assert scene.request.attributes["builders.request_id"] == REQUEST_ID


def test_a_delivery_is_linked_to_the_request_that_caused_it(scene: Scene) -> None:
    delivery = scene.collector.named("webhooks.delivery")[0]
    assert (delivery.linked, delivery.parent_id) == ([scene.request.id], "")
    assert delivery.attributes == {"builders.attempt": 1, "builders.request_id": REQUEST_ID}
    assert delivery.process == "worker"


def test_the_call_of_a_delivery_carries_its_span(scene: Scene) -> None:
    delivery = scene.collector.named("webhooks.delivery")[0]
    (call,) = [each for each in scene.collector.named("outbound.request") if each.parent_id == delivery.span_id]
    assert call.attributes == {"http.request.method": "POST", "http.response.status_code": 204}
    assert scene.traceparent is not None
    assert tuple(scene.traceparent.split("-")[1:3]) == delivery.id


def test_the_mail_is_linked_over_its_job(scene: Scene) -> None:
    by_id = {each.id: each for each in scene.collector.spans}
    found = mails(scene.collector)[0]
    seen = [found.name]
    while found.linked:
        found = by_id[found.linked[0]]
        seen.append(found.name)
    assert seen[-1] == "auth_request_login"


def test_no_span_has_a_name_an_address_or_a_text(scene: Scene) -> None:
    sent = b"".join(scene.collector.bodies)
    assert [each for each in HIDDEN if each in sent] == []
    assert {name for each in scene.collector.spans for name in each.attributes} <= {*traces.ATTRIBUTES.values()}


def test_a_service_answers_while_its_collector_is_away(unused_database: str) -> None:
    with data_folder() as data:
        away = "http://127.0.0.1:9"
        with Serving(
            data, "--http-only", BUILDERS_TRACES_TO=away, BUILDERS_DATABASE_URL=unused_database
        ) as running:
            running.wait()
            wait_until(lambda: "traces_not_exported" in running.log())
            assert running.status("/livez") == 200
            assert running.stop() == 0
            assert running.log().count("traces_not_exported") == 1


def test_a_process_without_a_collector_loads_nothing_of_it(unused_database: str) -> None:
    with data_folder() as data, Serving(data, "--http-only", BUILDERS_DATABASE_URL=unused_database) as running:
        running.wait()
        (process,) = running.children("http")
        mapped = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
    assert "google/_upb" not in mapped
