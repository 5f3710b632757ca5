"""Any text in the letters that every PDF reader has by itself (Windows-1252), when no font is given.

Accents that it lacks fall away, Greek and Cyrillic are spelled with Latin letters, and for what is left stands a
question mark: the same invoice in HTML shows all as it is. Nothing raises.
"""

import unicodedata

ENCODING = "cp1252"
_UNKNOWN = "?"
# Small letters, each with how it is spelled.
_TABLE = """
α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o
а a б b в v г g д d е e ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch
ы y э e ю yu я ya і i ї yi є ye ґ g ў u ђ dj ј j љ lj њ nj ћ c џ dz ѓ g ќ k ѕ dz
ł l đ d ħ h ŧ t ŋ ng ı i ə e ɓ b ɗ d \u2010 - \u2011 - \u2012 - \u2212 - \u2192 -> \u2044 /
"""  # noqa: RUF001 - what looks alike is what this is about
_WORDS = _TABLE.split()
_SPELLED = {**dict(zip(_WORDS[::2], _WORDS[1::2], strict=True)), "ъ": "", "ь": "", "ß": "ss"}


def spell(text: str) -> str:
    """The text on one line, in letters of Windows-1252 alone."""
    return "".join(map(_letter, " ".join(_visible(text).split())))


def _visible(text: str) -> str:
    """Without what steers a reader; lone surrogates, which no encoding has, become question marks."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(_seen(char) for char in composed)


def _seen(char: str) -> str:
    match unicodedata.category(char):
        case "Cc" | "Zl" | "Zp" | "Zs":
            return " "
        case "Cf":
            return ""
        case "Cs":
            return _UNKNOWN
        case _:
            return char


def _letter(char: str) -> str:
    if _fits(char):
        return char
    lower = char.lower()
    if lower in _SPELLED:
        spelled = _SPELLED[lower]
        return spelled if char == lower else spelled.capitalize()
    plain = unicodedata.normalize("NFKD", char)
    bare = "".join(each for each in plain if not unicodedata.combining(each))
    if not bare:
        return ""  # an accent that stands alone
    if bare == char:
        return _UNKNOWN
    return "".join(map(_letter, bare))


def _fits(char: str) -> bool:
    try:
        char.encode(ENCODING)
    except UnicodeEncodeError:
        return False
    return True


def visible(text: str) -> str:
    """The text on one line in its own letters, for a font that has them."""
    return " ".join(_visible(text).split())
