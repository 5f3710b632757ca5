/** What sends the requests of operations: credentials, options, repetitions, lists. */

import createClient, { type HeadersOptions, mergeHeaders } from "openapi-fetch";
import { BY_CODE, BY_STATUS, ServerError } from "./errors.js";
import { OPERATIONS } from "./operations.js";
import { ApiError, BuildersError, NoCredentials, NotModified, ReplyInvalid, RequestInvalid } from "./problems.js";
import { type Fetch, patiently, PATIENCE, type Patience, type Retries, retryAfter } from "./retries.js";
import type { Call, Called, Item, ListInit, ListPath, Operation, Page, Replies, Reply } from "./types.js";

const REPEATABLE = new Set(["GET", "PUT", "PATCH", "DELETE"]);
const VERSION = "1.1.0-dev.0";
const JSON_TYPE = "application/json";
const JSON_REPLIES: Replies = { 200: [JSON_TYPE] };

/** A key of the account, or a function that chooses one for an operation. */
export type Key = string | ((operation: Operation) => string | undefined);

export interface Options {
  /** BUILDERS_API_KEY by default. */
  readonly apiKey?: Key | undefined;
  /** With a test key as `apiKey`: the key for promotions only, which require a live one. */
  readonly liveKey?: string | undefined;
  /** The address of the service; BUILDERS_API_URL by default. */
  readonly baseUrl?: string | undefined;
  /** The id of another account whose portfolio the client works on. */
  readonly portfolio?: string | undefined;
  readonly retries?: Retries;
  /** In place of the fetch of the platform, such as for a proxy. */
  readonly fetch?: Fetch;
}

/** What a call can be given, as openapi-fetch takes it. */
interface Init extends Omit<RequestInit, "headers"> {
  readonly headers?: HeadersOptions;
  readonly params?: {
    readonly path?: Record<string, unknown>;
    readonly query?: Record<string, unknown>;
    readonly header?: Record<string, string>;
  };
  readonly parseAs?: "json" | "text" | "blob" | "arrayBuffer" | "stream";
}
type Send = (method: string, path: string, init: object) => Promise<{ error?: unknown; response: Response }>;

/** Sends the request of an operation by its method and path. */
export class Sender {
  readonly GET: Call<"get"> = (path, ...init) => this.#call("GET", path, init[0] as Init);
  readonly PUT: Call<"put"> = (path, ...init) => this.#call("PUT", path, init[0] as Init);
  readonly POST: Call<"post"> = (path, ...init) => this.#call("POST", path, init[0] as Init);
  readonly PATCH: Call<"patch"> = (path, ...init) => this.#call("PATCH", path, init[0] as Init);
  readonly DELETE: Call<"delete"> = (path, ...init) => this.#call("DELETE", path, init[0] as Init);
  /** When requests are repeated. */
  readonly retries: Patience;
  readonly #options: Options;
  readonly #fetch: Fetch;
  readonly #send: Send;

  constructor(options: Options = {}) {
    const { baseUrl = environment("BUILDERS_API_URL") ?? "", retries } = options;
    if (!/^https?:\/\//.test(baseUrl)) {
      throw new TypeError("give baseUrl, or set BUILDERS_API_URL: the address of the service, such as https://api.example");
    }
    this.#options = options;
    this.retries = { ...PATIENCE, ...said(retries) };
    this.#fetch = options.fetch ?? ((request, init) => fetch(request, init));
    this.#send = createClient({ baseUrl: baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "") }).request as Send;
  }

  /** Return a client with other options; what is not given stays. */
  withOptions(other: Options): this {
    const retries = { ...this.retries, ...said(other.retries) };
    const own = this.constructor as new (options: Options) => this;
    return new own({ ...this.#options, ...other, retries });
  }

  /** Return the items of a list over all its pages; each page is read when its first item is needed. */
  async *items<P extends ListPath>(path: P, ...init: ListInit<P>): AsyncGenerator<Item<P>, void, undefined> {
    const name = OPERATIONS[`GET ${path}`].items ?? "items";
    for await (const page of this.pages(path, ...init)) {
      const found = (page as Record<string, unknown>)[name];
      if (!Array.isArray(found)) throw new ReplyInvalid(`The page has no ${name}.`);
      yield* found as Item<P>[];
    }
  }

  /** Return the pages of a list, with their totals and warnings. */
  async *pages<P extends ListPath>(path: P, ...init: ListInit<P>): AsyncGenerator<Page<P>, void, undefined> {
    const given = (init[0] ?? {}) as Init;
    for (let cursor: object = {}; ; ) {
      const query = { ...given.params?.query, ...cursor };
      const { data } = await this.#call<Page<P>>("GET", path, { ...given, params: { ...given.params, query } });
      yield data;
      if (!data.next_cursor) return;
      cursor = { cursor: data.next_cursor };
    }
  }

  /** Send the request of an operation, again where that is safe, and return the reply. Throw BuildersError. */
  async #call<T>(method: string, path: string, given: Init = {}): Promise<Reply<T>> {
    const called = `${method} ${path}`;
    const operation = OPERATIONS[called as Called] as Operation | undefined;
    if (operation === undefined) throw new RequestInvalid(`there is no operation ${called}`);
    check(operation, called, given);
    const headers = this.#headers(operation, called, given);
    const isRepeatable = operation.keyed || (REPEATABLE.has(method) && !headers.has("If-Match"));
    const { error, response } = await this.#send(method, path, {
      redirect: "manual", // another host must not get the key
      ...given,
      headers,
      params: { ...given.params, header: {} },
      bodySerializer: (body: unknown) => serialize(body, headers),
      parseAs: "stream",
      fetch: patiently(this.#fetch, this.retries, isRepeatable),
    });
    if (response.status === 304) throw new NotModified("The resource has not changed.");
    if (response.status >= 400) throw refusal(response, error);
    const isBody = requireDocumented(response, operation.replies ?? JSON_REPLIES);
    return { data: (isBody ? await read(response, given.parseAs) : undefined) as T, response };
  }

