"""An account with something on every page: long lists, long texts, and what has failed."""

import base64
import hmac
from collections.abc import Mapping
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple

import httpx

from builders.kit.values import clock
from tests.console.browser.people import DECIDER, OWNER, STRANGER, Demo
from tests.plans.make import Json, alias, full_manifest

LONG = "very.long.mailbox.name.of.one.person@subdomain.mail.operations.example.org"
NOTE = "Replies within a day. " * 9
BILL = """Order Date,Order Number,Transaction Type,Domain Name,Years,Total
2026-03-01,88001,Renewal,harbour-lights.com,1,$13.98
2026-03-02,88002,Renewal,harbour-lite,1,$13.98
2026-03-03,88003,Registration,new-pasture.com,2,$19.16
"""
BILL = "date,order id,domain,amount,currency\n2026-10-05,C-1,harbour-lights.com,12.00,USD\n"
LISTED = "domain\nharbour-lights.com\n"
REVENUE = "date,domain,revenue,currency\n2026-10-05,harbour-lights.com,1.23,USD\n"
MESSY = """Domain,Expiry Date,Registrar,Notes
harbour-lights.com,soon,Porkbun,A note
www.pier.net,2030-01-05,Porkbun,A host and no domain
quay-lights.com,2030-01-05,Porkbun,
"""
IDN = "wo-die-vielen-bücher-aus-allen-ländern-wohnen.example"


class Receiver:
    """A receiver of webhooks on this machine, which is out of order except at the paths that work."""

    def __init__(self) -> None:
        self.works, self.taken = {"/orders"}, list[Delivered]()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                works = self.path in receiver.works
                if works:
                    receiver.taken.append(Delivered(self.path, dict(self.headers), body))
                self.send_response(200 if works else 500)
                self.end_headers()
                self.wfile.write(
                    b"taken" if works else b"<h1>Internal Server Error</h1> the table orders is missing"
                )

            def log_message(self, *_: Any) -> None:
                """Write nothing to the output of the tests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def ids(self, path: str) -> list[str]:
        """Return the ids of the events that a path took, in order."""
        return sorted(each.headers["webhook-id"] for each in self.taken if each.path == path)


class Delivered(NamedTuple):
    """A request that the receiver took."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    def is_signed(self, secret: str) -> bool:
        """Return whether the request has a signature of the secret."""
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        digest = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, "sha256")
        return f"v1,{base64.b64encode(digest).decode()}" in self.headers["webhook-signature"].split()


def suggest(client: httpx.Client, query: str, limit: int) -> list[str]:
    """Return available addresses for a word."""
    found = client.get("/v1/catalog/suggest", params={"q": query, "limit": limit}).raise_for_status().json()
    return [each["address"] for each in found["items"]]


def plan(client: httpx.Client, wanted: Json) -> Json:
    """Return the plan of a manifest."""
    planned: Json = client.post("/v1/sandbox/plan", json=wanted).raise_for_status().json()
    return planned


def promote(client: httpx.Client, planned: Json, **members: Any) -> Json:
    """Return the promotion of a plan."""
    body = {"plan_id": planned["id"], "digest": planned["digest"], **members}
    promotion: Json = client.post("/v1/sandbox/promote", json=body).raise_for_status().json()
    return promotion


