"""What a person typed, cut into words, and the local parts that can be made of them."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_Generated = tuple[str, str, int]  # a local part, its generator, the generator's weight

MAX_QUERY = 200  # characters read of a query
MAX_WORDS = 4
MAX_WORD = 30  # characters kept of a word

# fooBar and HTTPServer are two words each.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_VOWELS = str.maketrans("", "", "aeiou")
_TRANSLITERATIONS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "\u0131": "i"}
)

_GREETINGS = ("hello", "hi", "me")
MIN_SPELLED = 3  # letters of a label that is worth finding at the end of a word
GREETING = 70  # points of the first greeting
_PREFIXES = ("hi", "hey", "the", "get", "my")
_SUFFIXES = ("hq", "mail", "dev", "app", "studio")
_DIGITS = "23456789"
_MIN_WITHOUT_VOWELS = 3  # letters left of a name without its vowels


@dataclass(frozen=True, slots=True)
class LocalPart:
    """A local part to try: which generator made it, its weight, and the words it spells."""

    text: str
    code: str
    weight: int
    words: frozenset[str]


def tokenise(text: str) -> tuple[str, ...]:
    """The words of a query, in order, without repeats: lower-case ASCII letters and digits, at most four.

    Cut at spaces, punctuation and camel case; letters lose their accents (José is jose), and other scripts
    are passed over, since issued names are ASCII.
    """
    folded = unicodedata.normalize("NFKD", text[:MAX_QUERY])
    ascii_only = "".join(ch for ch in folded if not unicodedata.combining(ch))
    words = _WORD.findall(_CAMEL.sub(" ", ascii_only).lower().translate(_TRANSLITERATIONS))
    return tuple(dict.fromkeys(word[:MAX_WORD] for word in words))[:MAX_WORDS]


def local_parts_of(words: Sequence[str]) -> tuple[LocalPart, ...]:
    """Local parts made of the words, the best first."""
    made = _from_word(words[0]) if len(words) == 1 else _from_words(words) if words else ()
    locals_ = (
        LocalPart(text, code, weight, frozenset(word for word in words if word in text))
        for text, code, weight in made
    )
    return tuple(sorted(locals_, key=lambda local: -local.weight))


def greetings() -> tuple[LocalPart, ...]:
    """What to offer of a domain when no word is left for the local part: hello, hi, me."""
    return tuple(LocalPart(text, "greeting", GREETING - at, frozenset()) for at, text in enumerate(_GREETINGS))


def domain_hack(rest: Sequence[str]) -> LocalPart:
    """The local part where the domain itself says the other word: Jane Doe is jane@doe.example."""
    return LocalPart(".".join(rest), "domain_hack", 110, frozenset(rest))


def remaining_words(words: Sequence[str], label: str) -> list[str] | None:
    """The words that are left when a domain of this label says one of them; None when it says none.

    It may also be the end of the last word: janedoe is jane@doe.example.
    """
    if label in words:
        return [word for word in words if word != label]
    if len(label) >= MIN_SPELLED and words and words[-1].endswith(label):
        return [*words[:-1], words[-1].removesuffix(label)]
    return None


def _from_word(word: str) -> Iterator[_Generated]:
    yield word, "exact", 100
    yield from _variations(word)


def _from_words(words: Sequence[str]) -> Iterator[_Generated]:
    first, last, joined = words[0], words[-1], "".join(words)
    yield ".".join(words), "dot", 93
    yield joined, "joined", 92
    yield "-".join(words), "hyphen", 84
    yield first[0] + last, "initial_last", 82
    yield first, "first", 80
    yield first + last[0], "first_initial", 76
    yield f"{last}.{first}", "last_first", 72
    yield "".join(word[0] for word in words), "initials", 66
    yield from _variations(joined)


def _variations(stem: str) -> Iterator[_Generated]:
    for prefix in _PREFIXES:
        yield prefix + stem, "prefix", 60
    for suffix in _SUFFIXES:
        yield stem + suffix, "suffix", 58
    for digit in _DIGITS:
        yield stem + digit, "digit", 40
    edited = stem[0] + stem[1:].translate(_VOWELS)
    if _MIN_WITHOUT_VOWELS <= len(edited) < len(stem):
        yield edited, "edit", 30
