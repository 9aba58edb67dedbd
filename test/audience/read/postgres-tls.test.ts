import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { after, before, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { copyRows } from '../../../src/audience/read/postgres.ts';
import { makeAuthority, makeCertificate } from '../../delivery/http/certificates.ts';

/** A client asks with these four bytes whether the server speaks TLS. */
const sslRequest = 80_877_103;

const [known, other] = [makeAuthority('Authority of a hoster'), makeAuthority('Another Authority')];
const certificates = {
  right: makeCertificate({ by: known }),
  otherHost: makeCertificate({ by: known, hosts: ['db.example'] }),
};
let folder: string;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'postrider-tls-'));
  await writeFile(path.join(folder, 'known.pem'), known.cert);
  await writeFile(path.join(folder, 'other.pem'), other.cert);
});
after(() => rm(folder, { recursive: true }));

/** An answer of PostgreSQL that refuses the log-in, and tells how the log-in came. */
function refuse(socket: Socket, message: string): void {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C28000\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeInt32BE(fields.length + 4, 1);
  socket.end(Buffer.concat([head, fields]));
}

/** What becomes of a connection to a server with this certificate. */
async function connect(query: string, certificate: keyof typeof certificates): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (first) => {
      if (first.readInt32BE(4) !== sslRequest) {
        refuse(socket, 'plain');
        return;
      }
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, ...certificates[certificate] });
      secure.on('error', () => undefined);
      secure.once('data', () => {
        refuse(secure, 'encrypted');
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const postgres = `postgres://u:s3cret@127.0.0.1:${port}/d${query.replaceAll('$', folder)}`;
  const sink = new Writable();
  const rows = copyRows({ postgres, query: 'select 1' }, 'members', sink, 2_000, () => undefined);
  const said = await rows.then(
    () => 'rows',
    (error: unknown) => (error as Error).message,
  );
  server.close();
  assert.doesNotMatch(said, /s3cret/);
  return said.replace(/^PostgreSQL (?:refused the connection|at \S+ is not available): /, '');
}

const untrusted = /^its certificate is of an unknown authority; .* sslrootcert in the URL$/;
const otherName = /does not match certificate's altnames|is not in the cert's list/;

for (const [query, certificate, expected] of [
  ['', 'right', /^plain$/],
  ['?sslmode=disable', 'right', /^plain$/],
  ['?sslmode=require', 'right', /^encrypted$/],
  ['?sslmode=require', 'otherHost', /^encrypted$/],
  ['?sslmode=prefer', 'otherHost', /^encrypted$/],
  ['?sslmode=no-verify', 'otherHost', /^encrypted$/],
  ['?sslmode=require&sslrootcert=$/known.pem', 'otherHost', /^encrypted$/],
  ['?sslmode=require&sslrootcert=$/other.pem', 'right', untrusted],
  ['?sslmode=verify-ca', 'right', untrusted],
  ['?sslmode=verify-ca&sslrootcert=$/known.pem', 'otherHost', /^encrypted$/],
  ['?sslmode=verify-full', 'right', untrusted],
  ['?sslmode=verify-full&sslrootcert=system', 'right', untrusted],
  ['?sslmode=verify-full&sslrootcert=$/known.pem', 'otherHost', otherName],
  ['?application_name=x%20y&sslmode=verify-full&sslrootcert=$/known.pem', 'right', /^encrypted$/],
  ['?sslmode=verify-ca&sslrootcert=$/gone.pem', 'right', /^the file of sslrootcert cannot be read/],
] as const)
  test(`a URL with ${query === '' ? 'no sslmode' : query.slice(1)} and a certificate for ${certificate === 'right' ? 'its' : 'another'} host: ${expected.source}`, async () => {
    assert.match(await connect(query, certificate), expected);
  });
