"""What domains answer, by example."""

from pydantic.config import JsonDict

_AT = "2026-01-05T09:30:00Z"
TOKEN = "builders-verification=mfrggzdfmztwq2lknnwg23tpobyxe43u"  # noqa: S105 - everybody can read it in DNS
_OK: JsonDict = {"status": "ok", "found": ["10 mx1.builders.example"], "next_action": None, "checked_at": _AT}
_SPF: JsonDict = {**_OK, "found": ["v=spf1 include:builders.example ~all"]}
_DKIM: JsonDict = {**_OK, "found": ["v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="]}
_GONE: JsonDict = {
    "status": "missing",
    "found": [],
    "next_action": 'Set a TXT record at _dmarc.ada.example with the value "v=DMARC1; p=none".',
    "checked_at": _AT,
}
_RULES: JsonDict = {"min": 1, "max": 64, "separator_policy": "ignore_dots"}
DOMAIN: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000005",
    "domain": "ada.example",
    "unicode": None,
    "source": "owned",
    "status": "live",
    "verification": {
        "method": "dns",
        "type": "TXT",
        "name": "_builders-challenge.ada.example",
        "value": TOKEN,
        "checked_at": _AT,
        "lost_at": None,
    },
    "catch_all": False,
    "default_destination": "ada@example.net",
    "claimable": True,
    "rules": _RULES,
    "alias_count": 3,
    "dns": {
        "mx": _OK,
        "spf": {**_OK, "found": ["v=spf1 include:builders.example ~all"]},
        "dkim": _OK,
        "dmarc": _GONE,
    },
    "managed_by": None,
    "next_action": None,
    "added_at": _AT,
    "verified_at": _AT,
    "suspended_at": None,
    "released_at": None,
    "updated_at": _AT,
    "version": 2,
    "livemode": True,
}
PENDING: JsonDict = {
    **DOMAIN,
    "status": "pending",
    "claimable": False,
    "alias_count": 0,
    "next_action": f'Set a TXT record at _builders-challenge.ada.example with the value "{TOKEN}", then '
    "POST /v1/domains/0193a1b2-0000-7000-8000-000000000005/verify.",
    "verified_at": None,
    "version": 1,
}
CHECKED: JsonDict = {"status": "found", "found": [TOKEN], "missing": None}
CLAIMABLE: JsonDict = {
    "domain": "harbour.example",
    "unicode": None,
    "source": "catalog",
    "mail_mode": "both",
    "categories": ["business", "travel"],
    "price": {"amount": "24.00", "currency": "USD", "interval": "year", "tier": "plus"},
    "min_local_length": 2,
    "separator_policy": "ignore_dots",
    "rules": {**_RULES, "min": 2},
    "remaining": None,
}
