"""The built documentation at /guide: a part of the wheel, or the folder `guide` of the data folder.

`script/docs --site` writes the folder.
"""

import asyncio
import base64
import hashlib
import mimetypes
import os
import re
from functools import lru_cache
from importlib import resources
from pathlib import Path

from fastapi import FastAPI, Request, Response
from starlette.responses import RedirectResponse

from builders.kit.errors import NotFound
from builders.kit.http import error_pages
from builders.kit.http.static_files import StaticFile

PATH = "/guide"
TEXTS = ("/llms.txt", "/llms-full.txt")  # for language models: https://llmstxt.org
# In the detail, which a browser's page shows too.
MISSING = "The documentation is not built. The operator runs: script/docs --site DATA_FOLDER/guide."
BUILD = "Ask the operator to build it. The operations are at /docs."
_KEPT = 256  # files in memory, compressed: more than the site has pages
_DIGEST = re.compile(r"\.[0-9a-f]{8}\.min\.")  # in the name of a file that never changes
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


PACKAGED = Path(str(resources.files("builders") / "guide"))  # script/release writes it into the wheel


def choose_folder(data_dir: Path, packaged: Path = PACKAGED) -> Path:
    """Return the folder of the documentation: in the data folder, if it is built there, or in the wheel."""
    built = data_dir / "guide"
    return packaged if packaged.is_dir() and not is_built(built) else built


def is_built(folder: Path) -> bool:
    """Return whether the folder has the documentation."""
    return (folder / "index.html").is_file()


def add_guide(app: FastAPI, folder: Path) -> None:
    """Serve the site in the folder, and its texts for language models."""

    async def respond(request: Request) -> Response:
        name = request.path_params.get("name", request.url.path.removeprefix("/"))
        try:
            file = await asyncio.to_thread(_find, folder, name)
        except NotFound as refusal:
            return error_pages.respond(request.scope, refusal)
        return file.respond(request)

    async def redirect(_: Request) -> Response:
        return RedirectResponse(f"{PATH}/", 308)

    app.add_route(PATH, redirect, include_in_schema=False)
    app.add_route(f"{PATH}/{{name:path}}", respond, include_in_schema=False)
    for path in TEXTS:
        app.add_route(path, respond, include_in_schema=False)


def _find(folder: Path, name: str) -> StaticFile:
    """Return the file of this name in the folder. Raise NotFound."""
    folder = folder.resolve()
    path = Path(folder, name or "index.html").resolve() if name.isprintable() else folder
    # Path.is_file raises an error for a name that is too long for the file system.
    if path.is_relative_to(folder) and os.path.isfile(path):  # noqa: PTH113 - see above
        return _read(path, path.stat().st_mtime_ns)
    if not is_built(folder):
        raise NotFound(MISSING, next_action=BUILD)
    raise NotFound


@lru_cache(maxsize=_KEPT)
def _read(path: Path, _: int) -> StaticFile:
    """Return the file as it was at a time."""
    content = path.read_bytes()
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    kind = "text/markdown" if path.suffix == ".md" else kind
    headers = {
        "Content-Type": f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        "Content-Security-Policy": _policy(content if kind == "text/html" else b""),
    }
    if _DIGEST.search(path.name):
        headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return StaticFile.of(content, headers)


def _policy(content: bytes) -> str:
    """Return the policy of a page: its own scripts, those of the site, and nothing of another host."""
    digests = (base64.b64encode(hashlib.sha256(each).digest()).decode() for each in _SCRIPT.findall(content))
    scripts = " ".join(("'self'", *(f"'sha256-{each}'" for each in digests)))
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
