"""Profiles: the address of a service and the keys for it. Secrets are in the keyring, else in the file (0600)."""

import importlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from builders_client.cli.faults import SIGN_IN, Fault
from builders_client.operation import Operation

APP, DEFAULT = "bld", "default"
Json = dict[str, Any]


def config_file() -> Path:
    """Return the path of the file with the profiles."""
    from platformdirs import user_config_path

    return user_config_path(APP) / "profiles.json"


def state_folder(profile: str) -> Path:
    """Return the folder for cursors and other state of a profile; it exists."""
    from platformdirs import user_state_path

    folder = user_state_path(APP) / profile
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def load() -> Json:
    """Return all profiles by name. Raise Fault."""
    path = config_file()
    _require_private(path)
    try:
        found = json.loads(path.read_bytes())
        return dict(found["profiles"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Fault(
            f"{path} cannot be read: {error}", next_action="Delete the file and sign in again with `bld login`."
        ) from error


def _require_private(path: Path) -> None:
    """Raise Fault if others can read the file, which holds keys."""
    try:
        others = path.stat().st_mode & 0o077
    except OSError:
        return  # it is absent, or cannot be read either
    if others and os.name == "posix":
        raise Fault(
            f"Other users of this machine can read the keys in {path}.",
            next_action=f"chmod 600 '{path}', and revoke the keys if others use this machine.",
            code=SIGN_IN,
        )


def save(profiles: Json) -> None:
    """Replace the file."""
    write_private(config_file(), json.dumps({"profiles": profiles}, indent=2))


def write_private(path: Path, text: str) -> None:
    """Replace a file that only its owner reads."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The file is created with the mode 0600.
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    Path(file.name).replace(path)


def store(name: str, *, url: str, keys: Sequence[Json]) -> str:
    """Store the keys of a profile in place of present ones. Return where the secrets are."""
    profiles, ring = load(), keyring()
    forget(profiles.pop(name, None))
    stored = []
    for key in keys:
        each = {word: value for word, value in key.items() if word != "secret"}
        if ring is None or not _keep(ring, key):
            each["secret"] = key["secret"]
        stored.append(each)
    save({**profiles, name: {"url": url, "keys": stored}})
    return str(config_file()) if any("secret" in each for each in stored) else "the keyring"


def _keep(ring: Any, key: Json) -> bool:
    """Return whether the keyring could store a key: it can be locked."""
    try:
        ring.set_password(APP, key["id"], key["secret"])
    except ring.errors.KeyringError:
        return False
    return True


def remove(name: str) -> None:
    """Remove a profile with its secrets."""
    profiles = load()
    forget(profiles.pop(name, None))
    save(profiles)


def forget(profile: Mapping[str, Any] | None) -> None:
    """Remove the secrets of a profile from the keyring."""
    ring = keyring()
    for key in () if profile is None or ring is None else profile["keys"]:
        if "secret" not in key:
            with suppress(ring.errors.KeyringError):  # it is locked, or the secret was removed there
                ring.delete_password(APP, key["id"])


def keyring() -> Any:
    """Return the keyring library; None without it or without a backend."""
    try:
        library = importlib.import_module("keyring")  # optional
        without_backend = importlib.import_module("keyring.backends.fail").Keyring
    except ImportError:
        return None
    return None if isinstance(library.get_keyring(), without_backend) else library


def secret(key: Mapping[str, Any]) -> str | None:
    """Return the secret of a key."""
    if "secret" in key:
        return str(key["secret"])
    ring = keyring()
    if ring is None:
        return None
    try:
        found = ring.get_password(APP, key["id"])
    except ring.errors.KeyringError as error:
        raise Fault(
            f"The keyring does not open: {error}", next_action="Unlock it, or set BUILDERS_API_KEY.", code=SIGN_IN
        ) from error
    return None if found is None else str(found)


def usable(keys: Sequence[Json], *, test: bool) -> Sequence[Json]:
    """Return the keys that have not expired, live keys first; with `test` only test keys."""
    now = datetime.now(UTC)
    left = [
        key
        for key in keys
        if (key.get("expires_at") is None or datetime.fromisoformat(key["expires_at"]) > now)
        and not (test and key["key_kind"] != "test")
    ]
    return sorted(left, key=lambda key: bool(key["key_kind"] != "live"))


def choose(keys: Sequence[Json], operation: Operation) -> str | None:
    """Return the secret of the first key with the scope of an operation, else of the first key."""
    having = [key for key in keys if operation.scope is None or operation.scope in key["scopes"]]
    chosen = next(iter(having or keys), None)
    return None if chosen is None else secret(chosen)


def same_service(one: str, other: str) -> bool:
    """Return whether two addresses are of the same service: keys are not sent to another."""
    return _service(one) == _service(other)


def _service(address: str) -> tuple[str, str, str]:
    parts = urlsplit(address.rstrip("/").removesuffix("/v1"))
    return parts.scheme, parts.netloc.lower(), parts.path


def environment_key() -> str | None:
    """Return the key of the environment, which wins over the profile."""
    return os.environ.get("BUILDERS_API_KEY", "").strip() or None
