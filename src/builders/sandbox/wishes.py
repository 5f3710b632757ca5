"""Wanted state: what a manifest says, as records."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from builders.sandbox.views import ProjectView

MAX_RESOURCES = 2000  # in a manifest, of all kinds together
MAX_BYTES = 1024 * 1024  # of a manifest as it is sent
GENERATE = "generate"  # the reference of a secret that is to be made


class OnConflict(StrEnum):
    """What to do with a resource that the account has already, but not by this manifest."""

    FAIL = "fail"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasWish:
    """An alias as the manifest wants it; domain and local part as written."""

    key: str  # unique in the manifest
    domain: str
    local_part: str
    destinations: tuple[str, ...]  # none: the project's own
    enabled: bool
    note: str | None
    labels: Mapping[str, str]
    project: str | None = None  # key, slug or id; None: the manifest's


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookWish:
    """A webhook destination as the manifest wants it; its secret is never in a manifest."""

    key: str
    label: str
    url: str
    enabled: bool
    events: tuple[str, ...]
    signing_secret_ref: str  # `generate`, or whose secret is copied: a key of the manifest or a label


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainWish:
    """The settings of an account domain as the manifest wants them."""

    key: str
    domain: str  # as written
    default_destination: str | None
    catch_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Wanted state."""

    name: str
    labels: Mapping[str, str]
    prune: bool
    on_conflict: OnConflict
    aliases: tuple[AliasWish, ...] = ()
    projects: tuple[ProjectView, ...] = ()  # the slug is None where the project keeps its own
    domains: tuple[DomainWish, ...] = ()
    webhooks: tuple[WebhookWish, ...] = ()
    project: str | None = None  # of its aliases that name none
