import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import type { Manifest } from './manifest.ts';
import { render, variants } from './render.ts';
import { leastKafka, leastKubernetes } from './least-versions.ts';
import { problemsOf, readCustomKinds } from './schemas.ts';

const { kustomize, kubernetesValidate, kedaCrds, prometheusCrds, strimziCrds } = programs;

/** The oldest that deploy/README.md promises, and the newest. */
const versions = [leastKubernetes, '1.37'];

/** What Kubernetes' own schemas say, which know no custom resources. */
function coreProblems(validate: string, manifests: readonly Manifest[], version: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'postrider-manifests-')), 'all.yaml');
  writeFileSync(file, manifests.map((manifest) => stringify(manifest)).join('---\n'));
  const args = ['--kubernetes-version', version, '--strict', '--quiet', file];
  const { status, stdout, stderr } = spawnSync(validate, args, { encoding: 'utf8' });
  return status === 0 && stdout === '' ? '' : `${stdout}${stderr}status ${status}`;
}

function isCustom({ apiVersion }: Manifest): boolean {
  return /keda\.sh|coreos\.com|strimzi\.io/.test(apiVersion);
}

for (const version of versions)
  testNeeding(
    [kustomize, kubernetesValidate],
    `Kubernetes ${version} knows every field`,
    (kustomizePath, validatePath) => {
      const all = variants.flatMap((variant) => render(kustomizePath, variant));
      const core = all.filter((manifest) => !isCustom(manifest));
      assert.equal(coreProblems(validatePath, core, version), '');
    },
  );

for (const variant of variants)
  testNeeding(
    [kustomize, kedaCrds, prometheusCrds, strimziCrds],
    `${variant}: KEDA, the Prometheus operator and Strimzi know every field`,
    (kustomizePath, ...folders) => {
      const kinds = readCustomKinds(folders);
      const custom = render(kustomizePath, variant).filter(isCustom);
      assert.deepEqual(
        custom.flatMap((manifest) => problemsOf(kinds, manifest)),
        [],
      );
      assert.equal(custom.length > 0, variant !== 'dev');
    },
  );

/** Lists that an API server merges by a key, and refuses where two items have the same. */
const keys: Readonly<Record<string, (item: Readonly<Record<string, unknown>>) => string>> = {
  containers: ({ name }) => String(name),
  env: ({ name }) => String(name),
  ports: ({ containerPort, port, protocol = 'TCP' }) =>
    `${String(containerPort ?? port)}/${String(protocol)}`,
  volumes: ({ name }) => String(name),
  volumeMounts: ({ mountPath }) => String(mountPath),
};

function repeated(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]: [string, unknown]) => {
    const key = keys[name];
    const here = `${path}.${name}`;
    const found = Array.isArray(child) && key !== undefined ? child.map(key) : [];
    const twice = found.filter((each, i) => found.indexOf(each) !== i);
    return [...twice.map((each) => `${here}: ${each}`), ...repeated(child, here)];
  });
}

for (const variant of variants) {
  testNeeding([kustomize], `${variant}: nothing is said twice`, (kustomizePath) => {
    const manifests = render(kustomizePath, variant);
    const names = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    assert.equal(new Set(names).size, names.length);
    assert.deepEqual(
      manifests.flatMap((manifest) => repeated(manifest, manifest.metadata.name)),
      [],
    );
  });
}

testNeeding([kubernetesValidate], 'a misspelt field of a Deployment is found', (validate) => {
  const spelling = (probe: string): Manifest => {
    const containers = [{ name: 'a', image: 'a', [probe]: { tcpSocket: { port: 1 } } }];
    const labels = { a: 'b' };
    const template = { metadata: { labels }, spec: { containers } };
    const spec = { selector: { matchLabels: labels }, template };
    return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, spec } as Manifest;
  };
  assert.equal(coreProblems(validate, [spelling('livenessProbe')], '1.37'), '');
  assert.match(coreProblems(validate, [spelling('livenesProbe')], '1.37'), /livenesProbe/);
});

testNeeding(
  [kustomize, kedaCrds, strimziCrds],
  'a misspelt field of a custom resource is found, and a number where text should be',
  (kustomizePath, ...folders) => {
    const kinds = readCustomKinds(folders);
    const manifests = render(kustomizePath, 'production');
    const spoilt = (kind: string, right: string, wrong: string): string => {
      const manifest = manifests.find((each) => each.kind === kind);
      const text = JSON.stringify(manifest);
      assert.ok(text.includes(right), text);
      const problems = problemsOf(kinds, JSON.parse(text.replace(right, wrong)) as Manifest);
      return problems.join('\n');
    };
    assert.match(
      spoilt('ScaledObject', '"scaleTargetRef"', '"scaleTargetReff"'),
      /scaleTargetReff/,
    );
    assert.match(spoilt('ScaledObject', '"lagThreshold":"', '"lagThreshold":1,"x":"'), /string/);
    assert.match(spoilt('KafkaUser', '"operations"', '"operation"'), /"operation"/);
  },
);

test('the least Kafka that is stated is the one that roles ask for', () => {
  const file = new URL('../../src/kafka/kafkajs/broker-connection.ts', import.meta.url);
  assert.ok(readFileSync(file, 'utf8').includes(`Kafka ${leastKafka} or newer is required`));
});
