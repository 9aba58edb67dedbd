import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PublishedSchema, type PublishedSchemaOptions } from '../../src/client/published-schema.ts';
import { ingestSchema, registerSchema } from '../../src/schemas/publish.ts';
import { RegistryClient } from '../../src/schemas/registry-client.ts';
import { makeAuthority, makeCertificate } from '../delivery/http/certificates.ts';
import { startRegistry, type TestRegistry } from '../harness/registry.ts';

const subject = 'calls-value';
const json = JSON.stringify({ type: 'identify', userId: 'u' });

/** The first reason for which there is no schema, or the id that a call is written with. */
async function outcomeOf(
  options: Pick<PublishedSchemaOptions, 'url' | 'ssl'>,
): Promise<string | number | undefined> {
  const stop = new AbortController();
  let reason: string | undefined;
  const onFailure = (said: string): void => {
    reason ??= said;
    stop.abort();
  };
  const schema = new PublishedSchema({ ...options, subject, onFailure, signal: stop.signal });
  const encode = await schema.encoder();
  return encode === undefined ? reason : encode(json).readUInt32BE(1);
}

async function publish(registry: TestRegistry, schema: string): Promise<void> {
  await registerSchema(new RegistryClient({ url: registry.url }), subject, schema);
}

test('a registry behind TLS is believed by the authority that is given, and gets our certificate', async (context) => {
  const authority = makeAuthority('registry authority');
  const clients = makeAuthority('client authority');
  const { cert, key } = makeCertificate({ name: 'producer', by: clients });
  const server = makeCertificate({ by: authority });
  const registry = await startRegistry({ ...server, ca: clients.cert, requestCert: true });
  context.after(() => registry.stop());
  const { url } = registry;
  const ca = authority.cert;
  const tls = { ca: Buffer.from(ca), cert: Buffer.from(cert), key: Buffer.from(key) };
  await registerSchema(new RegistryClient({ url, tls }), subject);
  assert.equal(await outcomeOf({ url, ssl: { ca, cert, key } }), 1);
  assert.match(String(await outcomeOf({ url, ssl: undefined })), /unable to verify|certificate/);
  assert.match(String(await outcomeOf({ url, ssl: { ca } })), /alert|certificate/);
});

test('what is no record in Avro with times as timestamp-millis writes no call', async (context) => {
  const registry = await startRegistry();
  context.after(() => registry.stop());
  const { url } = registry;
  const before = `no schema of ${subject} from the schema registry at ${url}: `;
  assert.equal(await outcomeOf({ url }), `${before}Subject '${subject}' not found.`);
  await publish(registry, ingestSchema.replace('timestamp-millis', 'timestamp-micros'));
  assert.equal(
    await outcomeOf({ url }),
    `${before}its latest schema has a timestamp-micros; times are written as timestamp-millis`,
  );
  await publish(registry, ingestSchema);
  assert.equal(await outcomeOf({ url }), 2);
  registry.hide(`/subjects/${subject}/versions/latest`);
  assert.equal(await outcomeOf({ url }), `${before}its answer is not one of a schema registry`);
});