def fill(demo: Demo, client: httpx.Client, receiver: str) -> Mapping[str, str]:
    """Fill the owner's account; return the parts of addresses that no list of the API has."""
    wanted = _manifest(client, receiver)
    promotion = promote(client, plan(client, wanted))
    changed = _changed(wanted)
    plan(client, {**changed, "prune": True})
    plan(client, {**full_manifest("without-a-change")})
    plan(client, full_manifest("refused", aliases=[alias("ada@nothing-of-ours.example"), alias("a@hq.example")]))
    for domain in ("own-name.example", IDN):
        made = client.post("/v1/domains", json={"domain": domain, "default_destination": LONG}).raise_for_status()
        # The worker checks each domain within a minute, before or after its page is opened.
        client.post(f"/v1/domains/{made.json()['id']}/verify").raise_for_status()
    for label in ("Continuous integration of the shop, with a label that is quite long", "laptop"):
        body = {"label": label, "key_kind": "test", "preset": "developer_full"}
        client.post("/v1/api-keys", json=body).raise_for_status()
    demo.run("accounts", "create", "--email", STRANGER)
    demo.run("accounts", "create", "--email", "unverified@example.net", "--unverified")
    client.post("/v1/leads", json={"email": "lead@example.net"}).raise_for_status()
    with demo.make_client(OWNER, "domainer_full") as team:
        for email, role in ((STRANGER, "viewer"), (LONG, "accountant")):
            team.post("/v1/portfolio/team/invites", json={"email": email, "role": role}).raise_for_status()
        found = team.get("/v1/portfolio/team").raise_for_status().json()
        held = _fill_portfolio(team)
        imported = team.post("/v1/portfolio/import", json={"csv": MESSY}).raise_for_status().json()
        sheet = {"mapping": {"domain": "Name of the domain"}}
        team.put("/v1/portfolio/formats/my-own-sheet", json=sheet).raise_for_status()
        names = ["harbour-lights.com", "not-in-the-portfolio.com"]
        inventory = {"provider": "manual:old-registrar", "domains": names}
        path = "/v1/portfolio/registrars/inventory/import"
        listed = team.post(path, json=inventory).raise_for_status().json()
        bill = {"csv": BILL, "format": "namecheap", "apply": False}
        team.post("/v1/portfolio/registrars/billing/import", json=bill).raise_for_status()
    [decider] = [each["account_id"] for each in found["members"] if each["email"] == DECIDER]
    return {
        "promotion_id": promotion["id"],
        "owner_id": found["owner_account_id"],
        "decider_id": decider,
        "domain_id": held,
        "import_id": imported["import_id"],
        "run_id": listed["import_id"],
    }


def _fill_portfolio(client: httpx.Client) -> str:
    """Add domains with prices, costs and income; return the id of the one with the most to show."""

    def usd(amount: str) -> Mapping[str, str]:
        return {"amount": amount, "currency": "USD"}

    ids = []
    for at, domain in enumerate((IDN, "harbour-lights.com", "pier.net")):
        row = {
            "domain": domain,
            "renewal_price": usd("12.34"),
            "estimated_value": usd("2500.00"),
            "expires_at": (clock.now() + timedelta(days=20 + 30 * at)).isoformat(),
            "tags": ["brand", "a tag whose text is rather long"],
            "folder": "The best names of the whole portfolio",
            "notes": NOTE,
        }
        made = client.post("/v1/portfolio/domains", json=row).raise_for_status().json()
        ids.append(made["id"])
        paid = {"acquisition": "1234.56", "renewal": "11.13", "parking_revenue": "78.91"}
        entries = [
            {"kind": kind, "amount": usd(amount), "occurred_on": f"2026-0{month}-05", "memo": NOTE[:60]}
            for month, (kind, amount) in enumerate(paid.items(), 1)
        ]
        path = f"/v1/portfolio/domains/{made['id']}/finance"
        client.patch(path, json={"entries_add": entries}).raise_for_status()
    views = {"views": [{"name": "A view whose name is not short", "query": "status=owned&sort=-roi"}]}
    client.patch("/v1/portfolio/views", json=views).raise_for_status()
    return str(ids[0])


def _manifest(client: httpx.Client, receiver: str) -> Json:
    addresses = [*suggest(client, "ada", 12), *suggest(client, "coffee shop", 4)]
    names = [
        alias(
            each,
            *(["ada@example.net", LONG] if at % 7 == 3 else ["ada@example.net"]),
            key=f"n{at}",
            **({"note": NOTE[:200]} if at % 5 == 1 else {}),
            **({"enabled": False} if at % 11 == 5 else {}),
        )
        for at, each in enumerate(addresses)
    ]
    hooks = [
        {"key": "orders", "label": "orders", "url": f"http://{receiver}/orders", "events": ["*"]},
        {
            "key": "archive",
            "label": "archive of everything that happens",
            "url": f"http://{receiver}/a/path/that/is/rather/long/and/has/a-token-0123456789abcdef0123456789abcdef",
            "events": ["alias.*", "invoice.*", "plan.*", "domain.*", "promotion.*"],
        },
    ]
    projects = [
        {"key": "shop", "name": "Shop"},
        {
            "key": "long",
            "name": "A project whose name says precisely what it contains and for whom",
            "alias_limit": 250,
        },
    ]
    return full_manifest(projects=projects, webhooks=hooks, aliases=names)


def _changed(wanted: Json) -> Json:
    """Return the manifest with a change, an addition and several deletions."""
    resources = wanted["resources"]
    first, *others = resources["aliases"]
    aliases = [{**first, "destinations": ["new@example.net", LONG], "note": NOTE[:200]}, *others[:-3]]
    webhooks = [{**resources["webhooks"][0], "events": ["alias.*", "invoice.*"]}]
    return {**wanted, "resources": {**resources, "aliases": aliases, "webhooks": webhooks}}
