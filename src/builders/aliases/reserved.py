"""Names that are not free for everyone: reserved words and patterns, premium words, and words never sold."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Self

from builders.aliases.lookalikes import skeleton, squash, unmask
from builders.aliases.records import ReservedClass

_SHORT = 3  # a word of so few letters has innocent look-alikes: `mls` is not a disguised `mis`


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Reserved names that share a class, a source and a reason."""

    name: str
    reserved_class: ReservedClass
    source: str
    why: str  # ends the sentence "`admin` is reserved: ..."
    words: tuple[str, ...]
    patterns: tuple[str, ...]  # one `*`, in front or at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One word or pattern of a group, as written in the data."""

    text: str
    group: Group

    def covers(self, key: str, squashed: str) -> bool:
        """Whether a key with the same unmasked form is this word or a disguise of it.

        The word itself alone is premium: a look-alike of a dear word is worth nothing more.
        """
        word = squash(self.text)
        if self.group.reserved_class is ReservedClass.PREMIUM:
            return key == word
        return len(word) > _SHORT or skeleton(squashed) == skeleton(word)


class _Affixes:
    """Patterns as unmasked beginnings and endings."""

    def __init__(self, folded: Iterable[tuple[str, Entry]]) -> None:
        self._entries = tuple(folded)
        self._starts = tuple(fold[:-1] for fold, _ in self._entries if fold.endswith("*"))
        self._ends = tuple(fold[1:] for fold, _ in self._entries if fold.startswith("*"))

    def find(self, text: str) -> Entry | None:
        """The first pattern that the unmasked text fits."""
        if not (text.startswith(self._starts) or text.endswith(self._ends)):  # nearly always, and in C
            return None
        return next(entry for fold, entry in self._entries if _fits(text, fold))


def _fits(text: str, fold: str) -> bool:
    return text.startswith(fold[:-1]) if fold.endswith("*") else text.endswith(fold[1:])


def _hyphenated(text: str) -> str:
    """The text with every separator as a hyphen."""
    return text.replace(".", "-").replace("_", "-")


class ReservedNames:
    """The reserved groups and blocked words, indexed for look-up by key."""

    def __init__(self, *, groups: Iterable[Group], words: Iterable[str], anywhere: Iterable[str]) -> None:
        self.groups = tuple(groups)
        patterns = [Entry(text=text, group=group) for group in self.groups for text in group.patterns]
        self._words: dict[str, Entry] = {}
        for entry in (Entry(text=word, group=group) for group in self.groups for word in group.words):
            twin = self._words.setdefault(unmask(squash(entry.text)), entry)
            if twin is not entry:
                raise ValueError(f"{entry.text!r} in {entry.group.name} is {twin.text!r} in {twin.group.name}")
        self._joined = _Affixes((unmask(p.text), p) for p in patterns if "-" not in p.text)
        self._hyphened = _Affixes((unmask(p.text), p) for p in patterns if "-" in p.text)
        self._all_joined = _Affixes((unmask(squash(p.text)), p) for p in patterns)
        self._blocked = frozenset(unmask(word) for word in words)
        self._blocked_anywhere = re.compile("|".join(re.escape(unmask(word)) for word in anywhere) or "(?!)")

    @classmethod
    def load(cls) -> Self:
        """The data of this package, read from reserved.toml."""
        data = tomllib.loads(files("builders.aliases").joinpath("reserved.toml").read_text("utf-8"))
        groups = [
            Group(
                name=group["name"],
                reserved_class=ReservedClass(group["class"]),
                source=group["source"],
                why=group["why"],
                words=tuple(group["words"]),
                patterns=tuple(group.get("patterns", ())),
            )
            for group in data["group"]
        ]
        return cls(groups=groups, words=data["blocked"]["words"], anywhere=data["blocked"]["anywhere"])

    def find(self, key: str, *, hyphens_count: bool = True) -> Entry | None:
        """The word or pattern that holds this key back or makes it dearer.

        A function of the key, so that no spelling of a name passes where another of the same key is refused.
        Where a domain ignores hyphens (`hyphens_count=False`) those of the patterns are ignored too.
        A number impersonates nobody: `15` is not a disguised `is`.
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
        """Whether the key is, or holds between separators, a word that is never sold."""
        squashed = squash(key)
        unmasked = unmask(squashed)
        if unmasked in self._blocked or self._blocked_anywhere.search(unmasked):
            return True
        return key != squashed and not self._blocked.isdisjoint(unmask(_hyphenated(key)).split("-"))
