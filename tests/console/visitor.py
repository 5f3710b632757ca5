"""A browser of a signed-in person, without script: it opens pages and sends their forms."""

import html
import re
from html.parser import HTMLParser
from typing import Any

import httpx

from builders.identity.records import NewSession
from tests.browser import ACCEPT, OWN
from tests.cast import Client, Person

# What only programs read: paths of the API, expected forms of JSON, patterns, paths of members.
FOR_PROGRAMS = re.compile(r".{0,60}(?:/v1/|Input should|\bJSON\b|match pattern|\bbody\.\w).{0,60}")
_BY_API = re.compile(r'<details class="api">.*?</details>', re.DOTALL)
_ADDRESSES = re.compile(r"https?://\S+")
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)


def text_of(page: httpx.Response) -> str:
    """Return what a page says, without what it says about the same page by API."""
    return _ADDRESSES.sub("", html.unescape(_TAGS.sub(" ", _BY_API.sub("", page.text))))


class Visitor(Client):
    """A browser with the session cookie of a person."""

    def __init__(self, person: Person, session: NewSession) -> None:
        super().__init__(person.service, cookie=session.token)
        self.headers["Accept"] = ACCEPT
        self.person = person

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request; require that a page says nothing in the words of programs."""
        answer = await super().send(request, **options)
        if answer.headers.get("content-type", "").startswith("text/html") and not answer.is_stream_consumed:
            await answer.aread()
        if answer.headers.get("content-type", "").startswith("text/html"):
            assert not (found := FOR_PROGRAMS.findall(text_of(answer))), found
        return answer

    async def open(self, path: str, status: int = 200) -> httpx.Response:
        """Open a page."""
        page = await self.get(path)
        assert page.status_code == status, (page.status_code, page.text)
        return page

    async def submit(self, page: httpx.Response, action: str, **typed: Any) -> httpx.Response:
        """Send a form of the page with what its fields contain, except what is typed; follow a redirect."""
        return await self.post_form(action_of(page, action), {**fields_of(page, action), **typed})

    async def post_form(self, path: str, fields: dict[str, Any], *, origin: str = OWN) -> httpx.Response:
        """Send fields to a path; follow a redirect."""
        answer = await self.post(path, data=fields, headers={"Origin": origin})
        return await self.get(answer.headers["location"]) if answer.status_code == 303 else answer


class _Forms(HTMLParser):
    """Collects the fields of each form by its action, and by that of a button with what the button sends."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, Any]]] = []
        self.buttons: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self._name: str | None = None
        self._is_first = True  # of the options of a select

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), {}))
        elif self.forms and given.get("name"):
            fields = self.forms[-1][1]
            if tag == "input" and (given.get("type") not in {"checkbox", "radio"} or "checked" in given):
                before = fields.get(given["name"])
                value = given.get("value", "")
                before = [before] if isinstance(before, str) else before
                fields[given["name"]] = value if before is None else [*before, value]
            elif tag in {"select", "textarea"}:
                self._name, self._is_first = given["name"], True
                fields.setdefault(self._name, "")
        elif tag == "option" and self._name and ("selected" in given or self._is_first):
            self._is_first = False
            self.forms[-1][1][self._name] = given.get("value", "")
        if tag == "button" and self.forms and "formaction" in given:
            own = {given["name"]: given.get("value", "")} if "name" in given else {}
            self.buttons.append((given["formaction"], self.forms[-1][1], own))

    def handle_data(self, data: str) -> None:
        if self._name and self.lasttag == "textarea":
            self.forms[-1][1][self._name] += data.removeprefix("\n")  # as a browser reads it

    def handle_endtag(self, tag: str) -> None:
        if tag in {"select", "textarea"}:
            self._name = None


def _forms(page: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    parser = _Forms()
    parser.feed(page.text)
    return [*parser.forms, *((action, {**fields, **own}) for action, fields, own in parser.buttons)]


def action_of(page: httpx.Response, name: str) -> str:
    """Return the address of a form."""
    return next(action for action, _ in _forms(page) if action.endswith(f"/do/{name}"))


def fields_of(page: httpx.Response, name: str) -> dict[str, Any]:
    """Return the fields of a form, as the page filled them."""
    return next(fields for action, fields in _forms(page) if action.endswith(f"/do/{name}"))


def heading(page: httpx.Response) -> str:
    """Return the text of the heading of the page."""
    found = re.search(r"<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert found is not None, page.text
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", found[1])).split())
