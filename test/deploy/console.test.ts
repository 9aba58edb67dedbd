import assert from 'node:assert/strict';
import { readSettings } from '../../src/settings/read.ts';
import { consoleEnvironment } from '../lab/bench/measure.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { environmentOf } from './environment.ts';
import { ourContainer, podOf, workloadsOf, type Manifest } from './manifest.ts';
import { render } from './render.ts';

interface Labelled extends Manifest {
  readonly spec: {
    readonly replicas?: number;
    readonly strategy?: { readonly type: string };
    readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly selector?: Readonly<Record<string, string>>;
  };
}

testNeeding(
  [programs.kustomize],
  'console: one pod that people log in to, with its index on a volume and a wall around it',
  (kustomize) => {
    const manifests = render(kustomize, 'everything');
    const of = (kind: string): Labelled => {
      const found = manifests.find(
        (each) => each.kind === kind && each.metadata.name === 'postrider-console',
      );
      assert.ok(found, kind);
      return found as Labelled;
    };
    const { replicas, strategy } = of('Deployment').spec;
    assert.deepEqual([replicas, strategy?.type], [1, 'Recreate']);
    const workload = workloadsOf(manifests).find(
      ({ metadata }) => metadata.name === 'postrider-console',
    );
    assert.ok(workload);
    const container = ourContainer(workload);
    const key = Buffer.alloc(32, 1).toString('base64');
    const environment = environmentOf(manifests, container);
    for (const [name, value] of Object.entries(consoleEnvironment))
      assert.equal(environment[name], value);
    const settings = readSettings({
      ...environment,
      CONSOLE_SESSION_KEY: key,
      CONSOLE_OIDC_CLIENT_SECRET: 'secret',
    });
    assert.equal(settings.consoleHost, '0.0.0.0');
    assert.ok(settings.consoleOidcIssuer !== undefined && settings.consoleUrl !== undefined);
    const { volumeMounts = [] } = container;
    const index = volumeMounts.find(({ mountPath }) => mountPath === settings.consoleDataDir);
    const volume = podOf(workload).spec.volumes?.find(({ name }) => name === index?.name);
    assert.deepEqual(volume?.persistentVolumeClaim, { claimName: 'postrider-console' });
    of('PersistentVolumeClaim');
    const label = { 'app.kubernetes.io/name': 'postrider-console' };
    assert.deepEqual(of('NetworkPolicy').spec.podSelector?.matchLabels, label);
    assert.deepEqual(of('Service').spec.selector, label);
  },
);
