/** Decides whether and when a request is repeated: after an answer that asks for it, or none, within a deadline. */

import { ConnectionFailed, ReplyInvalid, TimedOut } from "./problems.js";

const REPEATED = new Set([408, 425, 429, 500, 502, 503, 504]);
const WITHOUT_BODY = new Set([204, 205, 304]);
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LONGEST_WAIT = 86_400; // a header without sense must not stop a reader without a deadline for ever
const HIGHEST_STATUS = 599;

/**
 * When requests are repeated; all times are seconds.
 *
 * Only requests whose repetition has no further effect are: GET, PUT, PATCH, DELETE, and those with an
 * Idempotency-Key, which every POST that supports one has.
 */
export interface Retries {
  /** For all attempts of a request and the waits between them; `Infinity`: without an end. 60 by default. */
  readonly deadline?: number;
  /** Time without a byte of the answer, after which an attempt is lost. 30 by default. */
  readonly idle?: number;
  /** Wait before the second attempt, on average; each further wait is twice as long. 0.5 by default. */
  readonly firstWait?: number;
  /** Longest wait between two attempts, 20 by default; `Retry-After` of the service can be longer, up to a day. */
  readonly longestWait?: number;
  /** Called before each wait, such as to tell a person; an error that it throws ends the call. */
  readonly onWait?: (waiting: Waiting) => void;
}

/** A request that will be repeated. */
export interface Waiting {
  readonly reason: string;
  readonly seconds: number;
  readonly attempt: number;
}

export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;
export type Patience = Retries & Required<Omit<Retries, "onWait">>;
export const PATIENCE: Patience = { deadline: 60, idle: 30, firstWait: 0.5, longestWait: 20 };

/** Return a function that sends a request until an answer is final, and reads the answer to its end. */
export function patiently(send: Fetch, given: Patience, isRepeatable = false): Fetch {
  return async (request) => {
    const end = performance.now() + given.deadline * 1000;
    for (let attempt = 1; ; attempt++) {
      const outcome = await tryOnce(send, request, given.idle, end);
      const isLost = outcome instanceof ConnectionFailed;
      if (isRepeatable && (isLost || (await asksForAnother(outcome)))) {
        const asked = Math.min((isLost ? undefined : retryAfter(outcome)) ?? 0, LONGEST_WAIT);
        const seconds = Math.max(backoff(given, attempt), asked * (1 + Math.random() / 10));
        if (performance.now() + seconds * 1000 < end) {
          given.onWait?.({ reason: isLost ? outcome.reason : `HTTP ${outcome.status}`, seconds, attempt });
          await sleep(seconds, request.signal);
          continue;
        }
      }
      if (isLost) throw outcome;
      return outcome;
    }
  };
}

/** Return the whole response, or why there is none. Throw what the caller aborted with, TimedOut at the deadline. */
async function tryOnce(send: Fetch, request: Request, idle: number, end: number): Promise<Response | ConnectionFailed> {
  const control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLast = false; // a timer can end before its time, so the clock does not tell that the deadline is reached
  const expectByte = () => {
    clearTimeout(timer);
    const left = end - performance.now();
    isLast = left <= idle * 1000;
    timer = setTimeout(() => control.abort(), Math.min(Math.max(Math.min(idle * 1000, left), 1), LONGEST_TIMER_MS));
  };
  expectByte();
  try {
    const response = await send(request.clone(), { signal: AbortSignal.any([request.signal, control.signal]) });
    if (response.type === "opaqueredirect") return response;
    const chunks: BlobPart[] = [];
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      chunks.push(read.value);
      expectByte();
    }
    const { status, statusText, headers } = response;
    if (status > HIGHEST_STATUS) throw new ReplyInvalid(`The answer has the status ${status}.`);
    return new Response(WITHOUT_BODY.has(status) ? null : new Blob(chunks), { status, statusText, headers });
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    if (error instanceof ReplyInvalid) throw error;
    if (control.signal.aborted) {
      const late = new TimedOut("the answer did not arrive in time");
      if (isLast) throw late;
      return late;
    }
    const { cause } = error as Error;
    const because = cause instanceof Error ? `: ${cause.message}` : "";
    return new ConnectionFailed(`${(error as Error).message}${because}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

async function asksForAnother(response: Response): Promise<boolean> {
  if (response.status !== 409) return REPEATED.has(response.status);
  return (await response.clone().text()).includes('"idempotency_in_flight"');
}

/** Return a random wait, so that clients that failed together do not return together. */
function backoff({ firstWait, longestWait }: Patience, attempt: number): number {
  return Math.random() * Math.min(firstWait * 2 ** attempt, longestWait);
}

/** Return the seconds of the header Retry-After, 0 for a time that is past; undefined without a value of RFC 9110. */
export function retryAfter(response: Response): number | undefined {
  const said = response.headers.get("Retry-After")?.trim() ?? "";
  if (/^\d{1,10}$/.test(said)) return Number(said);
  if (!/^[A-Za-z]{3}/.test(said)) return undefined; // each form of a date begins with the day of the week
  const time = Date.parse(said.endsWith("GMT") ? said : `${said} GMT`);
  return Number.isNaN(time) ? undefined : Math.max((time - Date.now()) / 1000, 0);
}

/** Wait. Throw the reason if the signal aborts. */
export function sleep(seconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const done = () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(done, Math.min(seconds * 1000, LONGEST_TIMER_MS));
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
  });
}
