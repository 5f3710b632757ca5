"""Wire format of leads.

Visitors fill in these forms: a blank member counts as absent, and text is normalized rather than refused.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StringConstraints, WithJsonSchema

from builders.kit.http.bodies import Body, Reply
from builders.kit.http.members import written_of
from builders.kit.http.visitors import truncate_address
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.texts import checked
from builders.leads.records import Interest, Receipt, Request, Volume
from builders.mail.link_pages import Confirmation


def _text(max_length: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, max_length=max_length)


def _line(text: str) -> str:
    return " ".join(texts.cleaned(text).split())


def _choice(kind: type[StrEnum]) -> WithJsonSchema:
    """Return the schema of a closed set or an empty text."""
    words = {"type": "string", "enum": [*(each.value for each in kind), ""]}
    return WithJsonSchema({"anyOf": [words, {"type": "null"}]})


def _domain(text: str) -> str:
    """Return the domain as lower-case A-labels."""
    name = find_a_label(text)
    if name is None:
        raise ValueError("Not a domain; send one such as harbour.example.")
    return name


def _page(text: str) -> str:
    """Return a referrer without its query, which can hold personal data; empty when it is not a URL."""
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, host, parts.path, "", "")) if host else ""


Email = Annotated[
    str,
    _text(254),
    checked(texts.canonical_email, "email"),
    doc("Stored in lower case, with the domain as A-labels."),
]
BLANK = BeforeValidator(lambda sent: None if sent == "" else sent)
Line = AfterValidator(_line)
Code = Annotated[Annotated[str, _text(40), Line] | None, BLANK]
Tag = Annotated[Annotated[str, _text(100), Line] | None, BLANK]
Message = Annotated[Annotated[str, _text(2000), AfterValidator(texts.cleaned)] | None, BLANK]


class LeadConsent(Body):
    """Consent of the visitor, and its wording."""

    marketing: Annotated[StrictBool | None, doc("Whether the visitor agreed to marketing email.")] = None
    text_version: Annotated[Code, doc("Your identifier of the displayed wording.")] = None


class LeadUtm(Body):
    """Campaign parameters (UTM) of the page's address."""

    source: Annotated[Tag, doc("`utm_source` of the page: the site or newsletter that sent the visitor.")] = None
    medium: Annotated[Tag, doc("`utm_medium`: the kind of channel, such as `email` or `cpc`.")] = None
    campaign: Annotated[Tag, doc("`utm_campaign`: the campaign.")] = None
    term: Annotated[Tag, doc("`utm_term`: the paid search term.")] = None
    content: Annotated[Tag, doc("`utm_content`: the link or advertisement.")] = None


class _Visitor(Body):
    """Members of both forms."""

    email: Email
    name: Annotated[Annotated[str, _text(120), Line] | None, BLANK, doc("Name of the visitor.")] = None
    consent: Annotated[LeadConsent | None, doc("Consent of the visitor; absent: no consent beyond a reply.")] = (
        None
    )
    utm: Annotated[LeadUtm | None, doc("Campaign parameters of the visit.")] = None
    website: Annotated[
        str | None, doc("A honeypot: hide it from people. When it is filled in, nothing is stored.")
    ] = None

    def request(self, address: str, *, source: str | None, interest: Interest | None) -> Request:
        """Return the request of the form, from the client's address."""
        consent = self.consent or LeadConsent()
        own = set(type(self).model_fields) - {"email", "consent", "website", "source", "interest"}
        known: dict[str, Any] = {**dict.fromkeys(own, True), "utm": set(LeadUtm.model_fields)}
        sent = self.model_dump(mode="json", include=known, exclude_none=True)
        return Request(
            email=self.email,
            source=source,
            interest=interest,
            marketing=bool(consent.marketing),
            text_version=consent.text_version or None,
            client=truncate_address(address),
            details={name: value for name, value in sent.items() if value},
        )

    @property
    def is_trapped(self) -> bool:
        """Return whether the field that people do not see was filled in."""
        return bool(self.website and self.website.strip())


class CreateLeadRequest(_Visitor):
    """The form of a visitor on one of the vendor's pages."""

    source: Annotated[
        Annotated[str, StringConstraints(pattern=r"^(?:[a-z0-9]+(?:[._-][a-z0-9]+)*)?$", max_length=40)] | None,
        BLANK,
        doc("Your name for the page: small letters, digits, and hyphens between them."),
    ] = None
    interest: Annotated[Interest | None, BLANK, _choice(Interest), doc("Interest of the visitor.")] = None
    domain: Annotated[
        Annotated[str, _text(1024), checked(_domain, "domain_name")] | None,
        BLANK,
        doc("Domain that the visitor asked about, in Unicode or as an A-label."),
    ] = None
    local_part: Annotated[
        Annotated[str, _text(64), Line] | None, BLANK, doc("Name that the visitor would like, before the `@`.")
    ] = None
    message: Annotated[Message, doc("Text of the visitor, 2,000 characters at most.")] = None
    locale: Annotated[
        Annotated[str, _text(64), checked(texts.locale, "locale")] | None, BLANK, doc("A language tag (BCP 47).")
    ] = None
    referrer: Annotated[
        Annotated[str, _text(texts.MAX_URL), AfterValidator(_page)] | None,
        BLANK,
        doc("The referring page; stored without its query."),
    ] = None
    metadata: Annotated[
        dict[Annotated[str, StringConstraints(min_length=1, max_length=40)], Annotated[str, Field(max_length=500)]]
        | None,
        Field(max_length=20, description="Your own pairs of text."),
    ] = None


class BuildersWaitlistRequest(_Visitor):
    """The form of a builder for the waitlist."""

    company: Annotated[Annotated[str, _text(120), Line] | None, BLANK, doc("Company of the visitor.")] = None
    role: Annotated[Annotated[str, _text(80), Line] | None, BLANK, doc("Role of the visitor in the company.")] = (
        None
    )
    use_case: Annotated[Message, doc("Use of the names, 2,000 characters at most.")] = None
    url: Annotated[
        Annotated[str, _text(texts.MAX_URL), checked(texts.web_address, "web_address")] | None,
        BLANK,
        doc("An http or https address."),
    ] = None
    expected_volume: Annotated[Volume | None, BLANK, _choice(Volume), doc("Expected number of names.")] = None
    referral_code: Annotated[Code, doc("Code of the referring customer.")] = None


LeadReply = written_of(Receipt, "LeadReply")


class LeadConfirmedReply(Reply):
    """Result of the confirmation."""

    status: Annotated[
        Literal["confirmed", "already_confirmed"], doc("`already_confirmed` when the link was used before.")
    ]
    email_masked: Annotated[str, doc("The address, masked.")]

    @classmethod
    def of(cls, confirmation: Confirmation) -> Self:
        """Return the reply about a confirmation."""
        return cls.from_record(confirmation, email_masked=confirmation.email)
