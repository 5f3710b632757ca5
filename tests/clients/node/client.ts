// The way of the README, typed by what openapi-typescript makes of the document: it must compile under `strict`.
import createClient from "openapi-fetch";
import type { components, paths, webhooks } from "./schema.js";

type Manifest = components["schemas"]["SandboxManifest"];
type Promotion = components["schemas"]["PromotionReply"];

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:8000", headers: { "X-API-Key": "svc_test_" } });

function refused(error: components["schemas"]["Problem"] | components["schemas"]["HTTPValidationError"]): Error {
  return new Error(`${error.code}: ${error.next_action ?? ""}`);
}

export async function claim(localPart: string, domain: string, recipient: string): Promise<Promotion> {
  const checked = await client.GET("/v1/catalog/check", {
    params: { query: { local_part: localPart, domain } },
  });
  if (checked.error) throw refused(checked.error);
  if (!checked.data.available) throw new Error(checked.data.message);
  const price: string | undefined = checked.data.price?.amount;

  const manifest: Manifest = {
    api_version: "v1",
    kind: "Manifest",
    metadata: { name: "acme-mail" },
    resources: { aliases: [{ key: "ada", address: `${localPart}@${domain}`, destinations: [recipient] }] },
  };
  const planned = await client.POST("/v1/sandbox/plan", { body: manifest });
  if (planned.error) throw refused(planned.error);
  const { id, digest, promotable, actions } = planned.data;
  if (!promotable) throw new Error(`${price}: ${actions.map((action) => action.reason).join()}`);

  const promoted = await client.POST("/v1/sandbox/promote", {
    body: { plan_id: id, digest },
    headers: { "Idempotency-Key": id },
  });
  if (promoted.error) throw refused(promoted.error);
  return promoted.data;
}

export async function* names(): AsyncGenerator<components["schemas"]["AliasReply"]> {
  let cursor: string | undefined;
  do {
    const page = await client.GET("/v1/aliases", { params: { query: { limit: 100, cursor } } });
    if (page.error) throw refused(page.error);
    yield* page.data.items;
    cursor = page.data.next_cursor ?? undefined;
  } while (cursor !== undefined);
}

type Event<Name extends keyof webhooks> = webhooks[Name] extends {
  post: { requestBody: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

export function received(event: Event<"alias.created"> | Event<"invoice.paid">): string {
  return event.type === "alias.created" ? event.data.address : event.data.total.amount;
}