  /** Return the headers, which have the live key only where the service refuses a test key. */
  #headers(operation: Operation, called: string, given: Init): Headers {
    const { apiKey = environment("BUILDERS_API_KEY"), liveKey, portfolio } = this.#options;
    // Some operations show a page to whoever takes anything.
    const own: Record<string, string> = { Accept: Object.values(operation.replies ?? {}).flat().join(", ") || JSON_TYPE };
    if (!("document" in globalThis)) own["User-Agent"] = `builders-client/${VERSION} typescript`;
    if (!operation.public) {
      const key = operation.live && liveKey ? liveKey : typeof apiKey === "function" ? apiKey(operation) : apiKey;
      if (!key) throw new NoCredentials(called);
      own["X-API-Key"] = key;
    }
    if (operation.portfolio && portfolio) own["X-Portfolio-Account"] = portfolio;
    if (operation.keyed) own["Idempotency-Key"] = crypto.randomUUID();
    if (given.body !== undefined) {
      own["Content-Type"] = operation.form ? "application/x-www-form-urlencoded" : "application/json";
    }
    try {
      return mergeHeaders(own, given.headers, given.params?.header);
    } catch {
      throw new RequestInvalid("A header of the request is not valid."); // the message of fetch contains the key
    }
  }
}

/** Throw RequestInvalid if the body lacks a member, or a value would name another path. */
function check(operation: Operation, called: string, given: Init): void {
  const body: unknown = given.body;
  const isText = typeof body === "string"; // such as CSV
  const missing = isText ? [] : (operation.required ?? []).filter((each) => !has(body, each));
  if (missing.length > 0) throw new RequestInvalid(`${called} needs ${missing.join(", ")}`);
  for (const [name, value] of Object.entries(given.params?.path ?? {})) {
    if (["", ".", ".."].includes(`${value}`)) throw new RequestInvalid(`${name} is "${value}"`);
  }
}

function has(body: unknown, member: string): boolean {
  return typeof body === "object" && body !== null && (body as Record<string, unknown>)[member] !== undefined;
}

function serialize(body: unknown, headers: Headers): string {
  const mediaType = headers.get("Content-Type");
  if (mediaType === "application/x-www-form-urlencoded") return `${new URLSearchParams(body as Record<string, string>)}`;
  return typeof body === "string" && mediaType !== "application/json" ? body : JSON.stringify(body);
}

/** Return whether the reply has a body. Throw ReplyInvalid for a status or media type that is not documented. */
function requireDocumented(response: Response, replies: Replies): boolean {
  const { status, type, headers } = response;
  // A browser hides the status of a redirect.
  const kinds = type === "opaqueredirect" ? Object.values(replies).find((each) => each.length === 0) : replies[status];
  const place = headers.get("Location");
  if (kinds === undefined && place !== null) {
    throw new ReplyInvalid(`The answer ${status} sends the request on to ${place}.`); // another host would get the key
  }
  if (kinds === undefined) throw new ReplyInvalid(`The answer has the status ${status}, which the document does not have.`);
  const kind = mediaType(response);
  const isOf = (each: string) => (each.endsWith("/*") ? kind.startsWith(each.slice(0, -1)) : kind === each);
  if (kinds.length > 0 && !kinds.some(isOf)) {
    throw new ReplyInvalid(`The answer has the media type ${kind || "none"} instead of ${kinds.join(" or ")}.`);
  }
  return kinds.length > 0;
}

function mediaType(response: Response): string {
  return (response.headers.get("Content-Type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Return the data of a reply: JSON, text, or else a Blob. */
async function read(response: Response, parseAs: Init["parseAs"]): Promise<unknown> {
  if (parseAs === "stream") return response.body;
  if (parseAs !== undefined && parseAs !== "json") return response[parseAs]();
  const kind = mediaType(response);
  if (kind !== JSON_TYPE) return kind.startsWith("text/") ? response.text() : response.blob();
  let found: unknown;
  try {
    found = await response.json();
  } catch (error) {
    throw new ReplyInvalid("The reply is not JSON.", { cause: error });
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) throw new ReplyInvalid("The reply is no JSON object.");
  return found;
}

/** Return the options without those that are undefined. */
function said(retries: Retries = {}): Retries {
  return Object.fromEntries(Object.entries(retries).filter(([, value]) => value !== undefined));
}

/** Return the error with the class of its code, else of its status. */
function refusal(response: Response, error: unknown): BuildersError {
  const { status } = response;
  const members = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const code = String(members["code"]);
  const known = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : BY_STATUS[status];
  const kind = known ?? (status >= 500 ? ServerError : ApiError);
  const requestId = response.headers.get("X-Request-ID") ?? undefined;
  return new kind({ status, members, requestId, retryAfter: retryAfter(response) });
}

/** Return a variable of the environment, if the platform has one. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name]?.trim() || undefined;
}
