"""Build the new state of a connection from a request, and validate it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from builders.kit.errors import Invalid
from builders.kit.outbound.client import Outbound, UrlRefused
from builders.kit.values.patches import UNSET, patched
from builders.portfolio.registrars.change_records import ConnectionPatch
from builders.portfolio.registrars.providers import is_live_host
from builders.portfolio.registrars.records import DEFAULT_SYNC_HOURS, Connection, Environment, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A connection that is not saved yet."""

    label: str | None
    environment: Environment
    base_url: str | None
    is_enabled: bool
    sync_interval_hours: int
    credentials: Mapping[str, str] = field(repr=False)
    unknown: Mapping[str, str | None]  # names of credentials that the registrar does not have, with similar ones


def make_draft(
    outbound: Outbound,
    *,
    profile: Profile,
    before: Connection | None,
    old: Mapping[str, str],
    patch: ConnectionPatch,
    is_sandbox: bool,
) -> Draft:
    """Return the connection after the patch; `old` are its present credentials. Raise Invalid."""
    base_url = _base_url(outbound, before=before, patch=patch, is_sandbox=is_sandbox)
    environment = _environment(profile, before=before, patch=patch, base_url=base_url, is_sandbox=is_sandbox)
    is_moved = before is not None and before.base_url != base_url
    unknown = patch.credentials.keys() - {each.name for each in profile.credential_fields}
    return Draft(
        label=patched(patch.label, before.label if before else None),
        environment=environment,
        base_url=base_url,
        is_enabled=patched(patch.is_enabled, before.is_enabled if before else True),
        sync_interval_hours=patched(
            patch.sync_interval_hours, before.sync_interval_hours if before else DEFAULT_SYNC_HOURS
        ),
        credentials=_credentials(profile, old={} if is_moved else old, patch=patch, is_moved=is_moved),
        unknown={name: _similar(profile, name) for name in sorted(unknown)},
    )


def _base_url(
    outbound: Outbound, *, before: Connection | None, patch: ConnectionPatch, is_sandbox: bool
) -> str | None:
    if patch.base_url is UNSET or patch.base_url is None:
        return patched(patch.base_url, before.base_url if before else None)
    loc = ("body", "base_url")
    if not is_sandbox:
        raise Invalid(loc, "A base URL can be set with a test key only.", "base_url_not_allowed")
    try:
        target = outbound.validate_url(patch.base_url)
    except UrlRefused as error:
        raise error.at(*loc) from None
    if "?" in target.path:
        raise Invalid(loc, "A base URL has no query.", "base_url_not_allowed")
    if is_live_host(target.host):
        message = "This is a registrar's production API, which requires a live key."
        raise Invalid(loc, message, "base_url_not_allowed")
    return target.url.rstrip("/")


def _environment(
    profile: Profile,
    *,
    before: Connection | None,
    patch: ConnectionPatch,
    base_url: str | None,
    is_sandbox: bool,
) -> Environment:
    present = profile.base_urls.keys()
    default = Environment.SANDBOX if is_sandbox and Environment.SANDBOX in present else Environment.LIVE
    environment = patched(patch.environment, before.environment if before else default)
    if not profile.credential_fields:
        return environment
    if base_url is None and environment not in present:
        message = f"{profile.label} has no {environment} environment."
        raise Invalid(("body", "environment"), message, "environment_not_allowed")
    if base_url is None and is_sandbox and environment is Environment.LIVE:
        other = " or environment=sandbox" if Environment.SANDBOX in present else ""
        message = f"The production API requires a live key; with a test key, set base_url{other}."
        raise Invalid(("body", "base_url"), message, "base_url_required")
    return environment


def _credentials(
    profile: Profile, *, old: Mapping[str, str], patch: ConnectionPatch, is_moved: bool
) -> Mapping[str, str]:
    known = [each.name for each in profile.credential_fields]
    sent = {name: patch.credentials[name] for name in known if name in patch.credentials}
    after = {name: value for name, value in {**old, **sent}.items() if value is not None}
    why = "A new base URL requires all credentials: send them again." if is_moved else "Field required."
    missing: list[dict[str, Any]] = [
        {"loc": ("body", "credentials", each.name), "msg": f"{each.label}: {why}", "type": "credential_required"}
        for each in profile.credential_fields
        if each.is_required and each.name not in after
    ]
    if missing:
        raise Invalid.many(missing)
    return {name: after[name] for name in known if name in after}


def _similar(profile: Profile, name: str) -> str | None:
    names = [each.name for each in profile.credential_fields]
    return next(iter(get_close_matches(name[:80], names, n=1)), None)
