#!/usr/bin/env python3
"""Plan and promote a manifest that is kept in git. Python 3.11 to 3.13, nothing else.

    names.py plan manifest.json --save plan.json     what would change, as text; exit code 1 when it cannot be done
    names.py promote plan.json                       does just that

The environment has BUILDERS_URL (https://builders.example) and BUILDERS_KEY: a test key plans, a live key
promotes.
"""

import argparse
import hashlib
import http.client
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ATTEMPTS = 8
LONGEST_WAIT_S = 60
DONE_WITHIN_S = 1800  # a large promotion runs as a job
BUSY = {429, 502, 503, 504}
TEXT, JSON = "text/plain", "application/json"


class Refused(Exception):
    """The service refused, or what was asked for is not to be done."""


def ask(method: str, path: str, body: bytes | None = None, *, accept: str = JSON) -> str:
    """The answer. What is asked here can be repeated: a plan changes nothing, and is promoted once."""
    try:
        url, key = os.environ["BUILDERS_URL"].rstrip("/").removesuffix("/v1"), os.environ["BUILDERS_KEY"]
    except KeyError as missing:
        raise Refused(f"The environment has no {missing.args[0]}.") from None
    if not url.startswith(("https://", "http://")):
        raise Refused("BUILDERS_URL is to be an http or https address.")
    headers = {"X-API-Key": key, "Accept": accept, "Content-Type": JSON}
    request = urllib.request.Request(f"{url}/v1/sandbox{path}", body, headers, method=method)  # noqa: S310 - see above
    for attempt in range(1, ATTEMPTS + 1):
        wait = min(2**attempt, LONGEST_WAIT_S)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - see above
                return str(answer.read().decode())
        except urllib.error.HTTPError as refusal:
            text = refusal.read().decode(errors="replace")
            busy = refusal.code in BUSY or '"promotion_running"' in text
            if not busy or attempt == ATTEMPTS:
                raise Refused(explain(refusal.code, text)) from None
            after = refusal.headers.get("Retry-After", "")
            wait = min(int(after), LONGEST_WAIT_S) if after.isdigit() else wait
            said = f"{url} answers {refusal.code}"
        except (urllib.error.URLError, http.client.HTTPException, OSError) as failure:
            if attempt == ATTEMPTS:
                raise Refused(f"No answer from {url}: {failure}") from None
            said = f"No answer from {url} ({failure})"
        print(f"{said}: asked again in {wait} s.", file=sys.stderr)
        time.sleep(wait)
    raise AssertionError("unreachable")


