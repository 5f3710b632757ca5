"""The manifest: the desired state, as records."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from builders.sandbox.views import ProjectView

MAX_RESOURCES = 2000  # in a manifest, of all kinds together
MAX_BYTES = 1024 * 1024  # of a manifest as it is sent
GENERATE = "generate"  # the reference of a new secret


class OnConflict(StrEnum):
    """What to do with an existing resource that this manifest does not manage."""

    FAIL = "fail"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredAlias:
    """A desired alias; domain and local part as written."""

    key: str  # unique in the manifest
    domain: str
    local_part: str
    destinations: tuple[str, ...]  # none: the project's own
    enabled: bool
    note: str | None
    labels: Mapping[str, str]
    project: str | None = None  # key, slug or id; None: the manifest's


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredWebhook:
    """A desired webhook destination; a manifest never contains its secret."""

    key: str
    label: str
    url: str
    enabled: bool
    events: tuple[str, ...]
    signing_secret_ref: str  # `generate`, or whose secret is copied: a key of the manifest or a label


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredDomain:
    """The desired settings of an account domain."""

    key: str
    domain: str  # as written
    default_destination: str | None
    catch_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The desired state of an account's resources."""

    name: str
    labels: Mapping[str, str]
    prune: bool
    on_conflict: OnConflict
    aliases: tuple[DesiredAlias, ...] = ()
    projects: tuple[ProjectView, ...] = ()  # the slug is None where the project keeps its own
    domains: tuple[DesiredDomain, ...] = ()
    webhooks: tuple[DesiredWebhook, ...] = ()
    project: str | None = None  # of its aliases that name none
