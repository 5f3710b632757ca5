"""Print the response of /docs as JSON; open_page.mjs serves it to a browser."""

import asyncio
import json
import sys
from pathlib import Path

import httpx

from builders.kit.http.application import make_app

DOCUMENT = Path(__file__).parents[4] / "docs" / "reference" / "openapi.json"


async def main() -> None:
    """Write the headers and the text of the page to standard output."""
    app = make_app()
    document = json.loads(DOCUMENT.read_text())
    app.openapi = lambda: document  # type: ignore[method-assign] # the routers are not needed
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://builders.test") as client:
        answer = await client.get("/docs", headers={"Accept-Encoding": "identity"})
    json.dump({"headers": dict(answer.raise_for_status().headers), "text": answer.text}, sys.stdout)


asyncio.run(main())
