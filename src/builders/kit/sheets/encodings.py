"""The encoding of a text file: what its bytes prove, else the likeliest ones by the letters of languages."""

import codecs
import io
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

_BLOCK = 64 * 1024  # bytes that are decoded at once: another thread waits no longer than for one block
_SAMPLE = 4096  # bytes
_GUESSED_FROM = 32 * 1024  # bytes of lines beyond ASCII
MAX_LINE = 1_000_000  # characters
FALLBACK = "cp1252"  # of Windows programs; it decodes nearly any bytes
# The marks of UTF-32 begin or end with those of UTF-16, so they come first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Of 100 bytes at odd or even positions, how many are zero when Western text is UTF-16.
_ZERO_PERCENT = 40
_SIZES = {"utf-16": 2, "utf-32": 4}  # bytes of a unit
_ISO_2022_JP = (b"\x1b$B", b"\x1b$@")  # shifts to Japanese characters; the text is ASCII else (RFC 1468)
_ASCII = 127  # the last byte
_WRONG_UTF8 = 20  # characters of a text that is UTF-8 except for one wrong byte

# Of characters, by how a language uses them; the figures only have to rank the encodings.
_MARKS_OF_TEXT = frozenset(  # quotation marks, dashes, currencies, spaces
    "\u2019\u2018\u201c\u201d\u201e\u00ab\u00bb\u201a\u2013\u2014\u2026\u2022"
    "\u00b7\u20ac\u00a3\u00b0\u00a9\u00ae\u2122\u2116\u00a7\u00b4\u00a8\u00d7\u00a0\u200f\u200e"
)
_LOG_MARK, _LOG_STRANGE = math.log(0.01), math.log(1e-5)
_LOG_CAPITAL, _LOG_CLUSTER, _LOG_LONELY = math.log(0.3), math.log(0.1), math.log(0.02)
_LOG_RANK, _LOG_WESTERN = math.log(0.3), math.log(3)  # of another encoding of a language; of the fallback


# Encodings that have the characters of another one, and more.
_WIDER = {
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("shift_jis", "shift_jisx0213"), "cp932"),
    "ascii": "utf-8",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "euc_kr": "cp949",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """The encoding of a file. Of a guess, `others` are the next likely ones, the best first."""

    name: str  # of Python's codec
    is_guess: bool = False  # the bytes do not show it, and nobody named it
    others: Sequence[str] = ()  # in which the file is another text
    bad_bytes: bool = False  # some bytes are no character in it

    def other_reading(self, text: str) -> tuple[str, str] | None:
        """Return the next likely encoding in which the bytes of a text are another text, and that text."""
        try:
            content = text.encode(self.name)
        except UnicodeEncodeError:  # a byte that the encoding lacks
            return None
        for other in self.others:
            read = content.decode(other, "replace")
            if read != text and "\ufffd" not in read:
                return other, read
        return None


def find_encoding(name: str) -> str | None:
    """Return the codec of an encoding that files have, by any of its usual names; None for another one."""
    try:
        found = codecs.lookup(name.strip()).name
    except (LookupError, ValueError):
        return None
    wider = _WIDER.get(found, found)
    return wider if wider in list_encodings() else None


@cache
def list_encodings() -> Sequence[str]:
    """Return the names of all encodings that a file can be read in."""
    of_languages = [each for language in _languages().values() for each in language.encodings]
    unicode = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
    more = ("iso8859-15", "cp437", "cp1258", "iso2022_jp", *_MANY_BYTES)
    return [*dict.fromkeys(codecs.lookup(each).name for each in (*unicode, *of_languages, *more))]


