import { fastify } from 'fastify';
import { listenOnAll } from './listen.ts';
import type { MetricsRegistry } from './metrics.ts';

export interface OpsServer {
  /** `http://host:port` */
  readonly url: string;
  close(): Promise<void>;
}

export interface OpsServerOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly metrics: MetricsRegistry;
  /** False while starting and while draining. */
  readonly ready: () => boolean;
}

/**
 * `/metrics`, `/livez` and `/readyz`. Any answer of `/livez` shows that the event loop runs. It depends on
 * nothing else, because an outage of Kafka must not restart every process.
 */
export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const server = fastify({ forceCloseConnections: true });
  const text = boundedText(() => options.metrics.metrics());
  server.get('/metrics', async (_request, reply) => {
    return reply.type(options.metrics.contentType).send(await text());
  });
  server.get('/livez', () => 'ok\n');
  server.get('/readyz', (_request, reply) => {
    return options.ready() ? reply.send('ready\n') : reply.code(503).send('not ready\n');
  });
  const port = await listenOnAll(server, 'OPS_PORT', options.port);
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** Scrapers ask every few seconds, some at a time. A worker's metrics take some ten milliseconds to write. */
const mostTextsASecond = 20;

/**
 * Makes the text at most once a second: anybody who reaches the port could otherwise take a whole
 * core. The others get the text that was made last.
 */
function boundedText(make: () => Promise<string>): () => Promise<string> {
  let [secondMs, made] = [-Infinity, 0];
  let last = Promise.resolve('');
  return () => {
    const nowMs = performance.now();
    if (nowMs - secondMs >= 1_000) [secondMs, made] = [nowMs, 0];
    if (made < mostTextsASecond) {
      made += 1;
      last = make();
    }
    return last;
  };
}
