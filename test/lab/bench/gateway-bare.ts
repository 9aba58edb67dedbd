import { fastify } from 'fastify';
import type { GatewayLoad } from './gateway-load.ts';
import { reportMeasurement } from './measure.ts';

interface Call {
  readonly userId: string;
}

/**
 * The least that can be called a gateway, around any producer: fastify parses the JSON, and the handler writes
 * each call as it is and answers. No checks, no limits of its own, no times, no headers on the records. Sends
 * its port to the parent process, prints a measurement as JSON, and ends the process.
 * @param write resolves when all are acknowledged
 */
export async function serveBare(
  load: GatewayLoad,
  write: (records: { readonly key: string; readonly value: string }[]) => Promise<unknown>,
): Promise<never> {
  let acknowledged = 0;
  const writeCalls = async (calls: readonly Call[]): Promise<{ success: boolean }> => {
    await write(calls.map((call) => ({ key: call.userId, value: JSON.stringify(call) })));
    acknowledged += calls.length;
    return { success: true };
  };
  const server = fastify();
  server.post('/v1/batch', (request) => writeCalls((request.body as { batch: Call[] }).batch));
  server.post('/v1/track', (request) => writeCalls([request.body as Call]));
  process.send?.(Number(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port));
  return reportMeasurement(load, () => acknowledged);
}
