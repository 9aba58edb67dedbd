import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { settingNames } from '../../src/settings/misspelt.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { ourContainer, workloadsOf } from './manifest.ts';
import { render, variants } from './render.ts';

/** They decrypt nothing. */
const keyless = ['gateway', 'router'];

for (const variant of variants)
  testNeeding([programs.kustomize], `${variant}: who decrypts nothing has no key`, (kustomize) => {
    const workloads = workloadsOf(render(kustomize, variant)).filter(({ metadata }) =>
      metadata.name.startsWith('postrider-'),
    );
    const withKey = workloads
      .filter((each) => ourContainer(each).env?.some(({ name }) => name.startsWith('SECRET_KEY')))
      .map(({ metadata }) => metadata.name);
    assert.ok(withKey.includes('postrider-delivery'));
    for (const role of keyless) assert.ok(!withKey.includes(`postrider-${role}`), role);
  });

for (const variant of variants)
  testNeeding(
    [programs.kustomize],
    `${variant}: files that are applied can name the secrets of resources alone`,
    (kustomize) => {
      const jobs = workloadsOf(render(kustomize, variant)).filter(({ metadata }) =>
        metadata.name.startsWith('postrider-resources'),
      );
      assert.ok(jobs.length > 0);
      for (const { env = [], envFrom = [] } of jobs.map(ourContainer)) {
        // Every other variable is a setting, and ${NAME} refuses those.
        for (const { name } of env) assert.ok(settingNames.has(name), name);
        const secrets = envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []);
        assert.match(secrets.join(), /^postrider-resource-secrets(?:-[a-z0-9]{10})?$/);
      }
    },
  );

test('compose: who decrypts nothing has no key', () => {
  interface Compose {
    readonly services: Readonly<Record<string, { readonly environment?: object }>>;
  }
  const file = new URL('../../docker-compose.yml', import.meta.url);
  const { services } = parse(readFileSync(file, 'utf8'), { merge: true }) as Compose;
  const hasKey = (role: string): boolean => 'SECRET_KEY' in (services[role]?.environment ?? {});
  assert.ok(hasKey('delivery'));
  for (const role of keyless) assert.equal(hasKey(role), false, role);
});
