"""A minimal browser, which presses the button of a page."""

import html
import re

import httpx

from tests.cast import Client

OWN = "http://builders.test"
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACTION = re.compile(r'<form method="post" action="([^"]+)">')
_FIELD = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def origin_of_post(policy: str | None) -> str:
    """Return the Origin header of a same-origin POST under this referrer policy (Fetch, 3.2, "append").

    Of a site without TLS: the policies that look for a step down find none.
    """
    return "null" if policy == "no-referrer" else OWN


async def press(client: Client, page: httpx.Response) -> httpx.Response:
    """Press the page's button, over plain HTTP, so with the Origin header and without Sec-Fetch headers."""
    action = _ACTION.search(page.text)
    assert action is not None, page.text
    fields = {name: html.unescape(value) for name, value in _FIELD.findall(page.text)}
    origin = origin_of_post(page.headers.get("referrer-policy"))
    return await client.post(action[1], data=fields, headers={"Accept": ACCEPT, "Origin": origin})
