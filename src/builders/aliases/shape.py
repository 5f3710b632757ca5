"""What a local part is made of, what is wrong with a text that is not, and the nearest text that is.

The alphabet is a part of RFC 5322's dot-atom. Quoted strings, tags and most punctuation are valid in mail,
but half of the world's forms refuse them, so a name that held them would not be worth its price.
"""

import re
import unicodedata

from builders.aliases.records import Detail

SHAPE = re.compile(r"[a-z0-9](?:[a-z0-9]|[._-](?=[a-z0-9]))*")
_FOREIGN = re.compile(r"[^a-z0-9._-]")
_DOUBLED = re.compile(r"([._-])[._-]+")

# Mending spells out letters that Unicode does not decompose, as on a passport; drops marks, controls, format
# characters and quotes; makes a dot of other ASCII. The rest has no cure.
_SPELLED = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict(zip("øđðłħ\u0131\u2010\u2012\u2013\u2014\u2212", "oddlhi-----", strict=True))
)
_VANISHING = frozenset({"Mn", "Cc", "Cf"})
_QUOTES = frozenset("\"'`\u2018\u2019\u201c\u201d")
_GAP = re.compile(r"[^a-z0-9._\-\u0080-\U0010ffff]+")


def normalize(text: str) -> str:
    """The text trimmed, in NFKC, in lower case; valid or not."""
    if text.isascii():  # NFKC leaves ASCII as it is
        return text.strip().lower()
    # Composed again, since small letters compose where capitals do not (a diaeresis joins `t` and not `T`);
    # trimmed last, since NFKC makes blanks of other characters.
    lowered = unicodedata.normalize("NFKC", text).lower()
    return unicodedata.normalize("NFKC", lowered).strip()


def fault(name: str) -> tuple[Detail, str]:
    """The first fault of a normalized name that does not fit the shape, and a sentence on what to do."""
    if not name:
        return Detail.EMPTY, "The name is empty. Give at least one letter or digit."
    if foreign := _FOREIGN.search(name):
        return _foreign(foreign[0], at=foreign.start() + 1)
    if name[0] in "._-":
        return Detail.BAD_START, f"The name starts with `{name[0]}`. Start with a letter or a digit."
    if doubled := _DOUBLED.search(name):
        where = f"`{doubled[0][:2]}` at position {doubled.start() + 1}"
        return Detail.DOUBLE_SEPARATOR, f"Two separators stand side by side ({where}). Leave one of them out."
    return Detail.BAD_END, f"The name ends with `{name[-1]}`. End with a letter or a digit."


def _foreign(char: str, *, at: int) -> tuple[Detail, str]:
    """What is wrong with a character outside the alphabet; the sentence holds no raw non-ASCII one."""
    if char == "+":
        return Detail.PLUS_TAG, (
            f"The name has a `+` at position {at}. A `+` starts a tag and is never part of a name: mail to "
            "name+tag reaches name. Leave out the `+` and what follows."
        )
    if char == "@":
        return Detail.BAD_CHAR, f"The name has an `@` at position {at}. Give only what stands before the `@`."
    if char == " ":
        return Detail.BAD_CHAR, (
            f"The name has a space at position {at}. Use `.`, `-` or `_` between words. If it was a `+` in a "
            "query string, that is written %2B there; names have no `+` though."
        )
    if char.isascii() and char.isprintable():
        return Detail.BAD_CHAR, (
            f"The name has `{char}` at position {at}. Use a to z, 0 to 9 and, between them, `.`, `-` or `_`."
        )
    called = f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()
    if unicodedata.category(char)[0] in "CZ":  # control, format (bidi, zero width), surrogate, blank
        return Detail.BAD_CHAR, f"The name has an invisible character, {called}, at position {at}. Remove it."
    return Detail.NON_ASCII, f"The name has {called} at position {at}. Use plain a to z and 0 to 9."


def mend(name: str) -> str | None:
    """The nearest text that fits the shape, of a normalized name that does not; None when there is none near.

    Of `jane+shop` and `jane@home.example` it is `jane`, of `josé o'neil` it is `jose.oneil`. Other scripts
    are not spelled out.
    """
    for end in "@+":
        name = name.partition(end)[0]
    letters = unicodedata.normalize("NFKD", name.translate(_SPELLED))
    plain = "".join(c for c in letters if c not in _QUOTES and unicodedata.category(c) not in _VANISHING)
    mended = _DOUBLED.sub(r"\1", _GAP.sub(".", plain)).strip("._-")
    return mended if SHAPE.fullmatch(mended) else None
