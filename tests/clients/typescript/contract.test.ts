// Each behavior of clients/contract.toml; tests/clients/python/test_contract.py runs the same table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, Builders, BuildersError, verify } from "builders-client";

interface Behavior {
  readonly call: string;
  readonly retries?: Readonly<Record<string, number>>;
}
interface Delivery {
  readonly when: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly secrets: string[];
  readonly now: number;
  readonly outcome: string;
}
interface Seen {
  readonly outcome: string;
  readonly code?: string | null;
  readonly retry_after?: number | null;
}

const { STUB = "" } = process.env;
const AT_ONCE = 8;
const given = (await (await fetch(`${STUB}/contract/all`)).json()) as { behaviors: Behavior[]; deliveries: Delivery[] };
const project = { params: { path: { project_id: "id" } } };
const CALLS: Readonly<Record<string, (client: Builders) => Promise<unknown>>> = {
  list: (client) => client.pages("/v1/builders/projects").next(),
  pages: async (client) => {
    const found: unknown[] = [];
    for await (const each of client.items("/v1/builders/projects")) found.push(each);
  },
  read: (client) => client.GET("/v1/builders/projects/{project_id}", project),
  twice: async (client) => {
    for (let n = 0; n < 2; n++) await client.GET("/v1/builders/projects/{project_id}", project);
  },
  create: (client) => client.POST("/v1/builders/projects", { body: { name: "Acme" } }),
  change: (client) =>
    client.PATCH("/v1/builders/projects/{project_id}", {
      params: { ...project.params, header: { "If-Match": '"1"' } },
      body: { name: "Acme" },
    }),
  delete: (client) => client.DELETE("/v1/portfolio/domains/{domain_id}", { params: { path: { domain_id: "id" } } }),
  sign_in: (client) => client.POST("/v1/auth/login", { body: { email: "ada@example.net" } }),
  export: (client) => client.GET("/v1/portfolio/export.csv"),
  redirect: (client) => client.GET("/v1/auth/login/issuer", { params: { query: { issuer: "i" } } }),
};

/** Return how a call ended: without an error of the client, the test fails. */
async function seen(number: number, { call, retries = {} }: Behavior): Promise<Seen> {
  const { first_wait = 0.002, longest_wait = 0.01, ...limits } = retries;
  const client = new Builders({
    apiKey: "svc_live_key",
    baseUrl: `${STUB}/${number}/node`,
    retries: { firstWait: first_wait, longestWait: longest_wait, ...limits },
  });
  try {
    await CALLS[call]?.(client);
    return { outcome: "done" };
  } catch (error) {
    if (error instanceof ApiError) return { outcome: error.name, code: error.code, retry_after: error.retryAfter ?? null };
    if (error instanceof BuildersError) return { outcome: error.name };
    throw error;
  }
}

test("the client keeps the contract", async () => {
  const problems: string[] = [];
  const waiting = [...given.behaviors.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [number, behavior] = next;
      const body = JSON.stringify(await seen(number, behavior));
      problems.push(...((await (await fetch(`${STUB}/seen/${number}`, { method: "POST", body })).json()) as string[]));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  assert.deepEqual(problems, []);
});

test("each delivery is judged as the contract says", async () => {
  const found: Record<string, string> = {};
  for (const { when, body, headers, secrets, now } of given.deliveries) {
    found[when] = await verify(body, headers, secrets, { now }).then(
      () => "done",
      (error: Error) => (error instanceof BuildersError ? error.name : `${error}`),
    );
  }
  assert.deepEqual(found, Object.fromEntries(given.deliveries.map(({ when, outcome }) => [when, outcome])));
});
