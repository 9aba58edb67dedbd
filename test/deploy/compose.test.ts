import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import type { Environment } from '../../src/environment.ts';
import { readSettings } from '../../src/settings/read.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { test } from 'node:test';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { readStages } from './dockerfile.ts';

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
}

interface Service {
  readonly image: string;
  readonly build?: { readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
}

function readCompose(): Compose {
  const file = new URL('../../docker-compose.yml', import.meta.url);
  return parse(readFileSync(file, 'utf8'), { merge: true }) as Compose;
}

testNeeding(
  [programs.composeSpec],
  'docker-compose.yml is as the specification has it',
  (folder) => {
    const schema = JSON.parse(readFileSync(join(folder, 'compose-spec.json'), 'utf8')) as object;
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    const compose = readCompose();
    assert.ok(validate(compose), JSON.stringify(validate.errors));

    const [first = ''] = Object.keys(compose.services);
    const misspelt = { ...compose.services[first], depend_on: ['kafka'] };
    assert.equal(validate({ ...compose, services: { [first]: misspelt } }), false);
  },
);

test('every role of docker-compose.yml starts with settings that allow it', () => {
  const roles = Object.entries(readCompose().services).filter(([, { build }]) => build);
  assert.ok(roles.length >= 4);
  const names = new Set(Object.values(settingsTable).map(({ name }) => name));
  const image = readStages().at(-1);
  for (const [role, { environment = {} }] of roles) {
    // As a shell without these variables would fill them in.
    const filled = Object.entries(environment).map(([name, value]) => [
      name,
      String(value).replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'),
    ]);
    const unknown = Object.keys(environment).filter(
      (name) => !names.has(name) && image?.environment[name] === undefined,
    );
    assert.deepEqual(unknown, [], role);
    const { kafkaBrokers } = readSettings(Object.fromEntries(filled) as Environment);
    assert.ok(kafkaBrokers, role);
  }
});
