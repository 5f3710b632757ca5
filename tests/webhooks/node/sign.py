"""Print signed deliveries as JSON; verify.mjs checks them with Node libraries of receivers."""

import json
import sys
from base64 import b64encode
from uuid import UUID

from builders.kit.values import clock
from builders.webhooks import signatures

EVENT = UUID("0193a1b2-0000-7000-8000-00000000000e")
BODY = f'{{"id":"{EVENT}","type":"alias.created","data":{{"word":"\u00e4 \u2713 \U0001f600"}}}}'
SHORTEST = "whsec_" + b64encode(bytes(range(24))).decode()
LONGEST = "whsec_" + b64encode(bytes(range(64))).decode()
WORDS = "a phrase with \u00e4, \u00f6 and \u2713"  # a library wants its bytes in base64


def case(name: str, *signing_secrets: str, verifies: str) -> dict[str, object]:
    """Return a delivery that is signed with these secrets, and the secret of the receiver."""
    headers = signatures.signed_headers(
        [signatures.key_of(each) for each in signing_secrets],
        event_id=EVENT,
        body=BODY.encode(),
        n=1,
        test=False,
        now=clock.now(),
    )
    return {"name": name, "secret": verifies, "headers": headers, "body": BODY}


def main() -> None:
    """Write the deliveries to standard output."""
    made, newer = signatures.generate_secret(), signatures.generate_secret()
    words = "whsec_" + b64encode(WORDS.encode()).decode()
    cases = [
        case("a secret that was made", made, verifies=made),
        case("the shortest secret", SHORTEST, verifies=SHORTEST),
        case("the longest secret", LONGEST, verifies=LONGEST),
        case("a secret of words", WORDS, verifies=words),
        case("a rotation, the new secret", newer, made, verifies=newer),
        case("a rotation, the old secret", newer, made, verifies=made),
    ]
    json.dump(cases, sys.stdout)


main()
