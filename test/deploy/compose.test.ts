import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import type { Environment } from '../../src/environment.ts';
import { consoleTokens } from '../../src/console/access/tokens.ts';
import { findToken, parseTokens } from '../../src/http-api/tokens.ts';
import { readSettings } from '../../src/settings/read.ts';
import { version } from '../../src/ops/process.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { test } from 'node:test';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { readStages } from './dockerfile.ts';

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes?: Readonly<Record<string, unknown>>;
  readonly configs?: Readonly<Record<string, { readonly content: string }>>;
}

interface Service {
  readonly image?: string;
  readonly build?: { readonly dockerfile: string };
  readonly extends?: { readonly file: string; readonly service: string };
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly profiles?: readonly string[];
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
}

const files = ['docker-compose.yml', 'deploy/compose/kafka.yml'] as const;

function readCompose(file: (typeof files)[number] = 'docker-compose.yml'): Compose {
  const url = new URL(`../../${file}`, import.meta.url);
  return parse(readFileSync(url, 'utf8'), { merge: true }) as Compose;
}

/** As Compose fills it in. @throws where a variable that has to be set is not */
function filledIn(text: string, variables: Environment): string {
  return text.replaceAll(
    /\$\{(\w+):([-?])([^}]*)\}/g,
    (_, name: string, kind: string, word: string) => {
      const value = variables[name] ?? '';
      if (value !== '') return value;
      if (kind === '?') throw new Error(`${name}: ${word}`);
      return word;
    },
  );
}

const secretKey = Buffer.alloc(32, 1).toString('base64');

testNeeding([programs.composeSpec], 'Compose files are as the specification has them', (folder) => {
  const schema = JSON.parse(readFileSync(join(folder, 'compose-spec.json'), 'utf8')) as object;
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  for (const file of files)
    assert.ok(validate(readCompose(file)), `${file}: ${JSON.stringify(validate.errors)}`);

  const compose = readCompose();
  const [first = ''] = Object.keys(compose.services);
  const misspelt = { ...compose.services[first], depend_on: ['kafka'] };
  assert.equal(validate({ ...compose, services: { [first]: misspelt } }), false);
});

test('every role of docker-compose.yml starts with settings that allow it', () => {
  const roles = Object.entries(readCompose().services).filter(([, { build }]) => build);
  assert.deepEqual(
    roles.map(([name]) => name),
    ['topics', 'gateway', 'router', 'delivery', 'console'],
  );
  const names = new Set(Object.values(settingsTable).map(({ name }) => name));
  const image = readStages().at(-1);
  for (const [role, { environment = {} }] of roles) {
    const filled = Object.entries(environment).map(([name, value]) => [
      name,
      filledIn(String(value), { SECRET_KEY: secretKey }),
    ]);
    const unknown = Object.keys(environment).filter(
      (name) => !names.has(name) && image?.environment[name] === undefined,
    );
    assert.deepEqual(unknown, [], role);
    const settings = readSettings(Object.fromEntries(filled) as Environment);
    assert.ok(settings.kafkaBrokers, role);
    if (['delivery', 'console'].includes(role)) assert.ok(settings.secretKey, role);
  }
});

test('all roles run the image of the release, from the registry that is named, or from the sources', () => {
  const services = Object.values(readCompose().services);
  for (const { image = '', build } of services.filter(({ build }) => build)) {
    assert.equal(filledIn(image, {}), `registry.example.com/postrider:${version}`);
    const named = { POSTRIDER_REGISTRY: 'registry.postrider.test/tools' };
    assert.equal(filledIn(image, named), `registry.postrider.test/tools/postrider:${version}`);
    assert.deepEqual(build, { context: '.', dockerfile: 'deploy/Dockerfile' });
  }
});

test('without SECRET_KEY nothing starts, and Compose says what it has to be', () => {
  const key = String(readCompose().services['delivery']?.environment?.['SECRET_KEY']);
  assert.throws(() => filledIn(key, {}), /^Error: SECRET_KEY: set it to 32 bytes in base64/);
});

test('what Kafka keeps is in a volume, where its broker looks for it', () => {
  const { services, volumes } = readCompose();
  const { extends: base, volumes: mounts } = services['kafka'] ?? {};
  assert.deepEqual(base, { file: 'deploy/compose/kafka.yml', service: 'kafka' });
  const broker = readCompose('deploy/compose/kafka.yml').services['kafka'];
  const folder = String(broker?.environment?.['KAFKA_LOG_DIRS']);
  assert.deepEqual(mounts, [`kafka:${folder}`]);
  assert.ok(volumes && 'kafka' in volumes);
  // The broker of `npm test` has none, so that it leaves nothing behind.
  assert.equal(broker?.volumes, undefined);
});

test('each of gateway, router and delivery may run several times', () => {
  const { services } = readCompose();
  const ports = (role: string, variables: Environment): string[] =>
    (services[role]?.ports ?? []).map((port) => filledIn(port, variables));
  for (const role of ['router', 'delivery']) assert.deepEqual(ports(role, {}), [], role);
  assert.deepEqual(ports('gateway', {}), ['127.0.0.1:8080:8080']);
  const several = { GATEWAY_PORTS: '8080-8082' } as Environment;
  assert.deepEqual(ports('gateway', several), ['127.0.0.1:8080-8082:8080']);
  for (const [name, service] of Object.entries(services))
    assert.ok(!('container_name' in service), name);
});

test('the console, Prometheus and Grafana run if their profile is on', () => {
  const { services } = readCompose();
  const profiles = Object.entries(services).flatMap(([name, { profiles: of = [] }]) =>
    of.map((profile) => `${profile}: ${name}`),
  );
  assert.deepEqual(profiles, ['console: console', 'monitoring: prometheus', 'monitoring: grafana']);
});

test('the console of Compose takes a token by its hash, and does not start without one', () => {
  const { services, configs } = readCompose();
  const { environment, configs: mounted = [] } = services['console'] ?? {};
  const file = String(environment?.['CONSOLE_TOKENS_FILE']);
  const source = mounted.find(({ target }) => target === file)?.source ?? '';
  const content = configs?.[source]?.content ?? '';
  const hash = createHash('sha256').update('a token').digest('hex');
  const tokens = parseTokens(
    consoleTokens,
    file,
    filledIn(content, { CONSOLE_TOKEN_SHA256: hash }),
  );
  assert.equal(findToken(tokens, 'a token')?.role, 'operator');
  assert.throws(
    () => parseTokens(consoleTokens, file, filledIn(content, {})),
    /tokens\.yaml.*SHA-256 of a token/,
  );
});
