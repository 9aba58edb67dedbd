import type { FastifyInstance } from 'fastify';
import { portProblem } from './port-problem.ts';

/**
 * Listens on all addresses, of both families if the machine has IPv6, and returns the port.
 * @throws PostriderError `setting-invalid` with the setting's name if the port is not available
 */
export async function listenOnAll(
  server: FastifyInstance,
  setting: string,
  port: number,
): Promise<string> {
  const url = await server.listen({ port, host: '::' }).catch(async (error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAFNOSUPPORT') return server.listen({ port, host: '0.0.0.0' });
    throw portProblem(error, setting, port);
  });
  return new URL(url).port;
}
