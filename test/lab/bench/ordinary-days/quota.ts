import { execFile as execFileWithCallback } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startCluster } from '../../../../src/dev/broker.ts';
import { kafkaJars } from '../../../../src/dev/kafka-jars.ts';
import { ensureTopics } from '../../../../src/kafka/admin.ts';
import { createKafka } from '../../../../src/kafka/client.ts';
import { createProducer } from '../../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../../src/kafka/record.ts';
import { silentLogger } from '../../../../src/ops/log.ts';
import { feltOn, type Day, type Felt, type Scene } from './day.ts';
import type { DayEndpoints } from './endpoints.ts';
import { destinationOf, eventFor, metricOf, startPlatform, type Platform } from './platform.ts';

const execFile = promisify(execFileWithCallback);
const mostWaitMs = 60_000;
const othersClientId = 'others';
const othersBytesPerSecond = 500_000;
const workersBytesPerSecond = 60_000;
const othersRecordBytes = 5_000;
const backlog = 20_000;

/** Another client of the brokers is throttled, and then a quota throttles the roles themselves. */
export const quotas: Day = {
  name: 'quotas',
  live: async (scene) => {
    const cluster = await startCluster(1);
    const beside = { ...scene, brokers: cluster.brokers };
    const felt = [
      await othersThrottled({ ...beside, prefix: `${scene.prefix}others.` }),
      await rolesThrottled({ ...beside, prefix: `${scene.prefix}roles.` }),
    ];
    await cluster.stop();
    return felt;
  },
};

async function othersThrottled(scene: Scene): Promise<Felt> {
  const [broker = ''] = scene.brokers;
  await setQuota(broker, othersClientId, 'producer_byte_rate', othersBytesPerSecond);
  const platform = await startPlatform(scene);
  const kafka = createKafka({ brokers: scene.brokers, clientId: othersClientId }, silentLogger);
  const topic = `${scene.prefix}of-others`;
  await ensureTopics(kafka, [{ name: topic, partitions: 6, replicationFactor: 1, config: {} }]);
  const producer = await createProducer(kafka, { log: silentLogger });
  const felt = await feltOn(platform, {
    what: `another client of the same broker writes more than its quota of ${othersBytesPerSecond / 1_000} kB/s`,
    isOverThen: true,
    begin: () => {
      let written = 0;
      const over = new AbortController();
      const writing = (async () => {
        while (!over.signal.aborted) {
          const value = randomBytes(othersRecordBytes);
          await producer.send(Array.from({ length: 100 }, () => ({ topic, key: null, value })));
          written += 100;
        }
      })();
      return Promise.resolve({
        end: async () => {
          over.abort();
          await writing;
          return { told: `the other client wrote ${written} records` };
        },
      });
    },
  });
  await producer.close(1_000);
  await platform.close();
  return felt;
}

async function rolesThrottled(scene: Scene): Promise<Felt> {
  const [broker = ''] = scene.brokers;
  const rolesClientId = `postrider-${hostname()}`;
  const platform = await startPlatform(scene, otherDestination);
  const { roles, endpoints, producer } = platform;
  const felt = await feltOn(platform, {
    what: `the roles have a quota of ${workersBytesPerSecond / 1_000} kB/s for reading, and a backlog of ${backlog} events`,
    begin: async () => {
      await setQuota(broker, rolesClientId, 'consumer_byte_rate', workersBytesPerSecond);
      await producer.send(eventsOf(platform, backlog));
      return {
        end: async () => {
          const name = 'postrider_kafka_throttled_seconds_total';
          const seconds = await Promise.all(
            [roles.router, roles.delivery].map((role) => metricOf(role, name)),
          );
          const isLogged = roles.delivery.log().includes('because it is beyond a quota');
          await setQuota(broker, rolesClientId, 'consumer_byte_rate', undefined);
          const giveUpAtMs = performance.now() + mostWaitMs;
          while (endpoints.requests.other < backlog && performance.now() < giveUpAtMs)
            await delay(50);
          const [ofRouter = NaN, ofWorker = NaN] = seconds;
          return {
            told: `throttled for ${ofRouter.toFixed(1)} s (router) and ${ofWorker.toFixed(1)} s (worker) by the metric, ${isLogged ? 'said' : 'not said'} in the worker's log; ${endpoints.requests.other} of the backlog arrived`,
            isWell: ofWorker > 0 && isLogged && endpoints.requests.other >= backlog,
          };
        },
      };
    },
  });
  await platform.close();
  return { ...felt, hasBar: false };
}

const otherDestination = {
  resources: (endpoints: DayEndpoints): readonly object[] =>
    destinationOf('other', endpoints.url('127.1.0.1', 'other')),
};

function eventsOf({ topology }: Platform, count: number): OutgoingRecord[] {
  return Array.from({ length: count }, () => eventFor(topology.topics.delivery, 'other'));
}

/** By the tool that an operator has for it. */
async function setQuota(
  broker: string,
  clientId: string,
  name: string,
  bytesPerSecond: number | undefined,
): Promise<void> {
  const change =
    bytesPerSecond === undefined
      ? ['--delete-config', name]
      : ['--add-config', `${name}=${bytesPerSecond}`];
  const entity = ['--entity-type', 'clients', '--entity-name', clientId];
  const jars = join(await kafkaJars(), '*');
  const tool = ['-Xmx128m', '-cp', jars, 'kafka.admin.ConfigCommand'];
  await execFile('java', [...tool, '--bootstrap-server', broker, '--alter', ...entity, ...change]);
}
