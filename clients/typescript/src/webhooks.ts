/** Verification of webhook requests (Standard Webhooks 1.0.0). */

import { SecretInvalid, SignatureMismatch } from "./problems.js";
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
 * Return the event of a webhook request. Throw SignatureMismatch unless the service signed it, and SecretInvalid for a
 * secret that is empty or blank, whose signatures anybody can make.
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
  const keys = (typeof secret === "string" ? [secret] : secret).map(keyOf);
  const pairs = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const given = new Map(pairs.map(([name, value]) => [name.toLowerCase(), `${value ?? ""}`]));
  const [id, sentAt = "", signatures] = ["id", "timestamp", "signature"].map((each) => given.get(`webhook-${each}`));
  if (!id || !signatures || !/^\d{1,12}$/.test(sentAt)) {
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
  for (const one of keys) {
    const key = await crypto.subtle.importKey("raw", one, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    // `verify` compares in constant time.
    for (const each of theirs) isSigned = (await crypto.subtle.verify("HMAC", key, each, signed)) || isSigned;
  }
  if (!isSigned) throw new SignatureMismatch("The request was not signed with the secret.");
  const event = parse(new TextDecoder().decode(raw));
  if (typeof event?.id !== "string" || typeof event.type !== "string") {
    throw new SignatureMismatch("The signed body is not an event.");
  }
  return event;
}

function parse(body: string): FeedEvent | undefined {
  try {
    return (JSON.parse(body) as FeedEvent | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Return the key of a secret: its text, or base64 after a prefix. Throw SecretInvalid. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  const key = text === secret ? new TextEncoder().encode(secret) : bytes(text);
  if (key === undefined) throw new SecretInvalid(`the text after ${PREFIX} is not base64`);
  const isBlank = key.every((each) => each === 32 || (each >= 9 && each <= 13));
  if (isBlank || !/[^\p{C}\p{Z}]/u.test(text)) throw new SecretInvalid("the secret is empty");
  return key;
}

/** Return what base64 says; undefined for other text. `atob` also reads blanks and text without its end. */
function bytes(base64: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined;
  try {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return undefined;
  }
}
