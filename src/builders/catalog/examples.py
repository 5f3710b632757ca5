"""What the catalog answers, by example, as the demo's catalog gives it."""

from pydantic.config import JsonDict

_PRICE: JsonDict = {"amount": "24.00", "currency": "USD", "interval": "year", "tier": "plus"}
_LOGO = "9df54097ab24c5f83cdea08d47643e267a16497d651b455edff2dba8098c8681.png"

DOMAIN: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-000000000005",
    "domain": "harbour.example",
    "unicode_domain": "harbour.example",
    "tld": "example",
    "title": "Harbour",
    "tagline": "Where every message comes in safely.",
    "description": "A calm, dependable name for people and small firms.",
    "categories": ["business", "travel"],
    "tags": ["sea", "calm"],
    "status": "live",
    "mail_mode": "both",
    "catch_all": False,
    "claimable": True,
    "price": _PRICE,
    "short_name_prices": [{"max_len": 2, "amount": "240.00", "currency": "USD"}],
    "min_local_length": 2,
    "separator_policy": "ignore_dots",
    "featured": True,
    "rank": 1000,
    "assets": {
        "logo": {
            "filename": _LOGO,
            "url": f"/v1/catalog/assets/{_LOGO}",
            "width": 256,
            "height": 256,
            "alt": "Harbour logo",
        },
        "cover": None,
        "icon": None,
    },
    "popularity": "medium",
    "created_at": "2026-01-05T09:30:00Z",
    "updated_at": "2026-01-05T09:30:00Z",
}

CATEGORIES: JsonDict = {
    "items": [
        {
            "slug": "tech",
            "name": "Technology",
            "description": "Machines, networks and what runs on them.",
            "position": 1,
            "parent": None,
            "domain_count": 11,
        }
    ]
}

_SUGGESTION: JsonDict = {
    "address": "hiada@harbour.example",
    "local_part": "hiada",
    "domain": "harbour.example",
    "category": "business",
    "price": _PRICE,
    "available": True,
    "score": 68,
    "why": [{"code": "prefix", "points": 63}, {"code": "featured", "points": 5}],
}

SUGGESTED: JsonDict = {"query": "ada", "tokens": ["ada"], "items": [_SUGGESTION], "catalog_version": 81}

_CHECKED: JsonDict = {
    "local_part": "ada",
    "normalized_local_part": "ada",
    "domain": "harbour.example",
    "address": "ada@harbour.example",
    "price": _PRICE,
    "available_at": None,
    "rules": {"min": 2, "max": 64, "separator_policy": "ignore_dots"},
    "definitive": True,
    "checked_at": "2026-01-05T09:30:00Z",
}
FREE: JsonDict = {**_CHECKED, "available": True, "reason": "ok", "detail": None, "message": "", "alternatives": []}
TAKEN: JsonDict = {
    **_CHECKED,
    "available": False,
    "reason": "taken",
    "detail": None,
    "message": "The name is taken.",
    "alternatives": [_SUGGESTION],
}

EVENT: JsonDict = {
    "kind": "check",
    "domain": "harbour.example",
    "local_part": "jane.doe",
    "result": "available",
    "event_id": "8f14e45f-ceea-467f-a1b2-1a2b3c4d5e6f",
    "session_id": "b7c9d1e2f3a4b5c6",
    "referrer": "https://news.example/item?id=1",
    "utm": {"source": "newsletter", "campaign": "spring"},
}
EVENTS: JsonDict = {
    "events": [{"kind": "view"}, {"kind": "claim", "domain": "harbour.example", "local_part": "jane.doe"}]
}
RECORDED: JsonDict = {
    "id": "0193a1b2-0000-7000-8000-0000000000b1",
    "accepted": True,
    "duplicate": False,
    "results": None,
    "warnings": [],
}
RECORDED_BATCH: JsonDict = {
    "id": None,
    "accepted": False,
    "duplicate": False,
    "results": [
        {"id": "0193a1b2-0000-7000-8000-0000000000b2", "accepted": True, "duplicate": False, "error": None},
        {
            "id": None,
            "accepted": False,
            "duplicate": False,
            "error": {
                "field": "local_part",
                "code": "local_part_required",
                "message": "A claim is of a name.",
            },
        },
    ],
    "warnings": [],
}