def detect_encoding(content: bytes, named: str | None = None) -> Encoding:
    """Return the encoding that a byte order mark or the bytes prove, else the named one, else a guess."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return Encoding(name=encoding)
    sample = content[:_SAMPLE]
    if named in _SIZES:  # Python reads it only with a mark
        size = _SIZES[named]
        named += "-be" if sample[::size].count(0) > sample[size - 1 :: size].count(0) else "-le"
    if named is not None:
        return Encoding(name=named, bad_bytes=not _is_valid(content, named))
    for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        if zeros and zeros.count(0) * 100 >= len(zeros) * _ZERO_PERCENT:
            return Encoding(name=encoding)
    if _is_valid(content, "utf-8"):
        is_japanese = any(each in content for each in _ISO_2022_JP) and _is_valid(content, "iso2022_jp")
        return Encoding(name="iso2022_jp" if is_japanese else "utf-8")
    first, *others = _rank(content)
    return Encoding(name=first, is_guess=True, others=others, bad_bytes=not _is_valid(content, first))


def find_example(content: bytes, encoding: Encoding) -> tuple[str, str, str] | None:
    """Return a word of a file, the next likely encoding in which it is another word, and that word."""
    for word in _WORDS.finditer(_sample(content)):
        text = word.group().decode(encoding.name, "replace")
        other = encoding.other_reading(text)
        if other is not None:
            return text, *other
    return None


def is_utf8(content: bytes) -> bool:
    """Return whether a text beyond ASCII is valid UTF-8, which others hardly are."""
    return not content.isascii() and _is_valid(content, "utf-8")


def count_lines(content: bytes, encoding: str) -> int:
    """Return how often a line ends, without decoding the text."""
    if encoding in {"utf-16", "utf-32"}:  # the order of bytes is that of the mark
        encoding += "-le" if content.startswith(codecs.BOM_UTF16_LE) else "-be"
    feed, carriage = (each.encode(encoding.removesuffix("-sig")) for each in "\n\r")
    return content.count(feed) + content.count(carriage) - content.count(carriage + feed)


def read_lines(content: bytes, encoding: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, decoded while they are read.

    Bytes that the encoding lacks become U+FFFD. A line over MAX_LINE characters is cut into several.
    """
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline="")
    return iter(lambda: text.readline(MAX_LINE), "")


