"""The people whose browsers open the console of a demo, and the commands and messages that they use."""

import email
import email.policy
import re
import shlex
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

OWNER = "domainer@builders.example"  # has names, domains, a portfolio and a team
DECIDER, ACCOUNTANT = "manager@builders.example", "accountant@builders.example"  # of that team
BUYER = "developer@builders.example"  # whose account the walks change
STRANGER = "stranger@builders.example"  # of no team
REVIEWER = "reviewer@builders.example"
DOMAINER = "collector@builders.example"  # who has a file and nothing else
BOOKKEEPER = "bookkeeper@builders.example"  # who splits a charge
WITHIN_S = 20


@dataclass(frozen=True, slots=True)
class Demo:
    """A running demo: its address, its folder and its command line."""

    origin: str
    folder: Path
    command: str

    @classmethod
    def of(cls, filled_in: Mapping[str, str]) -> "Demo":
        """Return the demo that `tests/demo_server.py` started."""
        return cls(filled_in["http://127.0.0.1:8000"], Path(filled_in[".data"]), filled_in["script/builders"])

    def run(self, *words: str) -> str:
        """Run a command of the operator; return what it prints."""
        done = subprocess.run(
            [*shlex.split(self.command), *words], capture_output=True, text=True, check=True, cwd=self.folder
        )
        return done.stdout

    def make_client(self, account: str, preset: str = "developer_full") -> httpx.Client:
        """Return a client with a new live key of an account."""
        printed = self.run("keys", "create", "--account", account, "--kind", "live", "--preset", preset)
        [key] = re.findall(r"svc_live_\w+", printed)
        return httpx.Client(base_url=self.origin, headers={"X-API-Key": key}, timeout=60)

    def find_link(self, to: str, path: str, *, after: float = 0) -> str:
        """Return the newest emailed link to a path that a person received after a time; wait for it."""
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            for file in sorted((self.folder / "outbox").glob("*.eml"), reverse=True):
                message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
                link = re.search(rf"http\S+{re.escape(path)}[?/][^\s>]+", _text(message))
                if link is not None and to in str(message["to"]) and file.stat().st_mtime >= after:
                    return link[0]
            time.sleep(0.1)
        raise AssertionError(f"{to} received no link to {path}")

    def sign_in(self, page: Any, address: str) -> None:
        """Sign in by the link in the emailed message, and press its button."""
        began = time.time()
        page.goto("/v1/auth/login")
        page.get_by_label("Email address").fill(address)
        page.get_by_role("button", name="Email me").click()
        page.goto(self.find_link(address, "/v1/auth/login", after=began))
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/console")


def _text(message: Any) -> str:
    """Return the text of a message with the address to unsubscribe, which is a header."""
    body = message.get_body(("plain",))
    return f"{message['list-unsubscribe'] or ''}\n{'' if body is None else body.get_content()}"
