"""The rules of local parts: which names a domain may have, and which of them are the same name.

Pure: no database, no clock. What the registry of names knows (taken, held, like another's) is not judged
here.
"""

from functools import lru_cache

from builders.aliases.lookalikes import skeleton, squash
from builders.aliases.records import (
    MAX_LOCAL_PART,
    Detail,
    Reason,
    ReservedClass,
    Rules,
    SeparatorPolicy,
    Verdict,
)
from builders.aliases.reserved import Entry, ReservedNames
from builders.aliases.shape import SHAPE, fault, mend, normalize

MAX_ADDRESS = 254  # octets, RFC 5321 section 4.5.3.1.3: a path of 256 less its brackets
_MAX_INPUT = 256  # characters; a longer text could become a name only by its blanks, and is not even read

RESERVED = ReservedNames.load()
DEFAULT_RULES = Rules()


def key(local_part: str, policy: SeparatorPolicy) -> str:
    """The availability key of a normalized local part."""
    match policy:
        case SeparatorPolicy.IGNORE_DOTS:
            return local_part.replace(".", "")
        case SeparatorPolicy.IGNORE_ALL:
            return squash(local_part)
        case SeparatorPolicy.DISTINCT:
            return local_part


def judge(text: str, *, domain: str, rules: Rules = DEFAULT_RULES) -> Verdict:
    """What the rules say about any text as a name on a domain, an A-label; microseconds, and never raises."""
    name = normalize(text) if len(text) <= _MAX_INPUT else text
    if len(name) > _MAX_INPUT:  # NFKC makes up to 18 characters of one
        return _invalid(Detail.TOO_LONG, f"The name is longer than {MAX_LOCAL_PART} characters. Shorten it.")
    longest = min(rules.max_length, MAX_ADDRESS - len("@") - len(domain))
    if SHAPE.fullmatch(name):
        return _judge_shaped(name, longest, rules)
    mended = mend(name)
    offer = mended if mended and _judge_shaped(mended, longest, rules).is_ok else None
    return _invalid(*fault(name), offer)


@lru_cache(maxsize=8192)  # suggestions try each name on many domains, and most domains have the same rules
def _judge_shaped(name: str, longest: int, rules: Rules) -> Verdict:
    """The verdict on a normalized name that fits the shape, of at most 256 characters."""
    if len(name) > longest:
        return _invalid(Detail.TOO_LONG, _too_long(name, longest, rules))
    name_key = key(name, rules.separator_policy)
    if len(name_key) < rules.min_length:
        return _invalid(Detail.TOO_SHORT, _too_short(name, name_key, rules))
    entry = RESERVED.find(name_key, hyphens_count=rules.separator_policy is not SeparatorPolicy.IGNORE_ALL)
    reserved_class = entry.group.reserved_class if entry else None
    reason, message = Reason.OK, ""
    if entry and reserved_class is not ReservedClass.PREMIUM:
        reason, message = Reason.RESERVED, _reserved(name, entry)
    elif RESERVED.blocks(name_key):
        reason, message = (
            Reason.BLOCKED,
            "The name holds a word that is not offered here. Choose another name.",
        )
    return Verdict(
        reason=reason,
        message=message,
        normalized=name,
        key=name_key,
        skeleton=skeleton(name_key),
        reserved_class=reserved_class,
    )


def _invalid(detail: Detail, message: str, suggestion: str | None = None) -> Verdict:
    return Verdict(reason=Reason.INVALID, detail=detail, message=message, suggestion=suggestion)


def _too_long(name: str, longest: int, rules: Rules) -> str:
    if longest < 1:
        return f"No name fits on so long a domain: an address has at most {MAX_ADDRESS} characters."
    why = "" if longest == rules.max_length else f", as a whole address has at most {MAX_ADDRESS}"
    return f"The name has {len(name)} characters; this domain takes at most {longest}{why}. Shorten it."


def _too_short(name: str, name_key: str, rules: Rules) -> str:
    how = "" if name == name_key else " without the separators that this domain ignores"
    return f"The name has {len(name_key)} characters{how}; this domain takes {rules.min_length} or more."


def _reserved(name: str, entry: Entry) -> str:
    """Why a name is reserved, and whether there is a way to it."""
    what = f"`{name}` is reserved"
    if "*" in entry.text:
        what = f"`{name}` fits `{entry.text}`, which is reserved"
    elif squash(name) != squash(entry.text):
        what = f"`{name}` can be mistaken for `{entry.text}`, which is reserved"
    grant = ", or ask the operator of the domain for it" * (entry.group.reserved_class is ReservedClass.VENDOR)
    return f"{what}: {entry.group.why}. Choose another name{grant}."
