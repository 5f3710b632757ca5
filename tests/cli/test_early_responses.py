"""A response that is given before the body was read reaches usual clients, who send all of it first."""

import asyncio
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable

import httpx
import pytest
import requests

from tests.cli.connections import refusing, serving

BODY = b"x" * 6_000_000
Ask = Callable[[str], tuple[int, bytes]]


def by_urllib(url: str) -> tuple[int, bytes]:
    try:
        urllib.request.urlopen(url, data=BODY, timeout=20)  # noqa: S310 - a server of this test
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    raise AssertionError


def by_requests(url: str) -> tuple[int, bytes]:
    answer = requests.post(url, data=BODY, timeout=20)
    return answer.status_code, answer.content


def by_httpx(url: str) -> tuple[int, bytes]:
    answer = httpx.post(url, content=BODY, timeout=20)
    return answer.status_code, answer.content


def by_curl(url: str) -> tuple[int, bytes]:
    command = ["curl", "-s", "-H", "Expect:", "--data-binary", "@-", "-w", "%{http_code}", url]
    said = subprocess.run(command, input=BODY, capture_output=True, check=True, timeout=20).stdout
    return int(said[-3:]), said[:-3]


CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@pytest.mark.parametrize("ask", [by_urllib, by_requests, by_httpx, pytest.param(by_curl, marks=CURL)])
async def test_an_early_refusal_is_read_by(ask: Ask) -> None:
    async with serving(refusing) as server:
        for _ in range(3):
            assert await asyncio.to_thread(ask, f"http://127.0.0.1:{server.port}/") == (413, b"refused")
