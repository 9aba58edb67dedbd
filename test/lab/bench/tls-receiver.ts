import { constants } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from '../../delivery/http/certificates.ts';

/** An endpoint over TLS. Its process is not measured. */
export interface ReceiverOptions extends Certificate {
  /** Ends each connection after its answer. */
  readonly closes: boolean;
  /** Knows no session when it comes again. */
  readonly forgets: boolean;
}

const { closes, forgets, cert, key } = JSON.parse(process.argv[2] ?? '') as ReceiverOptions;
const secureOptions = forgets ? constants.SSL_OP_NO_TICKET : 0;
const server = createServer(
  { cert, key, keepAliveTimeout: 600_000, secureOptions },
  (request, response) => {
    request.resume().once('end', () => {
      // Said here, because Node would add for how long it keeps connections, which most endpoints don't say.
      response.setHeader('Connection', closes ? 'close' : 'keep-alive');
      response.end('ok');
    });
  },
);
server.listen({ host: '0.0.0.0', port: 0, backlog: 4_096 }, () => {
  process.send?.((server.address() as AddressInfo).port);
});
