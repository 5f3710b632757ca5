"""What is asked of the three, each as a handful of requests that are sent in turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

FREE_NAMES = ("quill", "otter.bay", "maple-nine", "tessera", "norn", "bluefinch", "kestrel.four", "umbra")
TAKEN_NAMES = ("ada", "grace", "linus", "margaret.h", "edsger", "barbara-l", "alan.t", "katherine")
DOMAINS = ("harbour.example", "pixel.example", "cool.example", "compile.example")
GIVEN = (
    "jane",
    "noor",
    "ada",
    "mei",
    "olu",
    "ines",
    "tomas",
    "yuki",
    "omar",
    "lena",
    "ravi",
    "sofia",
    "amir",
    "kofi",
)
FAMILY = (
    "doe",
    "silva",
    "okafor",
    "tanaka",
    "novak",
    "haddad",
    "meyer",
    "rossi",
    "larsen",
    "quispe",
    "moreau",
    "adeyemi",
)
TRADES = (
    "",
    "studio",
    "music",
    "shop",
    "garden",
    "code",
    "bakery",
    "films",
    "yoga",
    "travel",
    "law",
    "bikes",
    "books",
)
QUERIES = (
    "jane doe",
    "ada lovelace",
    "pixel studio",
    "john@har",
    "noor",
    "blue otter",
    "Grace Hopper",
    "café ami",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What the prepared database holds, as far as requests need to know."""

    key: str  # an API key
    key_ids: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One line of the table."""

    name: str
    says: str
    requests: Sequence[bytes]
    has_aim: bool = True


def get(target: str, key: str | None = None) -> bytes:
    """A GET request as it goes over the wire."""
    credentials = f"x-api-key: {key}\r\n" if key else ""
    return f"GET {target} HTTP/1.1\r\nhost: bench.example\r\naccept: */*\r\n{credentials}\r\n".encode()


def target(request: bytes) -> str:
    """The address that a request asks for."""
    return request.split(b" ", 2)[1].decode()


def _suggest(query: str) -> bytes:
    return get(f"/v1/catalog/suggest?q={quote(query.strip())}")


def _check(names: Sequence[str]) -> list[bytes]:
    pairs = [(name, domain) for name in names for domain in DOMAINS]
    return [get(f"/v1/catalog/check?local_part={name}&domain={domain}") for name, domain in pairs]


def scenarios(stage: Stage) -> dict[str, Scenario]:
    """All scenarios by name."""
    made = (
        Scenario(name="list", says="a list of 50 with a key", requests=[get("/v1/api-keys?limit=50", stage.key)]),
        Scenario(
            name="read",
            says="read of one with a key",
            requests=[get(f"/v1/api-keys/{each}", stage.key) for each in stage.key_ids],
        ),
        Scenario(name="check-free", says="name check, free", requests=_check(FREE_NAMES)),
        Scenario(name="check-taken", says="name check, taken", requests=_check(TAKEN_NAMES)),
        Scenario(
            name="suggest",
            says="suggest",
            requests=[_suggest(each) for each in QUERIES],
        ),
        Scenario(
            name="suggest-new",
            says="suggest, each query new",
            requests=[_suggest(f"{a} {b} {c}") for c in TRADES for b in FAMILY for a in GIVEN],
            has_aim=False,
        ),
    )
    return {each.name: each for each in made}
