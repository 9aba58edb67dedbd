import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startBroker, startCluster } from '../../src/dev/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { KafkaView } from '../harness/kafka-view.ts';

async function listens(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host);
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

test('a broker ends with its parent even when the parent is killed', async () => {
  const program = `
    const { startBroker } = await import('${new URL('../../src/dev/broker.ts', import.meta.url).href}');
    console.log((await startBroker()).brokers[0]);
    setInterval(() => {}, 60_000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const address = line.toString().trim();
  assert.ok(await listens(address));

  parent.kill('SIGKILL');
  await eventually(async () => {
    assert.equal(await listens(address), false);
  });
});

test('a data folder is used again by the next broker', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(dataDir, { recursive: true }));
  for (let start = 0; start < 2; start += 1) {
    const broker = await startBroker({ dataDir });
    assert.ok(await listens(broker.brokers[0] ?? ''));
    await broker.stop();
    assert.equal(await listens(broker.brokers[0] ?? ''), false);
  }
});

test('a data folder that another broker uses is refused before anything is written', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(dataDir, { recursive: true }));
  // A process that is certainly alive and not this one.
  await writeFile(join(dataDir, 'used-by'), `${process.ppid}\n`);
  await assert.rejects(startBroker({ dataDir }), {
    code: 'broker-unavailable',
    message: `the data folder ${dataDir} is used by process ${process.ppid}; end it or name another`,
  });
  assert.deepEqual(await readdir(dataDir), ['used-by']);
});

test('a cluster says when a broker ends without being stopped', async () => {
  const cluster = await startCluster(1);
  await cluster.kill(1);
  await cluster.ended;
  await cluster.stop();
});

test('a broker listens where no outgoing connection can take its place while it is down', async () => {
  const cluster = await startCluster(1);
  const ports = cluster.brokers.map((address) => Number(address.split(':').at(-1)));
  await cluster.stop();
  // Linux gives those from 32,768 on to outgoing connections, others give higher ones.
  for (const port of ports) assert.ok(port < 32_768, `${port} may be given to anybody`);
});

test('a broker that is restarted keeps what it has, also where the data is temporary', async (t) => {
  const cluster = await startCluster(1);
  t.after(() => cluster.stop());
  const kafka = new KafkaView(cluster.brokers, '');
  await kafka.ask((admin) => admin.createTopics({ topics: [{ topic: 'kept' }] }));
  await cluster.restart(1);
  await cluster.restart(1);
  assert.deepEqual(await kafka.ask((admin) => admin.listTopics()), ['kept']);
});
