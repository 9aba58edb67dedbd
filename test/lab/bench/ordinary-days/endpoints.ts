import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { readRequests } from '../raw-http.ts';

/** How an endpoint answers: 200 at once (a healthy one, or another), 200 after a tenth of a second or a second, or 503. */
export type Answer = 'healthy' | 'other' | 'paced' | 'slow' | 'failing';

const taken = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const refused = 'HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno';
const answersAfterMs: Readonly<Partial<Record<Answer, number>>> = { paced: 100, slow: 1_000 };

export interface DayEndpoints {
  /** Every loopback address is a host of its own. */
  url(host: string, answer: Answer): string;
  /** Gets the body of what is sent to a healthy or a paced endpoint. */
  onHealthy: (body: string) => void;
  /** How many requests each kind has had. */
  readonly requests: Readonly<Record<Answer, number>>;
  close(): void;
}

/** One server for all hosts; the path says how it answers. */
export async function startDayEndpoints(): Promise<DayEndpoints> {
  const sockets = new Set<Socket>();
  const requests = { healthy: 0, other: 0, paced: 0, slow: 0, failing: 0 };
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    readRequests(socket, (bytes, start, bodyStart, bodyEnd) => {
      const answer = answerOf(bytes, start);
      requests[answer] += 1;
      if (answer === 'healthy' || answer === 'paced')
        endpoints.onHealthy(bytes.toString('latin1', bodyStart, bodyEnd));
      const afterMs = answersAfterMs[answer];
      if (afterMs !== undefined) setTimeout(() => socket.write(taken), afterMs);
      else socket.write(answer === 'failing' ? refused : taken);
    });
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoints: DayEndpoints = {
    url: (host, answer) => `http://${host}:${port}/${answer}`,
    onHealthy: () => undefined,
    requests,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return endpoints;
}

function answerOf(bytes: Buffer, start: number): Answer {
  const path = start + 'POST /'.length;
  return bytes.toString('latin1', path, bytes.indexOf(' ', path)) as Answer;
}
