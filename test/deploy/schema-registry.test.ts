import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { readSettings } from '../../src/settings/read.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { environmentOf } from './environment.ts';
import { ourContainer, podOf, workloadsOf } from './manifest.ts';
import { render } from './render.ts';

testNeeding(
  [programs.kustomize],
  'schema-registry-tls: the router reads the files of a Secret that is mounted, and speaks TLS',
  (kustomize) => {
    const manifests = render(kustomize, 'everything');
    const router = workloadsOf(manifests).find(
      ({ metadata }) => metadata.name === 'postrider-router',
    );
    assert.ok(router);
    const container = ourContainer(router);
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
    const volume = podOf(router).spec.volumes?.find(({ name }) => name === mount.name);
    assert.deepEqual(volume?.secret, { secretName: 'postrider-schema-registry-tls' });
    // Kafka's certificate stays where it was.
    assert.ok(volumeMounts.some(({ name }) => name === 'kafka-ca'));
  },
);
