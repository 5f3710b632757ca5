"""The visitor of a public page, without personal data: a truncated address and the kind of user agent.

A request of an automated client (mail scanner, link preview, image proxy) is not counted as a person's. The lists
hold names that such clients send in User-Agent. A client that hides counts as a person, so all figures are upper
bounds.
"""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from fastapi import Depends, Request

from builders.kit.errors import Problem, refuses
from builders.kit.marks import Mark
from builders.kit.visitors import Agent, Machine, Visitor

MAX_USER_AGENT_LENGTH = 512  # characters of a User-Agent that are compared


_IMAGE_PROXIES = "GoogleImageProxy|ggpht.com|YahooMailProxy"
_SCANNERS = (
    r"bot\b|crawl|spider|slurp|preview|scanner|scrape|facebookexternalhit|facebookcatalog|WhatsApp|Telegram|Slack|"
    r"Discord|Skype|Teams|Barracuda|Proofpoint|Mimecast|MessageLabs|Symantec|Sophos|FireEye|Trend ?Micro|Cisco|"
    r"IronPort|Forcepoint|Zscaler|SafeLinks|Safe ?Browsing|Google-Safety|HeadlessChrome|PhantomJS|Lighthouse|"
    r"Embedly|Iframely|monitor|uptime|archiver|validator"
)
_PROGRAMS = (
    r"^(curl|wget|python|aiohttp|httpx|go-http-client|java|okhttp|axios|node|undici|ruby|php|perl|libwww|"
    r"apache-httpclient|guzzle|postman|insomnia|dart|rust|reqwest|powershell)\b|python-requests|libcurl"
)
_MAIL_PROGRAMS = "Thunderbird|Outlook|ms-office|MSOffice|Airmail|eM Client|Lotus-Notes|Spark/"
_PATTERNS = [
    (agent, re.compile(pattern, re.IGNORECASE))
    for agent, pattern in (
        (Agent.IMAGE_PROXY, _IMAGE_PROXIES),
        (Agent.SCANNER, _SCANNERS),
        (Agent.PROGRAM, _PROGRAMS),
        (Agent.MAIL_PROGRAM, _MAIL_PROGRAMS),
        (Agent.BROWSER, r"^Mozilla/\d|^Opera/"),
    )
]
_MACHINES = {
    Agent.APPLE_PROXY: Machine.APPLE_PROXY,
    Agent.IMAGE_PROXY: Machine.IMAGE_PROXY,
    Agent.SCANNER: Machine.SCANNER,
    Agent.PROGRAM: Machine.PROGRAM,
    Agent.NONE: Machine.PROGRAM,
}
# The whole User-Agent of Apple's mail proxy; most of its addresses belong to networks that people use too.
_APPLE = "Mozilla/5.0"
_APPLE_NETWORKS = ("17.",)  # 17.0.0.0/8 is Apple's own
_PREFETCH_HEADERS = frozenset((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"))
_PREFETCH_VALUE = re.compile(rb"prefetch|prerender|preview", re.IGNORECASE)


def visitor_of(request: Request) -> Visitor:
    """Return the visitor who sent the request."""
    headers = request.scope["headers"]
    sent = dict(headers)
    agent = sent.get(b"user-agent", b"")[:MAX_USER_AGENT_LENGTH].decode("latin-1")
    # A dict keeps one header of a name and a proxy may add its own: when one is present, check all.
    is_prefetch = not _PREFETCH_HEADERS.isdisjoint(sent) and any(
        name in _PREFETCH_HEADERS and _PREFETCH_VALUE.search(value) is not None for name, value in headers
    )
    client = request.scope.get("client")  # a (host, port) pair or None, by ASGI
    return _visitor(client[0] if client else "", agent, is_prefetch=is_prefetch)


@lru_cache(maxsize=4096)
def _visitor(address: str, agent: str, *, is_prefetch: bool) -> Visitor:
    kind = next((kind for kind, pattern in _PATTERNS if pattern.search(agent)), Agent.PROGRAM)
    if not agent.strip():
        kind = Agent.NONE
    elif agent == _APPLE or (kind is Agent.BROWSER and address.startswith(_APPLE_NETWORKS)):
        kind = Agent.APPLE_PROXY
    machine = Machine.PREFETCH if is_prefetch else _MACHINES.get(kind)
    return Visitor(truncate_address(address), kind, machine)


def truncate_address(address: str) -> str | None:
    """Return the /24 (IPv4) or /48 (IPv6) of an address; None for other text, such as a Unix socket's peer."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if isinstance(ip, IPv4Address):
        return f"{IPv4Address(int(ip) >> 8 << 8)}/24"
    return f"{IPv6Address(int(ip) >> 80 << 80)}/48"


class PrefetchRefused(Problem):
    """A prefetching browser may not follow this link."""

    status, code = 503, "prefetch_refused"
    remedy = "Open the link yourself."


changes_state = refuses(PrefetchRefused)(Mark())
# For `dependencies` of a GET that changes something; it has no HEAD, which must not change anything.
CHANGES_STATE = Depends(changes_state)


def refuse_prefetch(request: Request) -> None:
    """Refuse a request that a browser sends to prefetch. Raise PrefetchRefused."""
    if visitor_of(request).machine is Machine.PREFETCH:
        raise PrefetchRefused("Open the link yourself.", retry_after=1)
