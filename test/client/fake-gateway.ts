import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Call extends Record<string, unknown> {
  readonly type: string;
  readonly messageId: string;
}

export interface Request {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: number;
  readonly body: { readonly batch: readonly Call[] } & Record<string, unknown>;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface FakeGateway {
  readonly url: string;
  readonly port: number;
  /** In the order of their arrival. */
  readonly requests: Request[];
  /** Of the requests that were answered with 200, in the order of the calls' arrival. */
  readonly calls: Call[];
  /** Decides the answer to the nth request, from 1. */
  answer: (nth: number) => Answer | Promise<Answer>;
  close(): Promise<void>;
}

export const ok: Answer = { status: 200, body: '{"success":true}' };

/** The tracking API as the client sees it. */
export async function startFakeGateway(): Promise<FakeGateway> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const body = JSON.parse(bytes.toString()) as Request['body'];
      const { url = '', headers } = request;
      const nth = gateway.requests.push({ url, headers, bytes: bytes.length, body });
      void Promise.resolve(gateway.answer(nth)).then((answer) => {
        if (answer.status === 200) gateway.calls.push(...body.batch);
        response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gateway: FakeGateway = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: [],
    calls: [],
    answer: () => ok,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
  return gateway;
}
