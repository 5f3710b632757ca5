"""Forms of a local part: its syntax, the nearest valid text, its key and its skeleton. Pure.

The alphabet is a part of RFC 5322's dot-atom. Quoted strings, tags and most punctuation are valid in mail, but
many web forms refuse them.

Skeletons make confusable names equal (UTS 39). Each fold replaces single characters, and pairs are expanded (`m`
to `rn`), not contracted: contracting `vvv` gives `wv` or `vw`, so that equal-looking names would have two
skeletons.
"""

import re
import unicodedata

from builders.aliases.records import Detail, SeparatorPolicy

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
