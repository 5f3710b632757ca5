/** Verification of webhook requests (Standard Webhooks 1.0.0). */

import { SignatureMismatch } from "./problems.js";
import type { FeedEvent } from "./types.js";

const TOLERANCE = 300;
const PREFIX = "whsec_";

export interface VerifyOptions {
  /** Seconds by which the time of the request may differ from the clock, 300 by default. */
  readonly tolerance?: number;
  /** The time in seconds, in place of the clock. */
  readonly now?: number;
}
type GivenHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Return the event of a webhook request. Throw SignatureMismatch unless the service signed it.
 *
 * `body` is the raw body, before any parsing. With several secrets, one of them must match: the old and the new one
 * during a rotation. A request can arrive more than once: ignore an event with an `id` that you have processed.
 */
export async function verify(
  body: string | Uint8Array,
  headers: GivenHeaders,
  secret: string | readonly string[],
  { tolerance = TOLERANCE, now = Date.now() / 1000 }: VerifyOptions = {},
): Promise<FeedEvent> {
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const given = new Map(pairs.map(([name, value]) => [name.toLowerCase(), `${value ?? ""}`]));
  const [id, sentAt = "", signatures] = ["id", "timestamp", "signature"].map((each) => given.get(`webhook-${each}`));
  if (!id || !signatures || !/^\d+$/.test(sentAt)) {
    throw new SignatureMismatch("The request lacks a webhook-id, webhook-timestamp or webhook-signature.");
  }
  const age = Math.abs(now - Number(sentAt));
  if (!(age <= tolerance)) {
    throw new SignatureMismatch(`The request was signed ${Math.round(age)} s from now, more than ${tolerance} s.`);
  }
  const raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${sentAt}.`);
  const signed = new Uint8Array(head.length + raw.length);
  signed.set(head);
  signed.set(raw, head.length);
  const theirs = signatures.split(" ").flatMap((each) => (each.startsWith("v1,") ? (bytes(each.slice(3)) ?? []) : []));
  let isSigned = false;
  for (const one of typeof secret === "string" ? [secret] : secret) {
    const key = await crypto.subtle.importKey("raw", keyOf(one), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    // `verify` compares in constant time.
    for (const each of theirs) isSigned = (await crypto.subtle.verify("HMAC", key, each, signed)) || isSigned;
  }
  if (!isSigned) throw new SignatureMismatch("The request was not signed with the secret.");
  try {
    return JSON.parse(new TextDecoder().decode(raw)) as FeedEvent;
  } catch {
    throw new SignatureMismatch("The signed body is not an event.");
  }
}

/** Return the key of a secret: its text, or base64 after a prefix. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith(PREFIX)) return new TextEncoder().encode(secret);
  const found = bytes(secret.slice(PREFIX.length));
  if (found === undefined) throw new TypeError(`the text after ${PREFIX} is not base64`);
  return found;
}

function bytes(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return undefined;
  }
}
