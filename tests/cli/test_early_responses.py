"""A response before the end of the body reaches common clients, which send all of it first."""

import asyncio
import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import requests
from starlette.types import Receive, Scope, Send

from tests.cli.connections import refusing, serving

BODY = b"x" * 6_000_000
REFUSALS = (413, 401, 403, 405)
TIMES = 3
PAGE = """<!doctype html><title>fetch</title><script>
const read = async (status) => {
  try {
    const response = await fetch(`/${status}`, { method: "POST", body: "x".repeat(6_000_000) });
    return [response.status, await response.text()];
  } catch (error) {
    return [0, String(error)];
  }
};
(async () => {
  const results = [];
  for (const status of REFUSALS) for (let i = 0; i < TIMES; i++) results.push(await read(status));
  await fetch("/results", { method: "POST", body: JSON.stringify(results) });
})();
</script>""".replace("REFUSALS", json.dumps(REFUSALS)).replace("TIMES", str(TIMES))
Ask = Callable[[str], tuple[int, bytes]]


def by_urllib(url: str) -> tuple[int, bytes]:
    try:
        urllib.request.urlopen(url, data=BODY, timeout=60)  # noqa: S310 - the server of this test
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    raise AssertionError


def by_requests(url: str) -> tuple[int, bytes]:
    answer = requests.post(url, data=BODY, timeout=60)
    return answer.status_code, answer.content


def by_httpx(url: str) -> tuple[int, bytes]:
    answer = httpx.post(url, content=BODY, timeout=60)
    return answer.status_code, answer.content


def by_curl(url: str) -> tuple[int, bytes]:
    command = ["curl", "-s", "-H", "Expect:", "--data-binary", "@-", "-w", "%{http_code}", url]
    said = subprocess.run(command, input=BODY, capture_output=True, check=True, timeout=60).stdout
    return int(said[-3:]), said[:-3]


CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@pytest.mark.parametrize("ask", [by_urllib, by_requests, by_httpx, pytest.param(by_curl, marks=CURL)])
async def test_a_client_reads_an_early_refusal(ask: Ask) -> None:
    async with serving(refusing) as server:
        for _ in range(3):
            assert await asyncio.to_thread(ask, f"http://127.0.0.1:{server.port}/") == (413, b"refused")


class BrowserApp:
    """Serves the page, refuses its requests without reading their bodies, and stores the posted results."""

    def __init__(self) -> None:
        self.results: asyncio.Future[list[tuple[int, str]]] = asyncio.get_running_loop().create_future()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].strip("/")
        if path.isdigit():
            await respond(send, int(path), b"refused", b"text/plain", close=True)
        elif path == "results":
            self.results.set_result([(status, text) for status, text in json.loads(await read_body(receive))])
            await respond(send, 200, b"", b"text/plain")
        else:
            await respond(send, 200, PAGE.encode(), b"text/html")


async def respond(send: Send, status: int, content: bytes, media_type: bytes, *, close: bool = False) -> None:
    headers = [(b"content-length", b"%d" % len(content)), (b"content-type", media_type)]
    headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def read_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


@asynccontextmanager
async def browsing(url: str, profile: Path) -> AsyncIterator[None]:
    """Open the page in Chromium."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    offline = ("--disable-background-networking", "--disable-component-update", "--no-proxy-server")
    command = ("chromium", *options, *offline, f"--user-data-dir={profile}", "--remote-debugging-port=0", url)
    nowhere = subprocess.DEVNULL
    browser = await asyncio.create_subprocess_exec(*command, stdout=nowhere, stderr=nowhere)
    try:
        yield
    finally:
        browser.terminate()
        await browser.wait()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
async def test_fetch_reads_an_early_refusal(tmp_path: Path) -> None:
    app = BrowserApp()
    async with serving(app) as server, browsing(f"http://127.0.0.1:{server.port}/", tmp_path):
        async with asyncio.timeout(60):
            results = await app.results
    assert results == [(status, "refused") for status in REFUSALS for _ in range(TIMES)]
