"""The behaviors that the conformance suite tests of each registrar, and reasons for those that do not occur."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from builders.demo.registrars.fake import Fault
from builders.portfolio.registrars import providers
from builders.portfolio.registrars.records import AuthCodeDelivery, Profile
from builders.portfolio.registrars.sources import Topic
from tests.registrars.fakes import FAKES


class Behavior(StrEnum):
    """A behavior of a registrar's API that the suite tests."""

    SHORT_PAGE = "A list that ends with a short page"
    FULL_PAGE = "A list that ends with a full page"
    TWO_PAGES = "A list of two pages"
    CAPPED_PAGES = "Pages with fewer domains than requested"
    TRUNCATED_PAGE = "A page without its last domain"
    EMPTY_LIST = "An account without domains"
    AUTO_RENEW = "Auto-renew in the list"
    LOCK = "Lock in the list"
    PRICES = "Renewal prices"
    OTHER_SCRIPT = "A name in another script"
    NO_EXPIRY = "A domain without an expiry"
    EXPIRED = "An expired domain"
    CALLED_ACTIVE = "A domain that is called active after its expiry"
    ON_HOLD = "A suspended domain"
    WRONG_DATES = "Dates of the years 1 and 9999"
    BAD_ROW = "A row without a name"
    ONE_DOMAIN = "One domain"
    OTHER_DOMAIN = "A domain that the account does not hold"
    WRONG_CREDENTIALS = "Wrong credentials"
    KEY_REFUSED = "A key that becomes invalid"
    RESTRICTED = "An account without access to the API"
    ADDRESS_REFUSED = "An address that is not allowed"
    RATE_LIMITED = "A rate limit with a waiting time"
    RATE_LIMITED_SILENTLY = "A rate limit without a waiting time"
    SERVER_ERROR = "A permanent server error"
    REQUEST_REFUSED = "A refused request"
    HALF_BODY = "A permanently truncated body"
    EMPTY_BODY = "An empty body"
    WEB_PAGE = "A web page in place of an answer"
    LIMITED_IN_WORDS = "A rate limit that only the text of an error names"
    KEY_REFUSED_IN_WORDS = "A refused key that only the text of an error names"
    ODD_BODY = "A response of success without its content"
    PASSING_SERVER_ERROR = "A temporary server error"
    PASSING_HALF_BODY = "A body truncated once"
    AUTH_CODE = "An auth code in the response"
    TRANSFER_PENDING = "A pending transfer"
    TRANSFER_COMPLETED = "A completed transfer"
    TRANSFER_FAILED = "A failed transfer"
    TRANSFER_CANCELLED = "A cancelled transfer"
    CHARGES = "The charges of a period, with a refund"
    SET_AUTO_RENEW = "A switch for auto-renew"
    WRITE_ONCE = "A write that fails is not repeated"


FAULTS: Mapping[Behavior, Fault] = {
    Behavior.KEY_REFUSED: Fault.BAD_KEY,
    Behavior.RESTRICTED: Fault.RESTRICTED,
    Behavior.ADDRESS_REFUSED: Fault.IP_NOT_ALLOWED,
    Behavior.RATE_LIMITED: Fault.RATE_LIMITED,
    Behavior.RATE_LIMITED_SILENTLY: Fault.RATE_LIMITED_SILENTLY,
    Behavior.SERVER_ERROR: Fault.SERVER_ERROR,
    Behavior.REQUEST_REFUSED: Fault.REFUSED,
    Behavior.HALF_BODY: Fault.MALFORMED,
    Behavior.EMPTY_BODY: Fault.EMPTY,
    Behavior.WEB_PAGE: Fault.WEB_PAGE,
    Behavior.LIMITED_IN_WORDS: Fault.LIMITED_IN_WORDS,
    Behavior.KEY_REFUSED_IN_WORDS: Fault.BAD_KEY_IN_WORDS,
    Behavior.ODD_BODY: Fault.ODD,
}
TRANSFERS: Mapping[Behavior, str] = {
    Behavior.TRANSFER_PENDING: "pending",
    Behavior.TRANSFER_COMPLETED: "completed",
    Behavior.TRANSFER_FAILED: "failed",
    Behavior.TRANSFER_CANCELLED: "cancelled",
}
_OFFERS = ("list", "auto_renew", "lock", "set_auto_renew", "prices", "billing", "transfer_status", "parking")
_PROVIDERS = ("Registrar", "`provider`", "Offers", "Quota", "Sandbox", "Documented")
_CREDENTIALS = ("Registrar", "Credentials", "Place", "Requirements")
_DOCUMENTS = ("Registrar", "Number", "Page", "Kind", "Read on")
NOT_LISTED = "The list of domains does not contain it."
NOT_OFFERED = "The API does not offer or document it; the suite tests that the adapter reports this."
NO_STATE = "The registrar has no such state."
NO_PAGES = "The list has no pages."
NOT_SHOWN = "Nothing in the response would show it; a large one is held back as a suspicious drop."
_CODES = {
    AuthCodeDelivery.EMAILED: "The registrar emails the code; the suite tests that the adapter reports this.",
    AuthCodeDelivery.DASHBOARD: "Only the website shows the code; the suite tests that the adapter reports this.",
    AuthCodeDelivery.UNSUPPORTED: NOT_OFFERED,
}
_FAULTS = {
    Fault.RESTRICTED: "The registrar has no specific error for such an account.",
    Fault.IP_NOT_ALLOWED: "The registrar has no specific error for addresses.",
    Fault.RATE_LIMITED: "The registrar does not return a waiting time.",
}