def explain(status: int, text: str) -> str:
    """A refusal in words: a line for each value that breaks a rule, or what is wrong and what to do."""
    try:
        said = json.loads(text)
    except ValueError:
        return f"{status}: {text[:500]}"
    if isinstance(said.get("detail"), list):  # 422
        lines = [f"  {'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in said["detail"]]
        return "\n".join(["The manifest is not valid:", *lines])
    lines = [f"{status} {said.get('code')}: {said.get('detail')}", said.get("next_action", "")]
    lines += [f"  {each['address']}: {each['code']}" for each in said.get("changed", ())]
    return "\n".join(filter(None, lines))


def read(path: Path) -> bytes:
    """A file."""
    try:
        return path.read_bytes()
    except OSError as failure:
        raise Refused(f"Cannot read {path}: {failure.strerror}") from None


def plan(manifest: Path, save: Path | None) -> None:
    """Prints what would change. Raises Refused for a plan that is blocked; what it prints says by what."""
    sent = read(manifest)
    made = json.loads(ask("POST", "/plan", sent))
    print(ask("GET", f"/plans/{made['id']}", accept=TEXT).rstrip())
    if save is not None:
        # With this a promotion knows that what was merged is what was planned.
        made["manifest_sha256"] = hashlib.sha256(sent).hexdigest()
        save.write_text(json.dumps(made, indent=1), encoding="utf-8")
    if made["status"] == "blocked":
        raise Refused("The plan is blocked.")


def order(made: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """What is consented to: the plan by its digest, so many deletions, so much money."""
    wanted: dict[str, Any] = {"plan_id": made["id"], "digest": made["digest"], "on_error": options.on_error}
    deletes = options.confirm_deletes
    if deletes is None and made.get("confirm_deletes", 0) > options.most_deletes:
        raise Refused(f"The plan deletes {made['confirm_deletes']}, and up to {options.most_deletes} may be.")
    wanted["confirm_deletes"] = made.get("confirm_deletes") if deletes is None else deletes
    if options.max_total:
        wanted["max_total"] = options.max_total
    if options.resume:
        wanted["resume"] = True
    return wanted


def money(text: str) -> dict[str, str] | None:
    """An amount and its currency; None for an empty text, which is no bound."""
    if not text:
        return None
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)? [A-Z]{3}", text):
        raise argparse.ArgumentTypeError('write it as "100.00 USD"')
    amount, _, currency = text.partition(" ")
    return {"amount": amount, "currency": currency}


def promote(options: argparse.Namespace) -> None:
    """Executes a plan, and waits for its end. Raises Refused unless all of it was done."""
    made = {"id": options.plan_id, "digest": options.digest}
    if options.plan is not None:
        made = json.loads(read(options.plan))
    if not made["id"] or not made["digest"]:
        raise Refused("Name the file of a plan, or --plan-id and --digest.")
    if options.manifest and hashlib.sha256(read(options.manifest)).hexdigest() != made.get("manifest_sha256"):
        raise Refused(f"{options.manifest} is not what was planned. Plan it again, and have that reviewed.")
    if made.get("status") == "empty":
        print("Nothing to do.")
        return
    promotion = json.loads(ask("POST", "/promote", json.dumps(order(made, options)).encode()))
    until = time.monotonic() + DONE_WITHIN_S
    while promotion["status"] in {"queued", "running"} and time.monotonic() < until:
        time.sleep(2)
        promotion = json.loads(ask("GET", f"/promotions/{promotion['id']}"))
    for step in promotion["steps"]:
        error = step["error"]
        print(f"{step['status']:9} {step['action']:8} {step['address']}{': ' + error['message'] if error else ''}")
    print(f"Promotion {promotion['id']}: {promotion['status']}.")
    for each in promotion.get("next_action_details", []):
        print(f"{each['action']}: {each['message']}", *each["emails"])
    if promotion["status"] != "succeeded":
        ways = [each for each in promotion["next_actions"] if each in {"resume", "replan"}]
        raise Refused(f"What to do now: {' or '.join(ways) or 'ask for the promotion again'}.")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    planning = commands.add_parser("plan", help="show what would change")
    planning.add_argument("manifest", type=Path)
    planning.add_argument("--save", type=Path, help="keep the plan in this file, for promote")
    promoting = commands.add_parser("promote", help="execute a plan that was reviewed")
    promoting.add_argument("plan", type=Path, nargs="?", help="what plan --save wrote")
    promoting.add_argument("--plan-id", default="", help="instead of the file")
    promoting.add_argument("--digest", default="", help="instead of the file: what was reviewed")
    promoting.add_argument("--manifest", type=Path, help="refuse unless this file is what was planned")
    promoting.add_argument("--confirm-deletes", type=int, help="delete just so many")
    promoting.add_argument("--most-deletes", type=int, default=0, help="delete what was planned, up to so many")
    promoting.add_argument("--max-total", type=money, help='refuse when more is due now: "100.00 USD"')
    promoting.add_argument("--on-error", choices=("stop", "continue"), default="stop")
    promoting.add_argument("--resume", action="store_true", help="try what failed or was skipped again")
    return parser.parse_args()


def main() -> int:
    """The exit code."""
    options = arguments()
    try:
        if options.command == "plan":
            plan(options.manifest, options.save)
        else:
            promote(options)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
