"""Whole flows over the network: a claim from the check to the release, a webhook, an import and its undo."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from builders_client.webhooks import verify
from tests.deployed.conftest import Deployed, Person, connect

WITHIN_S = 60
DOMAIN = "pixel.example"  # of the demo catalog
Json = dict[str, Any]


def fresh() -> str:
    return f"walk-{uuid.uuid4().hex[:12]}"


def wait_for(read: Callable[[], Json | None]) -> Json:
    """Return what `read` finds, within a time limit."""
    deadline = time.monotonic() + WITHIN_S
    while (found := read()) is None:
        assert time.monotonic() < deadline, "nothing arrived"
        time.sleep(0.1)
    return found


def manifest_of(*names: str) -> Json:
    aliases = [
        {"key": name, "address": f"{name}@{DOMAIN}", "destinations": ["grace@example.net"]} for name in names
    ]
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": "walk"},
        "prune": True,
        "resources": {"aliases": aliases},
    }


def plan(person: Person, *names: str) -> Json:
    answer = person.test.post("/v1/sandbox/plan", json=manifest_of(*names))
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def promote(person: Person, planned: Json, key: str) -> Json:
    """Promote a plan, and repeat the request with its key."""
    body = {
        "plan_id": planned["id"],
        "digest": planned["digest"],
        "confirm_deletes": planned["summary"].get("delete", 0),
    }
    first, again = (
        person.developer.post("/v1/sandbox/promote", json=body, headers={"Idempotency-Key": key}) for _ in range(2)
    )
    assert (first.is_success, again.is_success) == (True, True), (first.text, again.text)
    assert again.json()["id"] == first.json()["id"]
    promotion: str = first.json()["id"]

    def read_end() -> Json | None:
        found: Json = person.developer.get(f"/v1/sandbox/promotions/{promotion}").json()
        return found if found["status"] in {"succeeded", "failed", "partial"} else None

    return wait_for(read_end)


def test_a_name_is_claimed_refused_to_a_stranger_and_released(
    deployed: Deployed, alice: Person, bob: Person
) -> None:
    name = fresh()
    asked = {"domain": DOMAIN, "local_part": name}
    with connect(deployed.address) as anyone:
        assert anyone.get("/v1/catalog/check", params=asked).json()["available"]
        planned = plan(alice, name)
        assert planned["summary"] == {"create": 1}
        assert promote(alice, planned, fresh())["status"] == "succeeded"
        assert not anyone.get("/v1/catalog/check", params=asked).json()["available"]

    [alias] = [each for each in alice.developer.get("/v1/aliases").json()["items"] if name in each["address"]]
    assert bob.developer.get(f"/v1/aliases/{alias['id']}").status_code == 404
    assert plan(bob, name)["status"] == "blocked"
    [invoice] = alice.developer.get("/v1/invoices").json()["items"]
    assert bob.developer.get(f"/v1/invoices/{invoice['id']}").status_code == 404
    assert alice.developer.get(f"/v1/invoices/{invoice['id']}/pdf").content.startswith(b"%PDF")

    assert promote(alice, plan(alice), fresh())["summary"] == {"succeeded": 1}
    assert alice.developer.get(f"/v1/aliases/{alias['id']}").json()["status"] == "deleted"


class Received(HTTPServer):
    """A receiver that keeps its requests."""

    requests: list[tuple[dict[str, str], bytes]]


class Receiver(BaseHTTPRequestHandler):
    server: Received

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no line."""


@contextmanager
def receiving(address: str) -> Iterator[Received]:
    host, _, port = address.rpartition(":")
    server = Received((host, int(port)), Receiver)
    server.requests = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_webhook_is_created_delivered_signed_and_deleted(deployed: Deployed, bob: Person) -> None:
    if deployed.receiver is None:
        pytest.skip("BUILDERS_DEPLOYED_RECEIVER is not set")
    client = bob.developer
    wanted = {"label": "walk", "url": f"http://{deployed.receiver}/in", "enabled": True, "events": ["project.*"]}
    with receiving(deployed.receiver) as receiver:
        webhook = client.post("/v1/notifications/webhooks", json=wanted).json()
        project = client.post("/v1/builders/projects", json={"name": fresh()}).json()["id"]
        wait_for(lambda: {} if receiver.requests else None)

        def read_delivered() -> Json | None:
            path = f"/v1/notifications/deliveries?webhook_id={webhook['id']}"
            found: list[Json] = client.get(path).json()["items"]
            return next((each for each in found if each["status"] == "succeeded"), None)

        delivery = wait_for(read_delivered)
    [(headers, body)] = receiver.requests
    event = verify(body, headers, webhook["signing_secret"])
    assert (event.type, event.data["id"]) == ("project.created", project)
    assert client.get(f"/v1/notifications/deliveries/{delivery['id']}").json()["attempts"]
    assert any(each["id"] == headers["webhook-id"] for each in client.get("/v1/events").json()["items"])
    assert client.delete(f"/v1/notifications/webhooks/{webhook['id']}").is_success
    assert client.get(f"/v1/notifications/webhooks/{webhook['id']}").status_code == 404


def test_a_file_is_imported_once_and_undone(bob: Person) -> None:
    client, path = bob.domainer, "/v1/portfolio/import"
    names = [f"{fresh()}.com" for _ in range(3)]
    file = "Domain,Expires,Cost\n" + "".join(f"{name},2027-12-31,120.50\n" for name in names)
    headers = {"Content-Type": "text/csv"}

    preview = client.post(path, params={"dry_run": "true"}, content=file, headers=headers).json()
    assert preview["summary"]["created"] == 3
    assert client.get("/v1/portfolio/domains").json()["items"] == []
    done = client.post(path, content=file, headers=headers).json()
    assert done["summary"]["created"] == 3
    again = client.post(path, content=file, headers=headers).json()
    assert (again["summary"]["created"], again["summary"]["unchanged"]) == (0, 3)
    listed = client.get("/v1/portfolio/domains").json()["items"]
    assert sorted(each["domain"] for each in listed) == sorted(names)
    assert names[0] in client.get("/v1/portfolio/export.csv").text

    for each in (again, done):  # the later one first
        undone = client.post(f"/v1/portfolio/imports/{each['import_id']}/undo")
        assert undone.is_success, undone.text
    wait_for(lambda: None if client.get("/v1/portfolio/domains").json()["items"] else {})