def find_reason(behavior: Behavior, provider: str) -> str | None:
    """Return why a behavior does not occur at a registrar; None when it does."""
    offers, fake = providers.get_profile(provider).capabilities, FAKES[provider]
    if behavior in FAULTS:
        fault = FAULTS[behavior]
        return None if fault in fake.faults() else _FAULTS[fault]
    if behavior in TRANSFERS and offers.transfer_status:
        return None if TRANSFERS[behavior] in fake.transfer_states else NO_STATE
    if behavior is Behavior.AUTH_CODE:
        return _CODES.get(offers.auth_code)
    needs = {
        Behavior.CAPPED_PAGES: (fake.has_pages, NO_PAGES),
        Behavior.TRUNCATED_PAGE: (fake.shows_gaps, NOT_SHOWN),
        Behavior.ON_HOLD: (fake.has_holds, NOT_LISTED),
        Behavior.AUTO_RENEW: (offers.auto_renew, NOT_LISTED),
        Behavior.LOCK: (offers.lock, NOT_LISTED),
        Behavior.PRICES: (offers.prices, NOT_OFFERED),
        Behavior.CHARGES: (offers.billing, NOT_OFFERED),
        Behavior.SET_AUTO_RENEW: (offers.set_auto_renew, NOT_OFFERED),
        Behavior.WRITE_ONCE: (offers.set_auto_renew, NOT_OFFERED),
        **dict.fromkeys(TRANSFERS, (offers.transfer_status, NOT_OFFERED)),
    }
    is_offered, reason = needs.get(behavior, (True, None))
    return None if is_offered else reason


def describe() -> Sequence[tuple[str, tuple[Sequence[str], Sequence[Sequence[str]]]]]:
    """Return the tables of docs/reference/registrars.md: the title, and the columns with the rows."""
    profiles = [providers.get_profile(name) for name in sorted(FAKES)]
    labels = [each.label for each in profiles]
    reasons = [(str(number), reason) for number, reason in enumerate(list_reasons(), 1)]
    ends = [(each.label, each.list_end) for each in profiles]
    return (
        ("Providers", (_PROVIDERS, [_provider(each) for each in profiles])),
        ("Credentials", (_CREDENTIALS, [_credentials(each) for each in profiles])),
        ("What confirms that a list is complete", (("Registrar", "Confirmed by"), ends)),
        ("Sources", (("Behavior", *labels), [_sources_of(topic, profiles) for topic in Topic])),
        ("Documents and clients", (_DOCUMENTS, [row for each in profiles for row in _documents(each)])),
        ("Tested behaviors", (("Behavior", *labels), [*list_behaviors()])),
        ("Why a behavior does not occur", (("Number", "Reason"), reasons)),
    )


def _provider(profile: Profile) -> Sequence[str]:
    offers = profile.capabilities
    offered = [f"`{name}`" for name in _OFFERS if getattr(offers, name)]
    return (
        profile.label,
        f"`{profile.provider}`",
        ", ".join([*offered, f"`auth_code`: {offers.auth_code}"]),
        f"{profile.quota.requests} requests in {profile.quota.window_s} s",
        "yes" if offers.sandbox else "no",
        "yes" if profile.is_verified else "no",
    )


def _credentials(profile: Profile) -> Sequence[str]:
    fields = profile.credential_fields
    names = [f"`{field.name}`" + " (optional)" * (not field.is_required) for field in fields]
    return profile.label, ", ".join(names), profile.place, profile.requires


def _sources_of(topic: Topic, profiles: Sequence[Profile]) -> Sequence[str]:
    """Return a row: by which documents of the second table a behavior is verified, or that it is not."""
    return topic, *(_verified(topic, each) for each in profiles)


def _verified(topic: Topic, profile: Profile) -> str:
    if topic not in profile.topics:
        return "not offered"
    numbered = [*enumerate(profile.sources, 1)]
    verified = [str(number) for number, each in numbered if topic in each.topics and each.is_vendor]
    others = [str(number) for number, each in numbered if topic in each.topics and not each.is_vendor]
    if verified:
        return f"verified ({', '.join(verified)})"
    return f"not verified ({', '.join(others)})" if others else "not verified"


def _documents(profile: Profile) -> Iterator[Sequence[str]]:
    for number, each in enumerate(profile.sources, 1):
        kind = "document of the registrar" if each.is_vendor else "other client, or report"
        yield profile.label, str(number), each.url, kind, each.read_on


def list_behaviors() -> Iterator[Sequence[str]]:
    """Yield a row for each behavior: for each registrar "tested", or the number of a reason of `list_reasons`."""
    numbers = {reason: number for number, reason in enumerate(list_reasons(), 1)}
    for behavior in Behavior:
        reasons = [find_reason(behavior, name) for name in sorted(FAKES)]
        yield behavior, *("tested" if each is None else f"does not occur ({numbers[each]})" for each in reasons)


def list_reasons() -> Sequence[str]:
    """Return the reasons why a behavior does not occur, in the order of the behaviors."""
    found = (find_reason(behavior, name) for behavior in Behavior for name in sorted(FAKES))
    return list(dict.fromkeys(each for each in found if each is not None))
