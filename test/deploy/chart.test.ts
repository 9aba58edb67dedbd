import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { version } from '../../src/ops/process.ts';
import { chartFiles } from './chart/chart.ts';
import { merge, templateLines, type Variant } from './chart/merge.ts';
import { leastKubernetes } from './least-versions.ts';
import { parseManifests, type Manifest } from './manifest.ts';
import { render, type Variant as Overlay } from './render.ts';

const { helm, kustomize } = programs;
const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));
const chart = join(deploy, 'chart');

testNeeding([kustomize], 'the chart is the one that the manifests make', (kustomizePath) => {
  const made = chartFiles(kustomizePath, version);
  const names = globSync('**', { cwd: chart, withFileTypes: true }).filter((each) => each.isFile());
  const paths = names.map((each) => join(each.parentPath, each.name).slice(chart.length + 1));
  assert.deepEqual(paths.sort(), [...made.keys()].sort(), 'npm run deploy:chart');
  for (const [path, text] of made)
    assert.equal(readFileSync(join(chart, path), 'utf8'), text, `${path}: npm run deploy:chart`);
});

const shop = [
  '--set-file',
  `resources.shop\\.yaml=${deploy}/overlays/production/resources/shop.yaml`,
];
const all = [
  ...['toolbox', 'audiences', 'console', 'api', 'schemaRegistry', 'schemaRegistryTls'],
  ...['keda', 'podMonitor', 'networkPolicy', 'strimzi'],
];
const inProduction = all.filter((name) => !/audiences|console|^api$|Tls/.test(name));

function on(components: readonly string[]): string[] {
  return components.flatMap((name) => ['--set', `components.${name}=true`]);
}

/** The values that give the same as an overlay. */
const overlays: Readonly<Record<Overlay, readonly string[]>> = {
  production: [...on(inProduction), ...shop],
  everything: [...on(all), ...shop, '--set', 'schemaRegistry.url=https://schema-registry:8081'],
  dev: [
    ...on(['dev']),
    ...['--set', 'image.repository=postrider,image.tag=dev'],
    ...['--set', 'gateway.replicas=1,router.replicas=1,delivery.replicas=1'],
    ...['--set-file', `resources.shop\\.yaml=${deploy}/overlays/dev/resources/shop.yaml`],
  ],
};

function template(helmPath: string, values: readonly string[]): string {
  const args = [
    'template',
    'postrider',
    chart,
    '--namespace',
    'postrider',
    '--kube-version',
    leastKubernetes,
    ...values,
  ];
  return execFileSync(helmPath, args, { encoding: 'utf8', stdio: 'pipe' });
}

/** Without what Helm and kustomize have each in their own way. */
function compared(manifests: readonly Manifest[]): Record<string, unknown> {
  const text = JSON.stringify(manifests)
    .replaceAll(/"namespace":"postrider(?:-dev)?",?/g, '')
    .replaceAll(
      /("postrider-(?:settings|resources|secrets|resource-secrets))-[a-f\d\w]{10}"/g,
      '$1"',
    )
    .replaceAll(/"(postrider-(?:topics|resources))-1"/g, '"$1"')
    .replaceAll(/,\}/g, '}');
  const all = JSON.parse(text) as Manifest[];
  return Object.fromEntries(
    all
      .filter(({ kind }) => kind !== 'Namespace')
      .map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]),
  );
}

for (const [overlay, values] of Object.entries(overlays) as [Overlay, readonly string[]][])
  testNeeding(
    [helm, kustomize],
    `the chart renders what the overlay ${overlay} does`,
    (helmPath, kustomizePath) => {
      const rendered = compared(parseManifests(template(helmPath, values)));
      const expected = compared(render(kustomizePath, overlay));
      assert.deepEqual(Object.keys(rendered).sort(), Object.keys(expected).sort());
      for (const [name, manifest] of Object.entries(expected))
        assert.deepEqual(rendered[name], manifest, name);
    },
  );

testNeeding([helm], "Helm's linter finds nothing in the chart", (helmPath) => {
  const args = ['lint', chart, '--strict', '--quiet', ...overlays.everything];
  const { status, stdout, stderr } = spawnSync(helmPath, args, { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

testNeeding([helm], 'a misspelt value and a missing broker are refused', (helmPath) => {
  assert.throws(() => template(helmPath, ['--set', 'setings.A=b']), /setings/);
  assert.throws(() => template(helmPath, []), /settings\.KAFKA_BROKERS is missing/);
  const brokers = ['--set', 'settings.KAFKA_BROKERS=k:9092,settings.TOPIC_PARTITIONS=12'];
  assert.match(
    template(helmPath, brokers),
    /^ {2}KAFKA_BROKERS: k:9092$[^]*^ {2}TOPIC_PARTITIONS: "12"$/m,
  );
});

test('a field belongs to the component, or the two, without which it is not there', () => {
  const variant = (names: readonly string[], value: Variant['value']): Variant => ({
    components: new Set(names),
    value,
  });
  const lines = templateLines(
    merge(
      [
        variant([], { same: 1, list: [{ name: 'a' }] }),
        variant(['x'], { same: 1, list: [{ name: 'a' }, { name: 'b' }], other: 'x' }),
        variant(['y'], { same: 1, list: [{ name: 'a' }], other: 'y' }),
        variant(['x', 'y'], { same: 1, list: [{ name: 'a' }, { name: 'b' }], other: 'y', both: 2 }),
      ],
      '',
    ),
    'it:',
    '',
  );
  assert.deepEqual(
    lines.map((line) => line.trim()),
    [
      ...['it:', '"same": 1', '"list":', '-', '"name": "a"'],
      ...['{{- if .Values.components.x }}', '-', '"name": "b"', '{{- end }}'],
      '{{- if and (.Values.components.x) (not .Values.components.y) }}',
      ...[
        '"other": "x"',
        '{{- end }}',
        '{{- if .Values.components.y }}',
        '"other": "y"',
        '{{- end }}',
      ],
      ...['{{- if and (.Values.components.x) (.Values.components.y) }}', '"both": 2', '{{- end }}'],
    ],
  );
});
