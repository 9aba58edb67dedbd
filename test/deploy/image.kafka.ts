import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readPage } from '../docs/pages.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { collect, failIfEnded } from '../harness/run-command.ts';
import { environmentOf } from './environment.ts';
import { buildImage, type Image } from './image.ts';
import { ourContainer, readManifests, workloadsOf, type Workload } from './manifest.ts';

/** What the image's containers run in these tests, with the variables that their manifest gives them. */
interface Pod {
  readonly process: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

const { brokers } = await testBroker();
const image = buildImage();
after(() => {
  image.remove();
});

const settings = {
  KAFKA_BROKERS: brokers.join(','),
  TOPIC_PREFIX: testPrefix(),
  TOPIC_PARTITIONS: '2',
  OPS_PORT: '0',
  GATEWAY_PORT: '0',
  LOG_FORMAT: 'json',
};

function workload(file: string): Workload {
  const [found] = workloadsOf(readManifests(`base/${file}`));
  assert.ok(found);
  return found;
}

/** As another user, for whom everything is read-only, and in any folder. */
function run(
  { environment, path, entrypoint, uid, gid }: Image,
  of: Workload,
  args?: string[],
): Pod {
  const container = ourContainer(of);
  const own = environmentOf([], { ...container, envFrom: [] });
  const env = { PATH: path, ...environment, ...settings, CRM_SECRET: 'teehee', ...own };
  const [program = '', ...first] = entrypoint;
  const user = process.getuid?.() === 0 ? { uid, gid } : {};
  const all = [...first, ...(args ?? container.args ?? [])];
  const child = spawn(program, all, { cwd: tmpdir(), env, ...user });
  return { process: child, stdout: collect(child.stdout), stderr: collect(child.stderr) };
}

async function ended({ process: child, stderr }: Pod): Promise<void> {
  const [code] = (await once(child, 'exit')) as [number | null];
  assert.equal(code, 0, stderr());
}

test('docs/production.md states how much the image adds to its base', () => {
  const [, stated] = /adds (\d+) MB to it/.exec(readPage('docs/production.md')) ?? [];
  const ratio = image.addedBytes / 1e6 / Number(stated);
  assert.ok(ratio > 0.97 && ratio < 1.03, `${stated ?? ''} MB stated, ${image.addedBytes} bytes`);
});

test('the image makes the topics', async () => {
  await ended(run(image, workload('topics.yaml')));
});

test('the image applies resources from a folder that Kubernetes mounts', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-mount-'));
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, '..2026_11_21'));
  const source = 'kind: Source\nid: shop\nname: Shop\nwriteKeys: [wk_1]\n';
  writeFileSync(join(folder, '..2026_11_21', 'shop.yaml'), source);
  symlinkSync('..2026_11_21', join(folder, '..data'));
  symlinkSync('..data/shop.yaml', join(folder, 'shop.yaml'));
  const job = workload('resources.yaml');
  const mounted = ourContainer(job).args?.map((arg) => (arg.startsWith('/etc/') ? folder : arg));
  const applied = run(image, job, mounted);
  await ended(applied);
  assert.match(applied.stdout(), /Source shop/i);
});

for (const role of ['gateway', 'router', 'delivery']) {
  test(`the image's ${role} is ready, and ends with 0 after SIGTERM`, async () => {
    const pod = run(image, workload(`${role}.yaml`));
    const url = await eventually(() => {
      failIfEnded(pod.process, pod.stderr());
      const found = /"ops":"([^"]+)"/.exec(pod.stderr())?.[1];
      if (found === undefined) throw new Error(`${role} has not started:\n${pod.stderr()}`);
      return found;
    });
    await eventually(async () => {
      const { status } = await fetch(`${url}/readyz`);
      assert.equal(status, 200, pod.stderr());
    });
    assert.equal((await fetch(`${url}/livez`)).status, 200);
    pod.process.kill('SIGTERM');
    await ended(pod);
  });
}
