"""The rules for names: which local parts a domain can have, and which words are reserved or blocked. Pure.

The alphabet is a part of RFC 5322's dot-atom. Quoted strings, tags and most punctuation are valid in mail, but
many web forms refuse them. The key of a local part is unique on its domain.

Skeletons make confusable names equal (UTS 39). Each fold replaces single characters, and pairs are expanded (`m`
to `rn`), not contracted: contracting `vvv` gives `wv` or `vw`, so that equal-looking names would have two
skeletons. The registry (`claims.check_availability`) decides whether a name is taken, reserved or confusable.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Self

from builders.aliases.records import (
    MAX_LOCAL_PART,
    Detail,
    Reason,
    ReservedClass,
    Rules,
    SeparatorPolicy,
    Validation,
)

MAX_ADDRESS = 254  # octets, RFC 5321 section 4.5.3.1.3: a path of 256 without its brackets
_MAX_INPUT = 256  # characters: a longer text could only be a name with blanks around it, and is refused unread
_SHORT = 3  # characters: names confusable with a word so short are allowed, such as `mls` for `mis`
SHAPE = re.compile(r"[a-z0-9](?:[a-z0-9]|[._-](?=[a-z0-9]))*")
_FOREIGN = re.compile(r"[^a-z0-9._-]")
_DOUBLED = re.compile(r"([._-])[._-]+")

# `find_valid_form` transliterates characters that Unicode does not decompose, as passports do, removes marks,
# controls, format characters and quotes, and replaces other ASCII by a dot. Other characters have no valid form.
_TRANSLITERATED = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict(zip("øđðłħ\u0131\u2010\u2012\u2013\u2014\u2212", "oddlhi-----", strict=True))
)
_REMOVED = frozenset({"Mn", "Cc", "Cf"})
_QUOTES = frozenset("\"'`\u2018\u2019\u201c\u201d")
_GAP = re.compile(r"[^a-z0-9._\-\u0080-\U0010ffff]+")


def normalize(text: str) -> str:
    """Return the text, valid or not, trimmed, in NFKC and in lower case."""
    if text.isascii():  # NFKC does not change ASCII
        return text.strip().lower()
    # Composed again: lower-case letters compose where capitals do not (a diaeresis joins `t`, but not `T`).
    # Trimmed last: NFKC turns other characters into blanks.
    lowered = unicodedata.normalize("NFKC", text).lower()
    return unicodedata.normalize("NFKC", lowered).strip()


def fault(name: str) -> tuple[Detail, str]:
    """Return the first fault of a normalized name that does not match SHAPE, and a message for the user."""
    if not name:
        return Detail.EMPTY, "The name is empty. Give at least one letter or digit."
    if foreign := _FOREIGN.search(name):
        return _foreign(foreign[0], at=foreign.start() + 1)
    if name[0] in "._-":
        return Detail.BAD_START, f"The name starts with `{name[0]}`. Start with a letter or digit."
    if doubled := _DOUBLED.search(name):
        where = f"`{doubled[0][:2]}` at position {doubled.start() + 1}"
        return Detail.DOUBLE_SEPARATOR, f"Two separators are adjacent ({where}). Remove one of them."
    return Detail.BAD_END, f"The name ends with `{name[-1]}`. End with a letter or digit."


def _foreign(char: str, *, at: int) -> tuple[Detail, str]:
    """Return the fault of a character outside the alphabet; the message contains no raw non-ASCII character."""
    if char == "+":
        return Detail.PLUS_TAG, (
            f"The name has a `+` at position {at}. A `+` starts a tag and is never part of a name: mail to "
            "name+tag is delivered to name. Remove the `+` and the rest."
        )
    if char == "@":
        return Detail.BAD_CHAR, f"The name has an `@` at position {at}. Give only the part before the `@`."
    if char == " ":
        return Detail.BAD_CHAR, (
            f"The name has a space at position {at}. Use `.`, `-` or `_` between words. In a query string, an "
            "unencoded `+` is a space."
        )
    if char.isascii() and char.isprintable():
        return Detail.BAD_CHAR, (
            f"The name has `{char}` at position {at}. Use a to z, 0 to 9 and, between them, `.`, `-` or `_`."
        )
    called = f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()
    if unicodedata.category(char)[0] in "CZ":  # control, format (bidi, zero width), surrogate, blank
        return Detail.BAD_CHAR, f"The name has an invisible character, {called}, at position {at}. Remove it."
    return Detail.NON_ASCII, f"The name has {called} at position {at}. Use plain a to z and 0 to 9."


def find_valid_form(name: str) -> str | None:
    """Return the nearest text that matches SHAPE for a normalized name that does not; None if there is none.

    It is `jane` for `jane+shop` and `jane@home.example`, and `jose.oneil` for `josé o'neil`. Other scripts are not
    transliterated.
    """
    for end in "@+":
        name = name.partition(end)[0]
    decomposed = unicodedata.normalize("NFKD", name.translate(_TRANSLITERATED))
    plain = "".join(c for c in decomposed if c not in _QUOTES and unicodedata.category(c) not in _REMOVED)
    valid = _DOUBLED.sub(r"\1", _GAP.sub(".", plain)).strip("._-")
    return valid if SHAPE.fullmatch(valid) else None


def key(local_part: str, policy: SeparatorPolicy) -> str:
    """Return the form of a normalized local part that is unique on its domain."""
    match policy:
        case SeparatorPolicy.IGNORE_DOTS:
            return local_part.replace(".", "")
        case SeparatorPolicy.IGNORE_ALL:
            return squash(local_part)
        case SeparatorPolicy.DISTINCT:
            return local_part


def squash(text: str) -> str:
    """Return the text without its separators `.`, `-` and `_`."""
    return text.replace(".", "").replace("-", "").replace("_", "")


def skeleton(key: str) -> str:
    """Return the confusable skeleton of a name: equal for names that can be mistaken for each other.

    It is up to twice as long as the key, as `m` and `w` become two characters. Separators do not change.
    """
    # Chained replacements take a third of the time of str.translate, which is slow when it expands (measured).
    return key.replace("0", "o").replace("1", "l").replace("5", "s").replace("m", "rn").replace("w", "vv")


def unmask(text: str) -> str:
    """Return a coarser skeleton for reserved words: digits become similar characters, `i` is `l`, `d` is `cl`.

    It is too coarse for the names of customers (`ian`, `lan`), but no customer needs `4dm1n` or `admln`. Texts
    with equal skeletons are equal here too.
    """
    return (
        skeleton(text)
        .replace("i", "l")
        .replace("3", "e")
        .replace("4", "a")
        .replace("7", "t")
        .replace("8", "b")
        .replace("9", "g")
        .replace("d", "cl")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedGroup:
    """Reserved names that share a class, a source and a reason."""

    name: str
    reserved_class: ReservedClass
    source: str
    why: str  # ends the sentence "`admin` is reserved: ..."
    words: tuple[str, ...]
    patterns: tuple[str, ...]  # with one `*`, at the start or the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedWord:
    """One word or pattern of a group, as written in the data."""

    text: str
    group: ReservedGroup

    def covers(self, key: str, squashed: str) -> bool:
        """Return whether a key with the same unmasked form is this word or confusable with it.

        Only the word itself is premium: names that are confusable with it have no higher price.
        """
        word = squash(self.text)
        if self.group.reserved_class is ReservedClass.PREMIUM:
            return key == word
        return len(word) > _SHORT or skeleton(squashed) == skeleton(word)


class _Affixes:
    """Patterns as unmasked prefixes and suffixes."""

    def __init__(self, folded: Iterable[tuple[str, ReservedWord]]) -> None:
        self._entries = tuple(folded)
        self._starts = tuple(fold[:-1] for fold, _ in self._entries if fold.endswith("*"))
        self._ends = tuple(fold[1:] for fold, _ in self._entries if fold.startswith("*"))

    def find(self, text: str) -> ReservedWord | None:
        """Return the first pattern that the unmasked text matches."""
        if not (text.startswith(self._starts) or text.endswith(self._ends)):  # fast, and nearly always true
            return None
        return next(
            entry
            for fold, entry in self._entries
            if (text.startswith(fold[:-1]) if fold.endswith("*") else text.endswith(fold[1:]))
        )


def _hyphenated(text: str) -> str:
    """Return the text with a hyphen for every separator."""
    return text.replace(".", "-").replace("_", "-")


class ReservedNames:
    """The reserved groups and blocked words, indexed by key."""

    def __init__(self, *, groups: Iterable[ReservedGroup], words: Iterable[str], anywhere: Iterable[str]) -> None:
        self.groups = tuple(groups)
        patterns = [ReservedWord(text=text, group=group) for group in self.groups for text in group.patterns]
        self._words: dict[str, ReservedWord] = {}
        for entry in (ReservedWord(text=word, group=group) for group in self.groups for word in group.words):
            other = self._words.setdefault(unmask(squash(entry.text)), entry)
            if other is not entry:
                raise ValueError(f"{entry.text!r} in {entry.group.name} is {other.text!r} in {other.group.name}")
        self._joined = _Affixes((unmask(p.text), p) for p in patterns if "-" not in p.text)
        self._hyphened = _Affixes((unmask(p.text), p) for p in patterns if "-" in p.text)
        self._all_joined = _Affixes((unmask(squash(p.text)), p) for p in patterns)
        self._blocked = frozenset(unmask(word) for word in words)
        self._blocked_anywhere = re.compile("|".join(re.escape(unmask(word)) for word in anywhere) or "(?!)")

    @classmethod
    def load(cls) -> Self:
        """Return the names in reserved.toml."""
        data = tomllib.loads(files("builders.aliases").joinpath("reserved.toml").read_text("utf-8"))
        groups = [
            ReservedGroup(
                reserved_class=ReservedClass(group.pop("class")),
                words=tuple(group.pop("words")),
                patterns=tuple(group.pop("patterns", ())),
                **group,  # name, source, why
            )
            for group in data["group"]
        ]
        return cls(groups=groups, words=data["blocked"]["words"], anywhere=data["blocked"]["anywhere"])

    def find(self, key: str, *, hyphens_count: bool = True) -> ReservedWord | None:
        """Return the word or pattern that reserves this key or gives it another price.

        It depends only on the key, so that all spellings of a name have the same result. If the domain ignores
        hyphens (`hyphens_count=False`), the hyphens of patterns are ignored too. A number is never confusable with
        a word: `15` is not `is`.
        """
        squashed = squash(key)
        if squashed.isdigit():
            return None
        unmasked = unmask(squashed)
        entry = self._words.get(unmasked)
        if entry is not None and entry.covers(key, squashed):
            return entry
        if not hyphens_count:
            return self._all_joined.find(unmasked)
        found = self._joined.find(unmasked)
        if found is None and key != squashed:
            found = self._hyphened.find(unmask(_hyphenated(key)))
        return found

    def blocks(self, key: str) -> bool:
        """Return whether the key is a blocked word, or contains one between separators."""
        squashed = squash(key)
        unmasked = unmask(squashed)
        if unmasked in self._blocked or self._blocked_anywhere.search(unmasked):
            return True
        return key != squashed and not self._blocked.isdisjoint(unmask(_hyphenated(key)).split("-"))


RESERVED = ReservedNames.load()
DEFAULT_RULES = Rules()


def validate_local_part(text: str, *, domain: str, rules: Rules = DEFAULT_RULES) -> Validation:
    """Return the result of the rules for any text as a name on a domain (an A-label); never raises."""
    name = normalize(text) if len(text) <= _MAX_INPUT else text
    if len(name) > _MAX_INPUT:  # NFKC makes up to 18 characters of one
        return _invalid(Detail.TOO_LONG, f"The name is longer than {MAX_LOCAL_PART} characters. Shorten it.")
    longest = min(rules.max_length, MAX_ADDRESS - len("@") - len(domain))
    if SHAPE.fullmatch(name):
        return _apply_rules(name, longest, rules)
    valid = find_valid_form(name)
    suggestion = valid if valid and _apply_rules(valid, longest, rules).is_ok else None
    return _invalid(*fault(name), suggestion)


@lru_cache(maxsize=8192)  # suggestions try a name on many domains, most with the same rules
def _apply_rules(name: str, longest: int, rules: Rules) -> Validation:
    """Return the result for a normalized name that matches SHAPE, of at most 256 characters."""
    if len(name) > longest:
        why = "" if longest == rules.max_length else f", because an address has at most {MAX_ADDRESS}"
        message = f"The name has {len(name)} characters; this domain allows at most {longest}{why}. Shorten it."
        if longest < 1:
            message = f"The domain is too long for names: an address has at most {MAX_ADDRESS} characters."
        return _invalid(Detail.TOO_LONG, message)
    name_key = key(name, rules.separator_policy)
    if len(name_key) < rules.min_length:
        how = "" if name == name_key else " without the separators that this domain ignores"
        have = "1 character" if len(name_key) == 1 else f"{len(name_key)} characters"
        message = f"The name has {have}{how}; this domain requires at least {rules.min_length}."
        return _invalid(Detail.TOO_SHORT, message)
    entry = RESERVED.find(name_key, hyphens_count=rules.separator_policy is not SeparatorPolicy.IGNORE_ALL)
    reserved_class = entry.group.reserved_class if entry else None
    reason, message = Reason.OK, ""
    if entry and reserved_class is not ReservedClass.PREMIUM:
        what = f"`{name}` is reserved"
        if "*" in entry.text:
            what = f"`{name}` fits `{entry.text}`, which is reserved"
        elif squash(name) != squash(entry.text):
            what = f"`{name}` can be mistaken for `{entry.text}`, which is reserved"
        grant = ", or ask the operator of the domain for it" * (entry.group.reserved_class is ReservedClass.VENDOR)
        reason, message = Reason.RESERVED, f"{what}: {entry.group.why}. Choose another name{grant}."
    elif RESERVED.blocks(name_key):
        reason, message = Reason.BLOCKED, "The name contains a word that is not allowed. Choose another name."
    return Validation(
        reason=reason,
        message=message,
        normalized=name,
        key=name_key,
        skeleton=skeleton(name_key),
        reserved_class=reserved_class,
    )


def _invalid(detail: Detail, message: str, suggestion: str | None = None) -> Validation:
    return Validation(reason=Reason.INVALID, detail=detail, message=message, suggestion=suggestion)
