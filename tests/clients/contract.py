"""The far end that does what the contract of the clients (clients/contract.toml) says, and the comparison."""

import base64
import hmac
import json
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple

from tests.architecture.source import ROOT
from tests.clients.python.far_end import Answer, Asked
from tests.published import published

CONTRACT: Mapping[str, Any] = tomllib.loads((ROOT / "clients/contract.toml").read_text(encoding="utf-8"))
FAST = {"first_wait": 0.002, "longest_wait": 0.01}
PAGE: Mapping[str, Any] = {"items": [], "next_cursor": None}
_PREFIX = "whsec_"


class Seen(NamedTuple):
    """What a call did."""

    outcome: str
    """`done`, or the class of the error."""
    code: str | None = None
    retry_after: float | None = None


class Stub:
    """A far end with each behavior below the path `/{number of the behavior}/{name of the run}`."""

    def __init__(self) -> None:
        self._asked = defaultdict[str, list[Asked]](list)
        self._guard = Lock()

    def answer(self, asked: Asked) -> Answer:
        """Return the next answer of the behavior, or for a client elsewhere the table and what arrived."""
        _, number, run, *_ = asked.path.split("/")
        if number == "contract":
            return Answer(
                200,
                {"behaviors": CONTRACT["behaviors"], "deliveries": list(map(delivery, CONTRACT["deliveries"]))},
            )
        if number == "seen":
            return Answer(200, self.problems(int(run), Seen(**json.loads(asked.body)), "node"))
        with self._guard:
            earlier = self._asked[f"{number}/{run}"]
            earlier.append(asked)
            answers = CONTRACT["behaviors"][int(number)]["answers"]
            return answer_of(answers[min(len(earlier), len(answers)) - 1])

    def problems(self, number: int, seen: Seen, run: str) -> list[str]:
        """Return how a run differs from the contract."""
        wanted, asked = CONTRACT["behaviors"][number], self._asked[f"{number}/{run}"]
        fewest, most = wanted["requests"]
        found = [] if fewest <= len(asked) <= most else [f"{len(asked)} requests instead of {fewest} to {most}"]
        if seen.outcome == "TimedOut" and wanted["outcome"] != "done" and fewest < most:
            return found  # the deadline ended the last of many attempts
        if seen.outcome != wanted["outcome"]:
            found.append(f"{seen.outcome} instead of {wanted['outcome']}")
        if "code" in wanted and seen.code != wanted["code"]:
            found.append(f"the code {seen.code}")
        if "retry_after" in wanted and seen.retry_after != wanted["retry_after"]:
            found.append(f"{seen.retry_after} s to wait")
        if len({(each.headers.get("idempotency-key"), each.body) for each in asked}) > 1:
            found.append("another key or other bytes")
        if any("cookie" in each.headers for each in asked):
            found.append("a cookie")
        return [f"{wanted['when']} {each}" for each in found]


def answer_of(told: Mapping[str, Any]) -> Answer:
    """Return what the server sends."""
    if told.get("lost"):
        return Answer(None)
    if "example" in told:
        schemas = published().document["components"]["schemas"]
        found = PAGE if told["example"] == "page" else schemas[told["example"]]["examples"][0]
        body = json.dumps(found).encode()
    else:
        body = told.get("body", "").encode() * told.get("repeat", 1)
    headers = {"Content-Type": "application/json"} | told.get("headers", {})
    if told.get("status") in {204, 304}:
        headers = {"Content-Length": ""}
    if "fill" in told:
        headers["X-Fill"] = "x" * told["fill"]
    answer = Answer(
        told.get("status", 200),
        body,
        headers,
        pause=told.get("drip", 0),
        raw=told["raw"].encode("latin-1") if "raw" in told else None,
        cut=told.get("cut", 0),
        silent=told.get("silent", False),
    )
    return answer._replace(raw=answer.head(body) + body) if told.get("head") else answer


def delivery(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a webhook request with its signature, the secrets of the receiver, and how it ends."""
    sent: Mapping[str, Any] = CONTRACT["delivery"]
    body = told.get("body", sent["body"])
    headers = {"webhook-id": sent["id"], "webhook-timestamp": str(sent["now"])} | told.get("headers", {})
    if "digits" in told:
        headers["webhook-timestamp"] = "1" * told["digits"]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    key = base64.b64decode(told.get("key", sent["secret"].removeprefix(_PREFIX)))
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    headers = {"webhook-signature": f"v1,{signature}"} | headers
    if "surrogate" in told:
        headers[told["surrogate"]] += "\udcff"
    return {
        "when": told["when"],
        "body": body,
        "headers": {name: value for name, value in headers.items() if value},
        "secrets": told.get("secrets", [sent["secret"]]),
        "now": sent["now"],
        "outcome": told["outcome"],
    }
