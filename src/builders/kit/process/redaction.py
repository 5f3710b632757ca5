"""Redaction of log events: secrets and addresses are masked, depth and size are limited.

Secrets are recognized by the name of their field or by their form, and addresses by their form: errors of others
quote them, and the log is to name people by ids.
"""

import math
import re
from collections.abc import Collection, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from uuid import UUID

MASK = "***"
_DEPTH = 6  # of containers within containers
_ITEMS = 50  # of one container
_TEXT = 8_192  # characters of one text
_EVENT = 32_768  # characters of one line, roughly
_READ = 4 * _TEXT  # characters at the two ends of a longer text, in which secrets are searched for
_NAME_READ, _NAME_TEXT = 1_024, 128  # the same for the name of a field
_LEAST = 64  # characters of a text that are shown when the line is full
_WORD = 64  # bits of an integer
_CONTAINERS = (Mapping, list, tuple, set, frozenset)

_NAME = (
    r"(?:password|passwd|secret|token|authorization|api[_-]?key|cookie|conninfo|credential|private[_-]?key"
    r"|auth[_-]?code)"
)
_VALUE = r"""b?(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|\\++"[^"\\]*+|[^\s&;,'"<>()\[\]{}]++)"""
_secret_name = re.compile(_NAME, re.IGNORECASE)
# The forms of secrets: a part in lower case, which is searched for first; the pattern; the replacement. Each
# repeat is possessive or bounded, so that the time for hostile text is linear.
_LOOKS = tuple(
    (part, re.compile(look, re.IGNORECASE | re.DOTALL), rest)
    for part, look, rest in (
        ("svc_", r"svc_(live|test|grant|code|agent|refresh)_[a-z0-9_-]++", rf"svc_\1_{MASK}"),
        ("whsec_", r"whsec_[a-z0-9+/=_-]++", f"whsec_{MASK}"),
        ("eyj", r"\beyJ[a-z0-9_-]++\.[a-z0-9_-]++\.[a-z0-9_-]*+", MASK),  # a JWT
        ("bearer", r"\b(Bearer)\s++[a-z0-9._~+/=-]++", rf"\1 {MASK}"),
        # The user and password of a URL; of a database URL also with an unescaped password.
        ("://", r"(\b(?:postgres(?:ql)?|smtps?)://)(?:[^\s@]{0,512}+@)++", rf"\1{MASK}@"),
        ("://", r"(?<=://)(?:[^\s@/?#]*+@)++", f"{MASK}@"),
        # password=x in a URL, a conninfo or a repr; 'password': 'x' in a mapping.
        ("=", rf"({_NAME}[a-z0-9_-]{{0,32}}=){_VALUE}", rf"\1{MASK}"),
        ('"', rf"""({_NAME}[a-z0-9_-]{{0,32}}\\*+"\s?:\s?){_VALUE}""", rf"\1{MASK}"),
        ("'", rf"""({_NAME}[a-z0-9_-]{{0,32}}\\*+'\s?:\s?){_VALUE}""", rf"\1{MASK}"),
        (":", r"((?:authorization|x-api-key|cookie):\s?)[^\r\n'\"]++", rf"\1{MASK}"),
        ("key=", r"([?&]key=)[^\s&#'\"]++", rf"\1{MASK}"),  # of some registrars
        # pydantic shows a refused value, which may be a password.
        ("input_value=", r"(\binput_value=).{0,200}?(?=, input_type=)", rf"\1{MASK}"),
    )
)
# An address, also in a path. The user of a URL is none: what follows it is a server.
_ADDRESS = re.compile(r"(?<![\w.+*-])(?<!://)[\w.+*-]++(?:@|%40)[\w-]++(?:\.[\w-]++)++")


def redact(text: str) -> str:
    """Return the text with secrets masked."""
    lowered = text.lower()
    for part, look, rest in _LOOKS:
        if part in lowered:
            text = look.sub(rest, text)
    return text


def redact_line(text: str) -> str:
    """Return the text with secrets and addresses masked."""
    text = redact(text)
    return _ADDRESS.sub(MASK, text) if "@" in text or "%40" in text else text


@lru_cache(maxsize=512)
def _field(name: str) -> tuple[str, bool]:
    """Return the name for display, and whether it is the name of a secret."""
    return _cut(redact_line(name), _NAME_TEXT), bool(_secret_name.search(name))


def _cut(text: str, limit: int) -> str:
    """Return the beginning and the end of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    return f"{text[:half]} [... {len(text) - 2 * half} characters ...] {text[-half:]}"


class MaskedCopy:
    """Makes one masked copy of an event, within the limits of size."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _EVENT

    def mapping(self, value: Mapping[Any, object], depth: int = 0) -> dict[str, object]:  # any key
        """Return the mapping with a mask for each value whose name is that of a secret."""
        items = list(value.items())
        shown: dict[str, object] = {}
        for key, item in items[:_ITEMS]:
            name, secret = _field(_cut(readable(key), _NAME_READ))
            self._left -= len(name)
            hidden = secret and item is not None and not isinstance(item, bool)
            shown[name] = MASK if hidden else self._value(item, depth + 1)
        if len(items) > _ITEMS:
            shown["[...]"] = f"{len(items) - _ITEMS} more"
        return shown

    def _value(self, value: object, depth: int) -> object:
        self._left -= 8
        if value is None or isinstance(value, bool):
            return value
        if self._left <= 0:
            return "[...]"
        if isinstance(value, _CONTAINERS):
            return self._container(value, depth)
        if isinstance(value, int) and not isinstance(value, Enum) and value.bit_length() <= _WORD:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        # Masked before it is cut: the rest of a cut secret is not recognized.
        shown = _cut(redact_line(_cut(readable(value), _READ)), min(_TEXT, max(self._left, _LEAST)))
        self._left -= len(shown)
        return shown

    def _container(self, value: Mapping[Any, object] | Collection[object], depth: int) -> object:
        if depth >= _DEPTH:
            return "[...]"
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        items = list(value)
        shown = [self._value(item, depth + 1) for item in items[:_ITEMS]]
        return shown if len(items) <= _ITEMS else [*shown, f"[... {len(items) - _ITEMS} more ...]"]


def readable(value: object) -> str:
    """Return the text of any object; it never raises."""
    try:
        match value:
            case str():
                text = value
            case Enum():
                text = str(value.value)
            case date():
                text = value.isoformat()
            case int() if value.bit_length() > _WORD:  # Python refuses to write out a very long one
                text = f"<integer of {value.bit_length()} bits>"
            case int() | UUID() | Decimal() | PurePath():
                text = str(value)
            case BaseException():
                text = f"{type(value).__name__}: {value}"
            case _:
                text = repr(value)
    except Exception:  # noqa: BLE001 - any object may be logged, and a log call must not raise
        return f"<unreadable {type(value).__name__}>"
    return text
