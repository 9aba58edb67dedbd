import assert from 'node:assert/strict';
import { readSettings } from '../../src/settings/read.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { environmentOf } from './environment.ts';
import { ourContainer, podOf, workloadsOf, type Manifest } from './manifest.ts';
import { render } from './render.ts';

const label = { 'app.kubernetes.io/name': 'postrider-api' };

testNeeding(
  [programs.kustomize],
  'api: two pods on two nodes, of which one always answers, and whoever calls needs a token',
  (kustomize) => {
    const manifests = render(kustomize, 'everything');
    const specOf = (kind: string, name = 'postrider-api'): unknown => {
      const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
      assert.ok(found, `${kind} ${name}`);
      return (found as Manifest & { readonly spec: unknown }).spec;
    };
    assert.equal((specOf('Deployment') as { replicas: number }).replicas, 2);
    assert.deepEqual(specOf('PodDisruptionBudget'), {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: label },
    });
    const workload = workloadsOf(manifests).find(
      ({ metadata }) => metadata.name === 'postrider-api',
    );
    assert.ok(workload);
    const { spec } = podOf(workload);
    assert.deepEqual((spec as { topologySpreadConstraints?: unknown }).topologySpreadConstraints, [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: label },
      },
    ]);
    const container = ourContainer(workload);
    assert.deepEqual((container as { lifecycle?: unknown }).lifecycle, {
      preStop: { sleep: { seconds: 5 } },
    });
    const environment = environmentOf(manifests, container);
    const settings = readSettings(environment);
    assert.equal(settings.apiHost, '0.0.0.0');
    // Beside the heap there are buffers, code and Node itself, in 512 MB.
    assert.match(environment['NODE_OPTIONS'] ?? '', /--max-old-space-size=300\b/);
    const { volumeMounts = [] } = container;
    const tokens = volumeMounts.find(
      ({ mountPath }) => settings.apiTokensFile === `${mountPath}/tokens.yaml`,
    );
    const volume = spec.volumes?.find(({ name }) => name === tokens?.name);
    assert.deepEqual(volume?.secret, { secretName: 'postrider-api-tokens' });
    assert.deepEqual(specOf('NetworkPolicy', 'postrider-console-to-api'), {
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'postrider-console' } },
      policyTypes: ['Egress'],
      egress: [
        {
          to: [{ podSelector: { matchLabels: label } }],
          ports: [{ protocol: 'TCP', port: 'http' }],
        },
      ],
    });
  },
);
