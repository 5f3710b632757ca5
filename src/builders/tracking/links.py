"""Whether a tracked link is as it was minted, and leads where a browser may be sent."""

import re
from functools import lru_cache
from urllib.parse import urlsplit

from builders.kit.process.secret_keys import Keyring
from builders.mail import service as mail
from builders.tracking.errors import LinkAltered

LONGEST = 2048  # characters of a target
_MAC = re.compile(
    r"[A-Za-z0-9_-]{26}[AEIMQUYcgkosw048]={0,1}"
)  # 20 bytes in base64url, in the one way to spell them
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")  # a browser would drop some of them, and take a backslash for a slash


def check(keyring: Keyring, *, token: str, target: str, mac: str) -> None:
    """Raises LinkAltered unless the link was made by us, for this token, to this target.

    The MAC first, in constant time; what follows holds for all that we mint, and is a second fence.
    """
    if not mail.is_target(keyring, token, target=target, mac=mac) or not _MAC.fullmatch(mac) or not is_web(target):
        raise LinkAltered("The link was changed on its way; follow it from the mail itself.")


@lru_cache(maxsize=1024)  # only of what we signed: many follow the same links
def is_web(target: str) -> bool:
    """Whether it is an absolute http or https address with nothing hidden in it."""
    if len(target) > LONGEST or _UNFIT.search(target):
        return False
    try:
        parts = urlsplit(target)
        _ = parts.port  # a number, or an error
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
