"""The scenarios of `python -m bench.run`: each is a set of requests that a client repeats."""

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


LIST = "/v1/api-keys?limit=50"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleKeys:
    """API keys in the prepared database."""

    secret: str  # of one key
    ids: Sequence[str]  # of its account
    others: Sequence[str] = ()  # secrets of keys of other accounts, which have as many keys as a list shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The least ratios of a scenario."""

    bare_asgi_cpu: float  # processor time of bare ASGI to that of the service
    bare_asgi_rate: float = 0.0
    fastapi_orm: float = 5.0  # rate to that of FastAPI + ORM


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A line of the table."""

    name: str
    description: str
    requests: Sequence[bytes]
    targets: Targets | None = None


def get(target: str, key: str | None = None) -> bytes:
    """Return a GET request as bytes."""
    credentials = f"x-api-key: {key}\r\n" if key else ""
    return f"GET {target} HTTP/1.1\r\nhost: bench.example\r\naccept: */*\r\n{credentials}\r\n".encode()


def target(request: bytes) -> str:
    """Return the path and query of a request."""
    return request.split(b" ", 2)[1].decode()


def _suggest(query: str) -> bytes:
    return get(f"/v1/catalog/suggest?q={quote(query.strip())}")


def _check(name: str, description: str, parts: Sequence[str]) -> Scenario:
    pairs = [(part, domain) for part in parts for domain in DOMAINS]
    requests = [get(f"/v1/catalog/check?local_part={part}&domain={domain}") for part, domain in pairs]
    return Scenario(name=name, description=description, requests=requests, targets=Targets(bare_asgi_cpu=0.75))


def scenarios(keys: SampleKeys) -> dict[str, Scenario]:
    """Return all scenarios by name."""
    made = (
        Scenario(
            name="list",
            description="a list of 50 with a key",
            requests=[get(LIST, keys.secret)],
            targets=Targets(bare_asgi_cpu=0.72, bare_asgi_rate=0.9),
        ),
        Scenario(
            name="list-accounts",
            description="a list of 50 with keys of sixteen accounts",
            requests=[get(LIST, secret) for secret in (keys.secret, *keys.others)],
        ),
        Scenario(
            name="read",
            description="read of one with a key",
            requests=[get(f"/v1/api-keys/{each}", keys.secret) for each in keys.ids],
            targets=Targets(bare_asgi_cpu=0.68),
        ),
        _check("check-free", "name check, free", FREE_NAMES),
        _check("check-taken", "name check, taken", TAKEN_NAMES),
        Scenario(
            name="suggest",
            description="suggest",
            requests=[_suggest(each) for each in QUERIES],
            targets=Targets(bare_asgi_cpu=0.95),
        ),
        Scenario(
            name="suggest-new",
            description="suggest, each query new",
            requests=[_suggest(f"{a} {b} {c}") for c in TRADES for b in FAMILY for a in GIVEN],
        ),
    )
    return {each.name: each for each in made}
