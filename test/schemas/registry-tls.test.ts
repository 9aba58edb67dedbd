import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeAuthority, makeCertificate } from '../delivery/http/certificates.ts';
import { startRegistry, type TestRegistry } from '../harness/registry.ts';
import { runCommand, type Ended } from '../harness/run-command.ts';

const authority = makeAuthority('registry authority');
const clients = makeAuthority('client authority');
const server = makeCertificate({ by: authority });
const client = makeCertificate({ name: 'postrider', by: clients });
const stranger = makeCertificate({ name: 'stranger', by: makeAuthority('another') });

const files = { ca: '', cert: '', key: '', strangerCert: '' };
let folder: string;
let registry: TestRegistry;
let mutual: TestRegistry;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-tls-'));
  const contents = {
    ca: authority.cert,
    cert: client.cert,
    key: client.key,
    strangerCert: stranger.cert,
  };
  for (const name of ['ca', 'cert', 'key', 'strangerCert'] as const) {
    files[name] = join(folder, `${name}.pem`);
    await writeFile(files[name], contents[name]);
  }
  registry = await startRegistry({ ...server });
  mutual = await startRegistry({ ...server, ca: clients.cert, requestCert: true });
});

after(async () => {
  await registry.stop();
  await mutual.stop();
  await rm(folder, { recursive: true });
});

function register(url: string, settings: Readonly<Record<string, string>>): Promise<Ended> {
  const env = { PATH: process.env['PATH'] ?? '', SCHEMA_REGISTRY_URL: url, ...settings };
  return runCommand(['schemas', 'register'], env);
}

test('a registry behind TLS is believed by the authority that the setting names, and by no other', async () => {
  const known = await register(registry.url, { SCHEMA_REGISTRY_SSL_CA_FILE: files.ca });
  assert.match(known.stdout, /^postrider\.ingest-value has the schema 1;/);
  const unknown = await register(registry.url, {});
  assert.equal(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /does not trust; set SCHEMA_REGISTRY_SSL_CA_FILE to a file with the certificate of that authority\n$/,
  );
});

test('a registry that asks for a certificate gets ours, and refuses none and that of another authority', async () => {
  const ca = { SCHEMA_REGISTRY_SSL_CA_FILE: files.ca };
  const key = { SCHEMA_REGISTRY_SSL_KEY_FILE: files.key };
  const own = { ...ca, ...key, SCHEMA_REGISTRY_SSL_CERT_FILE: files.cert };
  assert.equal((await register(mutual.url, own)).code, 0);
  const strange = { ...ca, ...key, SCHEMA_REGISTRY_SSL_CERT_FILE: files.strangerCert };
  const without = await register(mutual.url, ca);
  assert.equal(without.code, 1);
  assert.match(
    without.stderr,
    /it requires a client certificate [^\n]*SCHEMA_REGISTRY_SSL_CERT_FILE\n$/,
  );
  const refused = await register(mutual.url, strange);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /^postrider: The schema registry at https:[^\n]* cannot be used: [^\n]*\n$/,
  );
});

test('settings of TLS that could not protect anything are one sentence', async () => {
  const plain = await register('http://127.0.0.1:1', { SCHEMA_REGISTRY_SSL_CA_FILE: files.ca });
  assert.match(
    plain.stderr,
    /SCHEMA_REGISTRY_SSL_CA_FILE is given, allowed: only with a SCHEMA_REGISTRY_URL that is https/,
  );
  const half = await register(registry.url, { SCHEMA_REGISTRY_SSL_CERT_FILE: files.cert });
  assert.match(
    half.stderr,
    /SCHEMA_REGISTRY_SSL_CERT_FILE and SCHEMA_REGISTRY_SSL_KEY_FILE are allowed only together/,
  );
});
