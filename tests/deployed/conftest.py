"""The service that tests/deployed sends requests to: that of BUILDERS_DEPLOYED_URL, else a demo.

The processes of the demo have the roles that `builders roles` makes, and commands that of the operator.
"""

import json
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import httpx
import pytest

from builders.cli.embedded.server import EmbeddedServer
from builders.identity.records import Preset
from builders.identity.scopes import CATALOG
from builders.kit.db.rights import HTTP, OPERATOR, WORKER
from tests.cli.databases import database_with_roles
from tests.cli.serving import Serving, builders, data_folder, environment, free_port
from tests.published import published
from tests.shared_servers import shared

DOMAINER = {str(each.scope) for each in CATALOG if Preset.DEVELOPER_FULL not in each.presets}
TIMEOUT_S = 30
REFUSED = "permission denied"  # in the log of a process without a right


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A running service."""

    address: str
    command: str  # runs `builders` with its settings
    receiver: str | None  # HOST:PORT that webhooks may be sent to; None: the service may send to no local address


@pytest.fixture(scope="module")
def deployed(request: pytest.FixtureRequest) -> Iterator[Deployed]:
    """Yield the service."""
    if (address := os.environ.get("BUILDERS_DEPLOYED_URL")) is not None:
        command = os.environ.get("BUILDERS_DEPLOYED_COMMAND", "script/builders")
        yield Deployed(address=address, command=command, receiver=os.environ.get("BUILDERS_DEPLOYED_RECEIVER"))
        return
    registrars = request.getfixturevalue("registrars")
    with shared(request, lambda: _under_roles(registrars)) as found:
        yield found


@contextmanager
def _under_roles(registrars: str) -> Iterator[Deployed]:
    receiver = f"127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        data = stack.enter_context(data_folder())
        server = stack.enter_context(EmbeddedServer(data, durable=False))
        roles = stack.enter_context(database_with_roles(server.conninfo))
        loaded = builders(data, "demo", BUILDERS_DATABASE_URL=roles.owner)
        assert loaded.returncode == 0, loaded.stderr
        allowed = f"{registrars},{receiver}"

        def serve(word: str, process: str) -> Serving:
            url, words = roles.of(process), (word, "--no-migrate")
            serving = Serving(data, *words, BUILDERS_DATABASE_URL=url, BUILDERS_OUTBOUND_ALLOW=allowed)
            return stack.enter_context(serving)

        http = serve("--http-only", HTTP)
        worker = serve("--worker-only", WORKER)
        http.wait()
        settings = environment(data, BUILDERS_DATABASE_URL=roles.of(OPERATOR))
        command = [
            "env",
            *(f"{name}={value}" for name, value in settings.items()),
            sys.executable,
            "-m",
            "builders",
        ]
        address = f"http://127.0.0.1:{http.port}"
        yield Deployed(address=address, command=shlex.join(command), receiver=receiver)
        refused = [line for each in (http, worker) for line in each.log().splitlines() if REFUSED in line]
        assert refused == []


class Person:
    """A person with an account; `developer` and `domainer` are clients with a live key of each preset."""

    def __init__(self, deployed: Deployed, name: str, stack: ExitStack) -> None:
        self._command, self.email = deployed.command, f"{name}-{uuid.uuid4().hex[:10]}@example.net"
        self._run("accounts", "create", "--email", self.email)

        def client(preset: Preset) -> httpx.Client:
            words = ("--account", self.email, "--kind", "live", "--preset", preset, "--json")
            key = json.loads(self._run("keys", "create", *words))["secret"]
            return stack.enter_context(connect(deployed.address, key))

        self.developer, self.domainer = client(Preset.DEVELOPER_FULL), client(Preset.DOMAINER_FULL)
        wanted = {"label": "plans", "key_kind": "test", "preset": Preset.DEVELOPER_FULL}
        minted = self.developer.post("/v1/api-keys", json=wanted)
        assert minted.is_success, minted.text
        self.test = stack.enter_context(connect(deployed.address, minted.json()["secret"]))
        self.account_id: str = self.developer.get("/v1/me").json()["id"]

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [*shlex.split(self._command), *words], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def client(self, scope: str | None) -> httpx.Client:
        """Return the client whose key has the scope."""
        return self.domainer if scope in DOMAINER else self.developer


def connect(address: str, key: str | None = None) -> httpx.Client:
    """Return a client that compares each response with the OpenAPI document."""

    def check(response: httpx.Response) -> None:
        response.read()
        assert response.status_code < httpx.codes.INTERNAL_SERVER_ERROR or response.status_code in {
            httpx.codes.BAD_GATEWAY,  # of a registrar
            httpx.codes.SERVICE_UNAVAILABLE,  # of a part that is not configured
        }, (response.request.method, response.url, response.text)
        published().check(response)

    headers = {} if key is None else {"X-API-Key": key}
    return httpx.Client(
        base_url=address, headers=headers, event_hooks={"response": [check]}, timeout=TIMEOUT_S, trust_env=False
    )


@pytest.fixture(scope="module")
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture(scope="module")
def alice(deployed: Deployed, stack: ExitStack) -> Person:
    """Return the owner of all resources."""
    return Person(deployed, "alice", stack)


@pytest.fixture(scope="module")
def bob(deployed: Deployed, stack: ExitStack) -> Person:
    """Return a stranger."""
    return Person(deployed, "bob", stack)


@pytest.fixture(scope="module")
def charlie(deployed: Deployed, stack: ExitStack, alice: Person) -> Person:
    """Return a member of Alice's team, with the role `viewer`."""
    person = Person(deployed, "charlie", stack)
    team = "/v1/portfolio/team"
    made = alice.domainer.post(f"{team}/invites", json={"email": person.email, "role": "viewer"})
    assert made.status_code == httpx.codes.CREATED, made.text
    joined = person.domainer.post(f"{team}/accept", json={"token": made.json()["accept_token"]})
    assert joined.status_code == httpx.codes.OK, joined.text
    return person
