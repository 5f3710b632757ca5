"""Who comes in at a public door, as far as may be kept: a network in place of the address, and what asks for it.

What a machine fetches (scanners of mail, link previews, proxies that load images ahead) is no reading by a person.
The lists are of names that such programs give themselves; who hides is counted as a person, so all figures are
upper bounds.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from fastapi import Request

MAX_USER_AGENT_LENGTH = 512  # characters of a User-Agent that are looked at


class Agent(StrEnum):
    """What sort of program asks."""

    BROWSER = "browser"
    MAIL_PROGRAM = "mail_program"
    APPLE_PROXY = "apple_proxy"  # Mail Privacy Protection: loads every image, read or not
    IMAGE_PROXY = "image_proxy"  # Gmail's and Yahoo's: fetch for a reader, and keep what they have fetched
    SCANNER = "scanner"  # and previews, crawlers
    PROGRAM = "program"
    NONE = "none"  # it does not say


class Machine(StrEnum):
    """Why something is taken for a machine."""

    PREFETCH = "prefetch"  # a browser that says it only loads ahead
    APPLE_PROXY = "apple_proxy"
    IMAGE_PROXY = "image_proxy"
    SCANNER = "scanner"
    PROGRAM = "program"
    TOO_SOON = "too_soon"  # before a person can have seen the mail
    BURST = "burst"  # several links of one mail at once


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody at a public door."""

    network: str | None  # the address, cut to /24 or /48
    agent: Agent
    machine: Machine | None  # None for what looks like a person


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
# All that Apple's mail proxy says; its addresses are mostly those of other networks, shared with people.
_APPLE = "Mozilla/5.0"
_APPLE_NETWORKS = ("17.",)  # 17.0.0.0/8 is Apple's own
_AHEAD = frozenset((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"))
_IS_AHEAD = re.compile(rb"prefetch|prerender|preview", re.IGNORECASE)


def visitor_of(request: Request) -> Visitor:
    """The visitor who sends the request."""
    headers = request.scope["headers"]
    sent = dict(headers)
    agent = sent.get(b"user-agent", b"")[:MAX_USER_AGENT_LENGTH].decode("latin-1")
    # Seldom the second, for each of several of a name: a proxy may have added one of its own.
    is_ahead = not _AHEAD.isdisjoint(sent) and any(
        name in _AHEAD and _IS_AHEAD.search(value) is not None for name, value in headers
    )
    client = request.scope.get("client")  # a (host, port) pair or None, by ASGI
    return _visitor(client[0] if client else "", agent, is_ahead=is_ahead)


@lru_cache(maxsize=4096)
def _visitor(address: str, agent: str, *, is_ahead: bool) -> Visitor:
    kind = classify_user_agent(agent)
    if kind is Agent.BROWSER and address.startswith(_APPLE_NETWORKS):
        kind = Agent.APPLE_PROXY
    machine = Machine.PREFETCH if is_ahead else _MACHINES.get(kind)
    return Visitor(truncate_address(address), kind, machine)


def classify_user_agent(text: str) -> Agent:
    """The sort of program that a User-Agent names."""
    if not text.strip():
        return Agent.NONE
    if text == _APPLE:
        return Agent.APPLE_PROXY
    return next((agent for agent, pattern in _PATTERNS if pattern.search(text)), Agent.PROGRAM)


def truncate_address(address: str) -> str | None:
    """The network of an address: /24 of IPv4, /48 of IPv6; None for what is none, such as a Unix socket's peer."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if isinstance(found, IPv4Address):
        return f"{IPv4Address(int(found) >> 8 << 8)}/24"
    return f"{IPv6Address(int(found) >> 80 << 80)}/48"