def _is_valid(content: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        view = memoryview(content)
        for at in range(0, len(view), _BLOCK):
            decoder.decode(bytes(view[at : at + _BLOCK]))
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Language:
    letters: str
    encodings: Sequence[str]

    @property
    def is_latin(self) -> bool:
        """Return whether its other letters are those of ASCII."""
        return ord(self.letters[0]) < 0x250  # noqa: PLR2004 - where the blocks of Latin letters end

    def weights(self) -> Mapping[str, float]:
        """Return the logarithm of how often each letter is the next letter beyond ASCII (Zipf's law)."""
        whole = sum(1 / (at + 2) for at in range(len(self.letters)))
        found = {each: math.log(1 / (at + 2) / whole) for at, each in enumerate(self.letters)}
        capitals = {each.upper(): value + _LOG_CAPITAL for each, value in found.items() if len(each.upper()) == 1}
        return {**dict.fromkeys(_MARKS_OF_TEXT, _LOG_MARK), **capitals, **found}


@cache
def _languages() -> Mapping[str, _Language]:
    text = files("builders.kit.sheets").joinpath("languages.toml").read_text(encoding="utf-8")
    return {name: _Language(**each) for name, each in tomllib.loads(text).items()}


# By encoding of characters with two bytes: the lead bytes of its frequent characters with their number, as text
# has them, and the range of trail bytes.
_MANY_BYTES: Mapping[str, Sequence[tuple[int, int, int, int, float]]] = {
    "gb18030": ((0xB0, 0xD7, 0xA1, 0xFE, 1_500), (0xA3, 0xA3, 0xA1, 0xFE, 100)),
    "big5": ((0xA4, 0xC6, 0x40, 0xFE, 2_000), (0xA1, 0xA1, 0x40, 0xFE, 100)),
    "cp932": (
        *((0x82, 0x82, 0x9F, 0xF1, 80), (0x83, 0x83, 0x40, 0x96, 80)),
        *((0x88, 0x97, 0x40, 0xFC, 1_500), (0x81, 0x81, 0x40, 0xFC, 100)),
    ),
    "euc_jp": (
        *((0xA4, 0xA5, 0xA1, 0xF6, 80), (0xB0, 0xCF, 0xA1, 0xFE, 1_500)),
        (0xA1, 0xA1, 0xA1, 0xFE, 100),
    ),
    "cp949": ((0xB0, 0xC8, 0xA1, 0xFE, 800), (0xA1, 0xA1, 0xA1, 0xFE, 100)),
}


@lru_cache(maxsize=8)
def _frequent(encoding: str) -> Mapping[str, float]:
    """Return the logarithm of how often each frequent character of an encoding is the next one."""
    found: dict[str, float] = {}
    for first, last, low, high, number in _MANY_BYTES[encoding]:
        for lead in range(first, last + 1):
            text = b"".join(bytes((lead, trail)) + b"\n" for trail in range(low, high + 1))
            for each in text.decode(encoding, "replace").split("\n"):
                if len(each) == 1 and each != "\ufffd":
                    found[each] = -math.log(number)
    return found


def _rank(content: bytes) -> Sequence[str]:
    """Return the encodings in which a text beyond ASCII is a different text each, the likeliest first."""
    sample = _sample(content)
    scores = {**_score_single(sample), "utf-8": _score_utf8(sample)}
    scores |= {each: _score_many(sample, each) for each in _MANY_BYTES}
    possible = {name: score for name, score in scores.items() if score > -math.inf}
    ranked = sorted(possible, key=lambda name: possible[name], reverse=True)
    readings = dict[str, str]()
    for name in (*ranked, FALLBACK):
        readings.setdefault(sample.decode(name, "replace"), name)
    return list(readings.values())


def _sample(content: bytes) -> bytes:
    """Return the first lines with bytes beyond ASCII."""
    taken, size, at = list[bytes](), 0, 0
    while size < _GUESSED_FROM and (found := _BEYOND_ASCII.search(content, at)) is not None:
        start = max(content.rfind(b"\n", at, found.start()) + 1, found.start() - _SAMPLE, at)
        end = content.find(b"\n", found.start(), found.start() + _SAMPLE)
        at = len(content) if end < 0 and found.start() + _SAMPLE >= len(content) else max(end, found.end())
        taken.append(content[start:at])
        size += at - start
    return b"\n".join(taken)


_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


def _score_single(sample: bytes) -> Mapping[str, float]:
    """Return the logarithm of the likelihood by encoding of one byte a character, of its best language."""
    # By byte: whether another byte beyond ASCII, and whether a letter of ASCII is beside it.
    found = Counter[tuple[int, bool, bool]]()
    for word in _WORDS.finditer(sample):
        text = word.group()
        for at, byte in enumerate(text):
            if byte > _ASCII:
                beside = (text[at - 1] if at else 0, text[at + 1] if at + 1 < len(text) else 0)
                found[byte, any(each > _ASCII for each in beside), any(0 < each <= _ASCII for each in beside)] += 1
    scores: dict[str, float] = {}
    for language in _languages().values():
        weights = language.weights()
        for rank, encoding in enumerate(language.encodings):
            prior = rank * _LOG_RANK + (_LOG_WESTERN if encoding == FALLBACK else 0)
            score = prior + _likelihood(found, _characters(encoding), weights, is_latin=language.is_latin)
            name = codecs.lookup(encoding).name
            scores[name] = max(score, scores.get(name, -math.inf))
    return scores


_WORDS = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")


@lru_cache(maxsize=64)
def _characters(encoding: str) -> str:
    return bytes(range(256)).decode(encoding, "replace")


def _likelihood(
    found: Mapping[tuple[int, bool, bool], int], characters: str, weights: Mapping[str, float], *, is_latin: bool
) -> float:
    score = 0.0
    for (byte, in_cluster, by_ascii), count in found.items():
        character = characters[byte]
        if character == "\ufffd":
            return -math.inf
        weight = weights.get(character, _LOG_STRANGE)
        if is_latin and in_cluster:
            weight += _LOG_CLUSTER
        if not in_cluster and not by_ascii and character.isupper():  # hardly a word, but a sign such as €
            weight += _LOG_LONELY
        if not is_latin and by_ascii and character not in _MARKS_OF_TEXT:
            weight += _LOG_LONELY
        score += count * weight
    return score


def _score_many(sample: bytes, encoding: str) -> float:
    """Return the logarithm of the likelihood of an encoding of several bytes a character."""
    text = sample.decode(encoding, "replace")
    counts = Counter(each for each in text if not each.isascii())
    if not counts or counts["\ufffd"] > 1:  # the sample can end within a character
        return -math.inf
    frequent = _frequent(encoding)
    return sum(count * frequent.get(each, 2 * _LOG_STRANGE) for each, count in counts.items())


def _score_utf8(sample: bytes) -> float:
    """Return a score above all others for a text that is UTF-8 except for a few bytes."""
    counts = Counter(each for each in sample.decode("utf-8", "replace") if not each.isascii())
    wrong = counts.pop("\ufffd", 0)
    return 0.0 if counts.total() >= _WRONG_UTF8 * wrong else -math.inf
