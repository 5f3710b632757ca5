/** The event feed: every event, across restarts. */

import type { Sender } from "./sender.js";
import type { FeedEvent } from "./types.js";

const WAIT = 20; // what the service allows
const MARGIN = 10; // for an answer after the wait
const PAGE = 100;

/** The cursor of the last page whose events were all handled, and the handled events after it. */
export interface Position {
  readonly cursor: string | null;
  readonly handled: readonly string[];
}

/** Where a follower keeps its position; `CursorFile` of `builders-client/node` is one. */
export interface CursorStore {
  /** Return the stored position, or undefined if there is none. */
  load(): Promise<Position | undefined>;
  /** Replace the position as a whole, and durably. */
  store(position: Position): Promise<void>;
}

export interface FollowOptions {
  /** Names of events or areas, such as `alias.*`; all by default. */
  readonly types?: string[];
  /** Without a stored position: begin with the events from this time on, instead of the oldest stored one. */
  readonly since?: string;
  /** Seconds that a request waits for an event. */
  readonly wait?: number;
  /** Ends the loop with its reason. */
  readonly signal?: AbortSignal;
}

/** The events of the account. */
export class Events {
  readonly #client: Sender;

  constructor(client: Sender) {
    this.#client = client;
  }

  /**
   * Return the events after the stored position, then new ones as they occur, without an end.
   *
   * An event counts as handled when the next one is requested; then the position is stored. So a program that stops
   * while it handles an event gets it again, with the same `id`, and misses none. Use one store for one program.
   *
   * Throw CursorExpired if events after the position are no longer kept.
   */
  async *follow(store: CursorStore, options: FollowOptions = {}): AsyncGenerator<FeedEvent, void, undefined> {
    const { wait = WAIT, signal, ...filter } = options;
    let { cursor, handled } = (await store.load()) ?? { cursor: null, handled: [] };
    // Without a deadline: a follower outlasts a restart of the service, a sleep of the laptop, a lost network.
    const retries = { deadline: Infinity, idle: Math.max(this.#client.retries.idle, wait + MARGIN) };
    const client = this.#client.withOptions({ retries });
    for (;;) {
      const query = { ...filter, wait, limit: PAGE, ...(cursor !== null && { cursor }) };
      const { data: page } = await client.GET("/v1/events", { params: { query }, signal: signal ?? null });
      for (const event of page.items) {
        if (handled.includes(event.id)) continue;
        yield event;
        handled = [...handled, event.id];
        await store.store({ cursor, handled });
      }
      if (page.resume_cursor === cursor && handled.length === 0) continue; // a page without events
      [cursor, handled] = [page.resume_cursor, []];
      await store.store({ cursor, handled });
    }
  }
}
