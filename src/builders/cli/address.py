"""Where `serve` listens, and which process already does."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import psutil

from builders.kit.process import parts
from builders.kit.process.parts import Parts
from builders.kit.process.redaction import MaskedCopy
from builders.kit.process.settings import Settings
from builders.kit.values import clock

SERVED = "served-at.json"  # in the data folder
MAX_SHOWN = 80  # characters of a setting


@contextmanager
def kept(settings: Settings, *, parts_path: str) -> Iterator[None]:
    """Store the address that `serve` listens on, and the path of what it says about its parts, for commands.

    Afterwards restore that of another `serve` with the same data folder.
    """
    file = settings.data_dir / SERVED
    served = {"host": settings.host, "port": settings.port, "pid": os.getpid(), "parts": parts_path}
    earlier, text = "", json.dumps(served)
    with suppress(OSError):
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        earlier = file.read_text(encoding="utf-8") if file.exists() else ""
        text = json.dumps({**served, **_compare(settings, earlier)})
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if _is_served(_parse(earlier)) and file.read_text(encoding="utf-8") == text:
                file.write_text(earlier, encoding="utf-8")


def _compare(settings: Settings, earlier: str) -> Mapping[str, object]:
    """Return digests of the settings, and which of them the last start that changed any has changed."""
    now = clock.now().isoformat(timespec="seconds")
    values = settings.model_dump(mode="python", exclude={"host", "port"})
    digests = {name: _digest(value) for name, value in values.items()}
    before = _parse(earlier)
    former = before.get("settings")
    changed = [] if former is None else sorted(name for name, each in digests.items() if former.get(name) != each)
    last = {"changed": changed, "changed_at": now} if changed else {}
    kept = {name: before[name] for name in ("changed", "changed_at") if name in before}
    return {"started_at": now, "settings": digests, **kept, **last}


def _digest(value: object) -> str:
    """Return 16 bits of a digest: enough to see a change, and too few to find a secret."""
    text = json.dumps(value, default=lambda each: getattr(each, "get_secret_value", each.__str__)())
    return hashlib.sha256(text.encode()).hexdigest()[:4]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastStart:
    """The last start of `serve` with a data folder, and the last one that had other settings."""

    started_at: str | None = None
    changed: Sequence[str] = ()  # settings
    changed_at: str | None = None
    present: Mapping[str, str] = field(default_factory=dict)  # their values, masked, if this process has the same


def _load(settings: Settings) -> Mapping[str, Any]:
    """Return what the last `serve` with the data folder has stored; nothing if it cannot be read."""
    with suppress(OSError, UnicodeError):
        return _parse((settings.data_dir / SERVED).read_text(encoding="utf-8"))
    return {}


def _parse(text: str) -> Mapping[str, Any]:
    with suppress(ValueError):
        stored = json.loads(text)
        return stored if isinstance(stored, dict) else {}
    return {}


def load_last_start(settings: Settings) -> LastStart:
    """Return the last start with the data folder."""
    stored = _load(settings)
    found = LastStart(**{each.name: stored[each.name] for each in fields(LastStart) if each.name in stored})
    return replace(found, present=_present(settings, found.changed, stored.get("settings", {})))


def _present(settings: Settings, names: Sequence[str], digests: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values of settings as log lines show them, of those whose digest is that of the start."""
    values = settings.model_dump(mode="python", include={*names})
    shown = MaskedCopy().mapping(settings.model_dump(mode="json", include={*names}))  # a SecretStr is asterisks
    texts = {name: "unset" if value is None else str(shown.get(name)) for name, value in values.items()}
    return {name: texts[name][:MAX_SHOWN] for name in texts if digests.get(name) == _digest(values[name])}


def with_address(settings: Settings) -> Settings:
    """Return the settings with the address that `serve` listens on; if none runs, listened on last.

    The address of a running one replaces one that is set: `serve --port` may differ from BUILDERS_PORT.
    """
    stored = _load(settings)
    with suppress(ValueError, KeyError, TypeError):
        update = {"host": str(stored["host"]), "port": int(stored["port"])}
        if _is_served(stored) or not settings.model_fields_set & update.keys():
            return settings.model_copy(update=update)
    return settings


def load_parts(settings: Settings) -> Parts:
    """Return the parts of the `serve` that runs with the data folder; none if none runs."""
    return parts.load(str(_load(settings).get("parts", "")))


def find_serve(settings: Settings) -> int | None:
    """Return the process id of the `serve` that runs with the data folder, or None."""
    with suppress(ValueError, KeyError, TypeError, psutil.Error):
        pid = int(_load(settings)["pid"])
        return pid if _is_serve(psutil.Process(pid)) else None
    return None


def _is_served(stored: Mapping[str, Any]) -> bool:
    with suppress(ValueError, KeyError, TypeError):
        return psutil.pid_exists(int(stored["pid"]))
    return False


def find_listener(port: int) -> psutil.Process | None:
    """Return the process that listens on a port, as the parent of our own; None if it is not visible."""
    with suppress(psutil.Error):
        listening = (each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN)
        pid = next((each.pid for each in listening if each.laddr and each.laddr.port == port and each.pid), None)
        if pid is not None:
            process = psutil.Process(pid)
            return next(filter(_is_serve, (process, *process.parents())), process)
    return None


def _is_serve(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        words = process.cmdline()
        return "serve" in words and "builders" in " ".join(words)
    return False


def name_of(process: psutil.Process) -> str:
    """Return how a message names a process."""
    with suppress(psutil.Error):
        name = "`builders serve`" if _is_serve(process) else process.name()
        return f"{name} (pid {process.pid})"
    return f"pid {process.pid}"
