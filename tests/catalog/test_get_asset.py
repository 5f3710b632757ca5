import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from builders.app import Service
from tests.cast import Client
from tests.catalog.make import Loader, fresh
from tests.catalog.test_images import picture


@pytest.fixture
async def plain(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client without a check of the document, which has neither HEAD nor 206."""
    transport = httpx.ASGITransport(app=service)
    async with httpx.AsyncClient(transport=transport, base_url="http://builders.test") as client:
        yield client


@pytest.fixture
async def url(load: Loader, anyone: Client) -> str:
    domain = fresh()
    (load.folder / "logo.png").write_bytes(picture())
    await load({"domain": domain, "logo": "logo.png"})
    shown = await anyone.get(f"/v1/catalog/domains/{domain}")
    found: str = shown.json()["assets"]["logo"]["url"]
    return found


async def test_an_image_is_cacheable_without_limit_and_cannot_run_scripts(anyone: Client, url: str) -> None:
    answer = await anyone.get(url)
    assert answer.content == picture()
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["etag"] == f'"{hashlib.sha256(picture()).hexdigest()}"'
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_head_has_the_same_headers_without_the_image(plain: httpx.AsyncClient, url: str) -> None:
    head, whole = await plain.head(url), await plain.get(url)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("etag", "content-length", "content-type", "cache-control", "accept-ranges"):
        assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize("given", ["{etag}", "W/{etag}", '"other", {etag}', "*"])
async def test_the_current_etag_gives_304(plain: httpx.AsyncClient, url: str, given: str) -> None:
    etag = (await plain.get(url)).headers["etag"]
    for ask in (plain.get, plain.head):
        answer = await ask(url, headers={"If-None-Match": given.format(etag=etag)})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == etag


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=2-5", slice(2, 6)),
        ("bytes=5-", slice(5, None)),
        ("bytes=-4", slice(-4, None)),
        ("bytes=-999999", slice(0, None)),
        ("bytes=3-99999999", slice(3, None)),
    ],
)
async def test_a_range_gives_206_with_only_its_bytes(
    plain: httpx.AsyncClient, url: str, wanted: str, part: slice
) -> None:
    answer = await plain.get(url, headers={"Range": wanted})
    content = picture()
    start, stop, _ = part.indices(len(content))
    assert answer.status_code == 206
    assert answer.content == content[part]
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(content)}"
    assert answer.headers["content-length"] == str(len(content[part]))


@pytest.mark.parametrize(
    "wanted", ["bytes=5-2", "bytes=-", "bytes=a-b", "items=0-1", "bytes=0-1,4-5", "bytes", f"bytes={'9' * 5000}-"]
)
async def test_a_malformed_range_is_ignored(plain: httpx.AsyncClient, url: str, wanted: str) -> None:
    answer = await plain.get(url, headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (200, picture())


@pytest.mark.parametrize("wanted", ["bytes=999999-", "bytes=-0", "bytes=999999-9999999"])
async def test_a_range_after_the_end_is_416(anyone: Client, url: str, wanted: str) -> None:
    answer = await anyone.get(url, headers={"Range": wanted})
    assert (answer.status_code, answer.json()["code"]) == (416, "range_not_satisfiable")
    assert answer.headers["content-range"] == f"bytes */{len(picture())}"


async def test_if_range_with_another_etag_gives_the_whole_image(plain: httpx.AsyncClient, url: str) -> None:
    etag = (await plain.get(url)).headers["etag"]
    for given, status in [(etag, 206), ('"other"', 200), (f"W/{etag}", 200)]:
        answer = await plain.get(url, headers={"Range": "bytes=0-3", "If-Range": given})
        assert answer.status_code == status


@pytest.mark.parametrize(
    "name",
    [
        f"{'0' * 64}.png",
        "..%2F..%2Fetc%2Fpasswd",
        "%2e%2e",
        "..",
        ".",
        "%2Fetc%2Fpasswd",
        "..%5C..%5Cx.png",
        "logo.png",
        f"{'A' * 64}.png",
        f"{'0' * 64}.svg",
        f"{'0' * 64}.png%0a",
        f"{'0' * 64}.png%20",
        "x" * 3000,
        "\u202e",
    ],
)
async def test_a_name_that_is_no_asset_is_404(plain: httpx.AsyncClient, name: str) -> None:
    assert (await plain.get(f"/v1/catalog/assets/{name}")).status_code == 404
    assert (await plain.head(f"/v1/catalog/assets/{name}")).status_code in {404, 405}


async def test_a_link_in_the_folder_is_not_followed(anyone: Client, assets: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    name = f"{'f' * 64}.png"
    (assets / name).symlink_to(tmp_path / "secret")
    assert (await anyone.get(f"/v1/catalog/assets/{name}")).status_code == 404
