/** The client: the calls of operations, and the helpers for events and names. */

import { Events } from "./events.js";
import { Names } from "./names.js";
import { Sender } from "./sender.js";

/**
 * A client of the service. `GET`, `PUT`, `POST`, `PATCH` and `DELETE` call an operation by its path:
 *
 *     const { data } = await client.POST("/v1/builders/projects", { body: { name: "Acme" } });
 *
 * A refusal is thrown, as the class of its code. `items` and `pages` read lists.
 */
export class Builders extends Sender {
  /** The event feed. */
  readonly events: Events = new Events(this);
  /** Claims of names. */
  readonly names: Names = new Names(this);
}
