/** The position of a reader of the event feed, in a file that is replaced as a whole. */

import { randomUUID } from "node:crypto";
import { open, readFile, rename, rm } from "node:fs/promises";
import type { CursorStore, Position } from "./events.js";
import { CursorFileInvalid } from "./problems.js";

/** A file with a position; the Python client and `bld` read the same form. */
export class CursorFile implements CursorStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async load(): Promise<Position | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      const { cursor, handled } = JSON.parse(text) as Position;
      if ((cursor === null || typeof cursor === "string") && Array.isArray(handled)) return { cursor, handled };
    } catch (cause) {
      throw new CursorFileInvalid(this.#path, { cause });
    }
    throw new CursorFileInvalid(this.#path, {});
  }

  /** Replace the file: after a crash it has the old content or the new one. */
  async store(position: Position): Promise<void> {
    const written = `${this.#path}.${randomUUID()}`;
    try {
      const file = await open(written, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify(position));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(written, this.#path);
    } catch (error) {
      await rm(written, { force: true });
      throw error;
    }
  }
}
