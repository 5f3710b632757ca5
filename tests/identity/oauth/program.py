"""A program that people connect: its description at an https address, and its part of the flow."""

import base64
import hashlib
import json
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import trustme

from builders.app import Service
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.kit.outbound.receivers import Reader, Receiver, Writer, receiving

URL = "http://builders.test"
LOOPBACK = "http://127.0.0.1:51234/callback"
READS = {"toolsets": ["names"]}
Json = dict[str, Any]


class Publisher:
    """Serves the description of the program."""

    def __init__(self, receiver: Receiver, ca: Path) -> None:
        self.receiver, self.ca = receiver, ca
        self.client_id = f"https://127.0.0.1:{receiver.port}/program.json"
        self.reset()

    def reset(self) -> None:
        """Serve the usual description."""
        self.document: Json = {
            "client_id": self.client_id,
            "client_name": "Ada's Editor",
            "redirect_uris": [
                "http://127.0.0.1/callback",
                "http://localhost/callback",
                f"https://127.0.0.1:{self.receiver.port}/callback",
            ],
            "token_endpoint_auth_method": "none",
        }
        self.status, self.headers = "200 OK", "Content-Type: application/json\r\n"
        self.body: bytes | None = None  # in place of the document
        self.is_stalled = False  # does not answer
        self.receiver.requests.clear()

    @property
    def fetches(self) -> int:
        """Return how often the description was fetched."""
        return len(self.receiver.requests)

    async def answer(self, reader: Reader, writer: Writer) -> None:
        """Answer a request."""
        if self.is_stalled:
            await reader.read()  # until the client gives up
            writer.close()
            return
        body = json.dumps(self.document).encode() if self.body is None else self.body
        head = f"HTTP/1.1 {self.status}\r\n{self.headers}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def publishing(folder: Path) -> AsyncIterator[Publisher]:
    """Run the server of the description."""
    authority, ca = trustme.CA(), folder / "ca.pem"
    authority.cert_pem.write_to_path(str(ca))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    found: list[Publisher] = []

    async def answer(reader: Reader, writer: Writer) -> None:
        await found[0].answer(reader, writer)

    async with receiving(answer, tls=tls) as receiver:
        found.append(Publisher(receiver, ca))
        yield found[0]


class Program:
    """The program, and the browser in which a person is signed in."""

    def __init__(self, service: Service, publisher: Publisher, browser: Client) -> None:
        self.service, self.publisher, self.browser = service, publisher, browser
        self.verifier = secrets.token_urlsafe(32)
        self.state = secrets.token_urlsafe(16)
        self.redirect_uri = LOOPBACK
        self.client = Client(service)

    @property
    def parameters(self) -> Json:
        """Return those of its authorization request."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return {
            "response_type": "code",
            "client_id": self.publisher.client_id,
            "redirect_uri": self.redirect_uri,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": f"{URL}/mcp",
        }

    async def begin(self, browser: Client | None = None, **changed: str | None) -> str:
        """Open the authorization address in a browser; return the API's path of the request."""
        sent = {name: value for name, value in (self.parameters | changed).items() if value is not None}
        opened = browser or self.browser
        answer = await opened.get("/oauth/authorize", params=sent, headers={"Accept": ACCEPT})
        assert answer.status_code == 303, answer.text
        where = answer.headers["location"]
        assert where.startswith("/console/connect/")
        return f"/v1/auth/oauth/requests/{where.rpartition('/')[2]}"

    async def decide(self, path: str, **changed: Any) -> httpx.Response:
        """Decide about a request."""
        opened = (await self.browser.get(path)).json()
        body = {"decision": "allow", "client_digest": opened.get("client_digest", ""), "mandate": READS}
        return await self.browser.post(f"{path}/decision", json=body | changed)

    async def get_code(self, **changed: Any) -> str:
        """Let the person allow; return the code."""
        answer = await self.decide(await self.begin(), **changed)
        assert answer.status_code == 200, answer.text
        return answer_of(answer.json()["redirect_url"])["code"]

    async def redeem(self, code: str, **changed: str) -> httpx.Response:
        """Exchange a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.publisher.client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            "resource": f"{URL}/mcp",
        }
        return await self.client.post("/oauth/token", data=form | changed)

    async def connect(self, **changed: Any) -> Json:
        """Let the person allow, and exchange the code; return the tokens."""
        answer = await self.redeem(await self.get_code(**changed))
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def refresh(self, token: str, **changed: str) -> httpx.Response:
        """Use a refresh token."""
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.publisher.client_id}
        return await self.client.post("/oauth/token", data=form | changed)


def answer_of(url: str) -> dict[str, str]:
    """Return the parameters with which a browser goes back to the program."""
    return dict(parse_qsl(urlsplit(url).query))


def error_of(answer: httpx.Response) -> str:
    """Return the error of a refused request of the program."""
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert "no-store" in answer.headers["cache-control"]
    found: str = answer.json()["error"]
    return found


async def reasons(person: Person) -> list[str]:
    """Return why keys and connections of a person were revoked, newest first."""
    entries = (await person.get("/v1/account/audit?action=api_key.revoked")).json()["items"]
    return [each["about"].get("reason", "") for each in entries]


@asynccontextmanager
async def browsing(service: Service, person: Person) -> AsyncIterator[Client]:
    """Return a browser of the service in which a person is signed in."""
    new = await person.sign_in()
    async with Client(service, cookie=new.token) as browser:
        cookie = browser.headers.pop("Cookie")
        browser.cookies.set("svc_access_token", cookie.partition("=")[2], domain="builders.test")
        browser.headers["Sec-Fetch-Site"] = "same-origin"
        yield browser
