import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findProgram, programs } from '../../harness/programs.ts';
import { parseManifests, podOf, workloadsOf, type Manifest } from '../../deploy/manifest.ts';
import { render, variants } from '../../deploy/render.ts';
import { ApiServer } from './server.ts';

/** Not part of `npm test`: building the server takes long. deploy/README.md has the command. */

let server: ApiServer;
const { kustomize, kedaCrds, prometheusCrds, strimziCrds } = programs;
const [kustomizePath = '', ...crdFolders] = [kustomize, kedaCrds, prometheusCrds, strimziCrds].map(
  (program) => {
    const path = findProgram(program);
    assert.ok(path, `${program.name} is missing: ${program.install}`);
    return path;
  },
);

before(async () => {
  server = await ApiServer.start();
  await server.define(
    crdFolders.flatMap((folder) =>
      readdirSync(folder).flatMap((name) =>
        parseManifests(readFileSync(join(folder, name), 'utf8')),
      ),
    ),
  );
});

after(() => server.stop());

for (const variant of variants) {
  test(`${variant}: an API server takes every object, without a warning, and the same again changes nothing`, async () => {
    for (const manifest of render(kustomizePath, variant)) {
      const { status, body, warnings } = await server.apply(manifest);
      const what = `${manifest.kind} ${manifest.metadata.name}`;
      assert.ok(status < 300, `${what}: ${body.message ?? status}`);
      assert.deepEqual(warnings, [], what);
      const again = await server.apply(manifest);
      assert.deepEqual(withoutVersion(again.body), withoutVersion(body), what);
    }
  });

  test(`${variant}: the namespace's pod security standard admits every pod`, async () => {
    for (const workload of workloadsOf(render(kustomizePath, variant))) {
      const { status, body, warnings } = await server.tryToCreate(podFrom(workload));
      assert.equal(status, 201, `${workload.metadata.name}: ${body.message ?? ''}`);
      assert.deepEqual(warnings, []);
    }
  });
}

/** The server counts writes of a claim that change nothing of it. */
function withoutVersion(stored: Manifest): object {
  const metadata = { ...stored.metadata, resourceVersion: '', managedFields: [] };
  return { ...stored, metadata };
}

function podFrom(workload: ReturnType<typeof workloadsOf>[number]): Manifest {
  const { metadata, spec } = podOf(workload);
  const { name, namespace = '' } = workload.metadata;
  // What the controller of a Deployment would leave to the default, too.
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, namespace }, spec };
  return structuredClone(pod);
}

test('the namespace refuses a pod that may become root, so the check above can fail', async () => {
  const [workload] = workloadsOf(render(kustomizePath, 'production'));
  assert.ok(workload);
  const pod = podFrom(workload);
  const { spec } = pod as unknown as { spec: { securityContext: Record<string, unknown> } };
  spec.securityContext['runAsNonRoot'] = false;
  const { status, body } = await server.tryToCreate(pod);
  assert.equal(status, 403);
  assert.match(body.message ?? '', /violates PodSecurity "restricted:latest".*runAsNonRoot/s);
});

test('a field that is misspelt, of another type or no network is refused', async () => {
  const spoilt = async (kind: string, right: string, wrong: string): Promise<string> => {
    const manifest = render(kustomizePath, 'production').find(
      (each) => each.kind === kind && JSON.stringify(each).includes(right),
    );
    assert.ok(manifest, right);
    const text = JSON.stringify(manifest).replace(right, wrong);
    const { status, body } = await server.apply(JSON.parse(text) as Manifest, true);
    assert.ok(status >= 400, text);
    return body.message ?? '';
  };
  assert.match(await spoilt('Deployment', '"livenessProbe"', '"livenesProbe"'), /livenesProbe/);
  assert.match(
    await spoilt('Deployment', '"minReadySeconds":10', '"minReadySeconds":"10"'),
    /numeric/,
  );
  assert.match(await spoilt('NetworkPolicy', '10.0.0.0/8', '300.0.0.0/8'), /valid CIDR/);
  assert.match(
    await spoilt('ScaledObject', '"lagThreshold":"', '"lagThreshold":1,"x":"'),
    /string/,
  );
  assert.match(await spoilt('KafkaUser', '"operations"', '"operation"'), /operation/);
});

test('a Job that differs is taken only after the one of before is deleted', async () => {
  const jobs = render(kustomizePath, 'production').filter(({ kind }) => kind === 'Job');
  assert.equal(jobs.length, 2);
  for (const job of jobs) {
    const next = JSON.parse(
      JSON.stringify(job).replace(
        /"image":"[^"]+"/,
        '"image":"registry.example.com/postrider:next"',
      ),
    ) as Manifest;
    const refused = await server.apply(next);
    assert.equal(refused.status, 422);
    assert.match(refused.body.message ?? '', /field is immutable/);
    assert.equal((await server.delete(job)).status, 200);
    assert.equal((await server.apply(next)).status, 201);
  }
});
