// A server between the client and the service, which answers the next requests with faults and passes the others on.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface Fault {
  readonly status?: number; // without one, the connection is closed
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly isPassedOn?: boolean; // the service executes the request, and its answer is lost
}
export interface Asked {
  readonly called: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export async function makeProxy(service: string) {
  const asked: Asked[] = [];
  const faults: Fault[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const called = `${request.method} ${request.url}`;
    asked.push({ called, headers: request.headers, body });
    const fault = faults.shift();
    const pass = async () => {
      const { host, connection, "content-length": length, "transfer-encoding": coding, ...headers } = request.headers;
      const init = { method: request.method ?? "", headers: headers as Record<string, string> };
      return fetch(service + request.url, body ? { ...init, body } : init);
    };
    if (fault?.isPassedOn) await pass();
    if (fault) {
      if (fault.status === undefined) request.socket.destroy();
      else response.writeHead(fault.status, fault.headers).end(fault.body);
      return;
    }
    const answer = await pass();
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, asked, faults, close: () => server.close().closeAllConnections() };
}
