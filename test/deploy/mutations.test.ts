import assert from 'node:assert/strict';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { checklist } from './checklist.ts';
import type { Manifest } from './manifest.ts';
import { mutationsOf } from './mutations.ts';
import { Production } from './production.ts';
import { render } from './render.ts';
import { checkArguments, checkReferences, checkSettings } from './structure.ts';
import { checkTraffic } from './traffic-checks.ts';

/** Most are found without the largest check, so it comes last. */
const checks = Object.values(checklist).sort(
  (a, b) => Number(a === checkTraffic) - Number(b === checkTraffic),
);

/** Whether a test over the rendered overlay would fail. */
function isFound(manifests: readonly Manifest[]): boolean {
  try {
    const production = new Production(manifests);
    checkReferences(manifests);
    checkArguments(manifests);
    for (const check of checks) check(production);
    checkSettings(manifests);
    return false;
  } catch {
    return true;
  }
}

/** Objects that tests of their own look at. */
const elsewhere = /^(PrometheusRule|KafkaTopic|KafkaUser) /;

/** What may be changed without a promise being broken, each with the reason. */
const free: readonly (readonly [RegExp, string])[] = [
  [/ \S+\.(apiVersion|kind)$/, 'an API server, and its schemas, refuse another'],
  [/(?<!template)\.metadata\.labels(\.app\.kubernetes\.io.*)?$/, 'nothing selects these by labels'],
  [/\.jobTemplate\.metadata(\..*)?$/, 'the same'],
  [/^changed (PodDisruptionBudget|NetworkPolicy|PodMonitor) \S+\.metadata\.name$/, 'any will do'],
  [/^removed .*\.ports\[\]\.protocol$/, 'TCP is the default'],
  [/^removed .*\.livenessProbe\.periodSeconds$/, 'the same as the default'],
  [/ ConfigMap postrider-resources-\w+(\.data.*)?$/, "the user's own"],
  [/ ConfigMap postrider-settings-\w+\.data\.LOG_FORMAT$/, 'how the log looks'],
  [/ PersistentVolumeClaim \S+\.spec(\..*)?$/, 'as the cluster has volumes'],
  [/\.emptyDir\.sizeLimit$/, 'as large as the node likes'],
  [/ Deployment postrider-toolbox\.spec\.strategy(\..*)?$/, 'one pod, or none'],
  [/ Deployment postrider-console\.spec\.(replicas|strategy)(\..*)?$/, 'console.test.ts'],
  [/ Deployment postrider-console.*\.env\[(CONSOLE_|NODE_OPTIONS|MALLOC_)/, 'console.test.ts'],
  [/ Deployment postrider-api\.spec\.(replicas|template\.spec\.topologySpread)/, 'api.test.ts'],
  [/ Deployment postrider-api.*(\.env\[(API_|NODE_OPTIONS)|\.lifecycle|\[tokens\])/, 'api.test.ts'],
  [/ (PodDisruptionBudget postrider-api|NetworkPolicy postrider-console-to-api)/, 'api.test.ts'],
  [/ Deployment \S+\.env\[SCHEMA_REGISTRY_/, 'schema-registry.test.ts'],
  [/ Deployment \S+\.volumes\[schema-registry-tls\]/, 'schema-registry.test.ts'],
];

testNeeding(
  [programs.kustomize],
  'every field of the production overlay that is changed or removed is found, but for those that are free',
  (kustomize) => {
    const manifests = structuredClone(render(kustomize, 'everything')) as Manifest[];
    assert.ok(!isFound(manifests));
    const unused = new Set(free);
    const survivors: string[] = [];
    let tried = 0;
    for (const mutation of mutationsOf(manifests)) {
      const { kind, path } = mutation;
      const name = `${kind} ${path}`;
      const freedom = free.find(([pattern]) => pattern.test(name));
      if (freedom !== undefined) unused.delete(freedom);
      if (freedom !== undefined || elsewhere.test(path)) continue;
      tried += 1;
      mutation.apply();
      if (!isFound(manifests)) survivors.push(name);
      mutation.undo();
    }
    assert.deepEqual(survivors, []);
    assert.ok(tried > 1_500, `only ${tried} were tried`);
    assert.deepEqual([...unused], []);
    assert.deepEqual(manifests, render(kustomize, 'everything'));
  },
);

type Fields = Record<string, unknown>;

function find(manifests: readonly Manifest[], kind: string, name: string): Fields {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  assert.ok(found, name);
  return (found as unknown as { spec: Fields }).spec;
}

/** What `path` leads to, through objects and lists. */
function at(fields: unknown, ...path: readonly (string | number)[]): Fields {
  return path.reduce((inner, key) => (inner as Fields)[key], fields) as Fields;
}

const container = ['template', 'spec', 'containers', 0] as const;

/** What somebody may do to the manifests by mistake, whose absence a removed field does not show. */
const mistakes: Readonly<Record<string, (manifests: Manifest[]) => void>> = {
  'pods may ask for no names': (manifests) => {
    find(manifests, 'NetworkPolicy', 'postrider-names')['egress'] = [];
  },
  'pods may not reach Kafka': (manifests) => {
    find(manifests, 'NetworkPolicy', 'postrider-kafka')['egress'] = [];
  },
  'names are asked for over TCP alone': (manifests) => {
    for (const rule of find(manifests, 'NetworkPolicy', 'postrider-names')['egress'] as Fields[])
      rule['ports'] = (rule['ports'] as Fields[]).filter(({ protocol }) => protocol !== 'UDP');
  },
  'KEDA adds a router for each record that waits': (manifests) => {
    const scaled = find(manifests, 'ScaledObject', 'postrider-router');
    at(scaled, 'triggers', 0, 'metadata')['lagThreshold'] = '1';
  },
  'a Job vanishes with its log': (manifests) => {
    find(manifests, 'Job', 'postrider-resources')['ttlSecondsAfterFinished'] = 300;
  },
  'one slow answer restarts a worker': (manifests) => {
    const worker = find(manifests, 'Deployment', 'postrider-delivery');
    at(worker, ...container, 'livenessProbe')['failureThreshold'] = 1;
  },
  'pods are spread beside nobody': (manifests) => {
    const worker = find(manifests, 'Deployment', 'postrider-delivery');
    const constraint = at(worker, 'template', 'spec', 'topologySpreadConstraints', 0);
    constraint['labelSelector'] = { matchLabels: { app: 'nobody' } };
  },
  'a CPU limit throttles a worker': (manifests) => {
    const worker = find(manifests, 'Deployment', 'postrider-delivery');
    at(worker, ...container, 'resources', 'limits')['cpu'] = '1';
  },
  'the gateway may reach the internet': (manifests) => {
    const endpoints = find(manifests, 'NetworkPolicy', 'postrider-endpoints');
    const [expression] = at(endpoints, 'podSelector')['matchExpressions'] as Fields[];
    (expression?.['values'] as string[]).push('postrider-gateway');
  },
  'workers may reach hosts of metadata': (manifests) => {
    const endpoints = find(manifests, 'NetworkPolicy', 'postrider-endpoints');
    const to = at(endpoints, 'egress', 0)['to'] as Fields[];
    to.push({ ipBlock: { cidr: '169.254.0.0/16' } });
  },
  'a password stands in a manifest': (manifests) => {
    const worker = find(manifests, 'Deployment', 'postrider-delivery');
    (at(worker, ...container)['env'] as Fields[]).push({ name: 'KAFKA_SASL_PASSWORD', value: 'x' });
  },
  'applying again undoes the scaling': (manifests) => {
    find(manifests, 'Deployment', 'postrider-router')['replicas'] = 2;
  },
  'the toolbox runs for ever': (manifests) => {
    find(manifests, 'Deployment', 'postrider-toolbox')['replicas'] = 1;
  },
};

for (const [mistake, make] of Object.entries(mistakes)) {
  testNeeding([programs.kustomize], `it is found that ${mistake}`, (kustomize) => {
    const manifests = structuredClone(render(kustomize, 'everything')) as Manifest[];
    make(manifests);
    assert.notDeepEqual(manifests, render(kustomize, 'everything'));
    assert.ok(isFound(manifests));
  });
}
