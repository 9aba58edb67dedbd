import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { readSettings } from '../../src/settings/read.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { environmentOf } from './environment.ts';
import { ourContainer, podOf, workloadsOf } from './manifest.ts';
import { render, renderEdited, takeAllIn } from './render.ts';

const overlay = 'overlays/production/kustomization.yaml';

/** Who reads typed records: the router, and `postrider explain`, which has to read them as the router does. */
const readers = ['postrider-router', 'postrider-toolbox', 'postrider-console'];

testNeeding(
  [programs.kustomize],
  'schema-registry-tls: who reads typed records reads the files of a Secret that is mounted, and speaks TLS',
  (kustomize) => {
    const manifests = render(kustomize, 'everything');
    const workloads = workloadsOf(manifests);
    const withRegistry = workloads.filter((each) =>
      ourContainer(each).env?.some(({ name }) => name === 'SCHEMA_REGISTRY_URL'),
    );
    assert.deepEqual(withRegistry.map(({ metadata }) => metadata.name).sort(), readers.toSorted());
    for (const workload of withRegistry) {
      const container = ourContainer(workload);
      const settings = readSettings(environmentOf(manifests, container));
      assert.equal(settings.schemaRegistryUrl, 'https://schema-registry:8081');
      const { volumeMounts = [] } = container;
      const mount = volumeMounts.find(({ name }) => name === 'schema-registry-tls');
      assert.equal(mount?.readOnly, true);
      const files = [
        settings.schemaRegistrySslCaFile,
        settings.schemaRegistrySslCertFile,
        settings.schemaRegistrySslKeyFile,
      ];
      for (const file of files) assert.equal(dirname(String(file)), mount.mountPath);
      const volume = podOf(workload).spec.volumes?.find(({ name }) => name === mount.name);
      assert.deepEqual(volume?.secret, { secretName: 'postrider-schema-registry-tls' });
      // Kafka's certificate stays where it was.
      assert.ok(volumeMounts.some(({ name }) => name === 'kafka-ca'));
    }
  },
);

testNeeding(
  [programs.kustomize],
  'schema-registry: without TLS, the same roles have its address',
  (kustomize) => {
    const manifests = renderEdited(kustomize, [
      takeAllIn,
      { file: overlay, from: /^.*schema-registry-tls.*\n/m, to: '' },
    ]);
    for (const name of readers) {
      const workload = workloadsOf(manifests).find(({ metadata }) => metadata.name === name);
      assert.ok(workload);
      const settings = readSettings(environmentOf(manifests, ourContainer(workload)));
      assert.equal(settings.schemaRegistryUrl, 'http://schema-registry:8081');
    }
  },
);
