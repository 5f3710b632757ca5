"""The client of a public page, without personal data."""

from dataclasses import dataclass
from enum import StrEnum


class Agent(StrEnum):
    """The kind of client."""

    BROWSER = "browser"
    MAIL_PROGRAM = "mail_program"
    APPLE_PROXY = "apple_proxy"  # Mail Privacy Protection: loads every image, also of unread mail
    IMAGE_PROXY = "image_proxy"  # of Gmail and Yahoo: fetches an image when a person opens the mail, and caches it
    SCANNER = "scanner"  # and previews, crawlers
    PROGRAM = "program"
    NONE = "none"  # no User-Agent


class Machine(StrEnum):
    """Why a request counts as automated."""

    PREFETCH = "prefetch"  # a browser that prefetches
    APPLE_PROXY = "apple_proxy"
    IMAGE_PROXY = "image_proxy"
    SCANNER = "scanner"
    PROGRAM = "program"
    TOO_SOON = "too_soon"  # too early for a person to open the mail
    BURST = "burst"  # several links of one mail at once


@dataclass(frozen=True, slots=True)
class Visitor:
    """The client of a public page."""

    network: str | None  # the address, truncated to /24 or /48
    agent: Agent
    machine: Machine | None  # None for a person
