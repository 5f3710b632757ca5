"""Names that nobody can own on the internet: they are resolved locally, differently, or not at all.

`example` (RFC 6761) is left out: documentation and the demo use it.
"""

_RFC_6761 = "RFC 6761, IANA Special-Use Domain Names"
_MDNS_G = "RFC 6762, appendix G: private top-level names in use"
_ICANN_2018 = "ICANN Board, 2018-02-04: delegation deferred indefinitely"
SPECIAL_NAMES = {
    "alt": "RFC 9476",
    "arpa": "RFC 3172; with home.arpa (RFC 8375) and the reverse zones of RFC 6761",
    "corp": f"{_ICANN_2018}; {_MDNS_G}",
    "home": f"{_ICANN_2018}; {_MDNS_G}",
    "internal": "ICANN Board, 2024-07-29: reserved for private use",
    "intranet": _MDNS_G,
    "invalid": _RFC_6761,
    "lan": _MDNS_G,
    "local": "RFC 6762",
    "localdomain": "the customary name of a local machine's domain, as in localhost.localdomain",
    "localhost": _RFC_6761,
    "mail": _ICANN_2018,
    "onion": "RFC 7686",
    "private": _MDNS_G,
    "svc": "Kubernetes: names of services inside a cluster",
    "test": _RFC_6761,
}


def is_special_use(name: str) -> bool:
    """Whether an A-label in lower case is, or is below, a name for special use."""
    return name.removesuffix(".").rpartition(".")[2] in SPECIAL_NAMES
