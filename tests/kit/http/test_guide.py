"""The built documentation at /guide."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from builders.app import create_app
from builders.kit.http.guide import choose_folder
from builders.kit.process.settings import Settings

INLINE = "<html><script>start()</script><p>Welcome</p></html>"
# printf %s 'start()' | openssl dgst -sha256 -binary | base64
DIGEST = "sha256-DIm7WJS6ZKDYe5qFLPy+h4JFI9Bol5QmYC57mt3Fb00="


@pytest.fixture
def built(tmp_path: Path) -> Path:
    site = tmp_path / "guide"
    (site / "docs").mkdir(parents=True)
    (site / "index.html").write_text(INLINE)
    (site / "docs" / "run.md").write_text("# Run")
    (site / "llms.txt").write_text("# Builders")
    (site / "bundle.a5f9d56c.min.js").write_text("start = () => 0")
    (tmp_path / "secret_keys").write_text("secret")
    return tmp_path


@pytest.fixture
async def browser(built: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with client(built) as opened:
        yield opened


def client(data_dir: Path) -> httpx.AsyncClient:
    service = create_app(Settings(data_dir=data_dir))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=service), base_url="http://builders.test")


async def test_the_start_page_is_shown(browser: httpx.AsyncClient) -> None:
    answer = await browser.get("/guide", follow_redirects=True)
    assert (answer.status_code, answer.url.path, answer.text) == (200, "/guide/", INLINE)


async def test_the_scripts_of_a_page_are_its_own(browser: httpx.AsyncClient) -> None:
    policy = (await browser.get("/guide/")).headers["Content-Security-Policy"]
    assert f"script-src 'self' '{DIGEST}';" in policy


@pytest.mark.parametrize(
    ("path", "kind", "kept"),
    [
        ("/guide/docs/run.md", "text/markdown; charset=utf-8", "no-cache"),
        ("/guide/bundle.a5f9d56c.min.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        ("/llms.txt", "text/plain; charset=utf-8", "no-cache"),
    ],
)
async def test_a_file_has_its_type_and_its_caching(
    browser: httpx.AsyncClient, path: str, kind: str, kept: str
) -> None:
    headers = (await browser.get(path)).headers
    assert (headers["Content-Type"], headers["Cache-Control"]) == (kind, kept)


async def test_a_browser_that_has_the_page_is_sent_nothing(browser: httpx.AsyncClient) -> None:
    tag = (await browser.get("/guide/")).headers["ETag"]
    answer = await browser.get("/guide/", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/guide/..%2fsecret_keys",
        "/guide/docs/..%2f..%2fsecret_keys",
        "/guide/docs",
        "/guide/none.html",
        "/guide/" + "a" * 300,
    ],
    ids=["parent", "deeper parent", "folder", "absent", "too long"],
)
async def test_what_is_no_page_is_not_found(browser: httpx.AsyncClient, path: str) -> None:
    assert (await browser.get(path)).status_code == 404


async def test_a_link_out_of_the_folder_is_not_followed(browser: httpx.AsyncClient, built: Path) -> None:
    (built / "guide" / "link.txt").symlink_to(built / "secret_keys")
    assert (await browser.get("/guide/link.txt")).status_code == 404


async def test_the_site_of_the_data_folder_comes_before_that_of_the_wheel(built: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "wheel"
    wheel.mkdir()
    assert choose_folder(built, wheel) == built / "guide"
    assert choose_folder(tmp_path / "empty", wheel) == wheel
    assert choose_folder(tmp_path / "empty", tmp_path / "none") == tmp_path / "empty" / "guide"


async def test_an_operator_without_the_site_is_told_what_to_do(tmp_path: Path) -> None:
    async with client(tmp_path) as opened:
        program = (await opened.get("/guide/")).json()
        page = await opened.get("/guide/", headers={"Accept": "text/html", "Sec-Fetch-Mode": "navigate"})
    assert "/docs" in program["next_action"]
    assert "script/docs --site DATA_FOLDER/guide" in page.text
