import { setTimeout as delay } from 'node:timers/promises';
import { readRange } from '../../../../src/kafka/read-range.ts';
import type { OutgoingRecord } from '../../../../src/kafka/record.ts';
import { feltOn, type Day, type Trouble } from './day.ts';
import { dayRoles, destinationOf, metricOf, startPlatform, type Platform } from './platform.ts';

const rotated = 2_000;
const versions = 168;
const configured = 50_000;
const recordsPerSecond = 8;
const chunk = 1_000;

/** Tokens that change every hour, for a week, until Kafka compacts the topic. */
export const configHistory: Day = {
  name: 'config history',
  live: async (scene) => {
    const what = `${rotated} destinations with ${versions} versions each while one more process of each role starts, against one version each`;
    const token = 't'.repeat(600);
    const resources = (): readonly object[] =>
      Array.from({ length: rotated }, (_, index) =>
        destinationOf(`rotated-${index}`, `https://hooks.customer-${index}.example.com/webhooks`, {
          webhooks: [
            {
              url: `https://hooks.customer-${index}.example.com/webhooks`,
              headers: { authorization: `Bearer ${token}${index}` },
            },
          ],
        }),
      ).flat();
    const alone = await startsBeside(
      await startPlatform({ ...scene, prefix: `${scene.prefix}short.` }, { resources }),
      what,
    );
    const day = await startsBeside(
      await startPlatform(
        { ...scene, prefix: `${scene.prefix}long.` },
        { resources, prepare: repeatConfig },
      ),
      what,
    );
    return {
      what,
      aloneP99Ms: alone.p99Ms,
      p99Ms: day.p99Ms,
      events: [day.events[0], alone.events[0]],
      told: `starts took ${day.told}, against ${alone.told}`,
      isWell: true,
    };
  },
};

async function startsBeside(platform: Platform, what: string): ReturnType<typeof feltOn> {
  const felt = await feltOn(platform, {
    what,
    aloneSeconds: 1,
    daySeconds: 20,
    begin: async () => {
      const startsMs: string[] = [];
      for (const role of dayRoles) {
        const startedMs = performance.now();
        await platform.start(role);
        startsMs.push(((performance.now() - startedMs) / 1_000).toFixed(1));
      }
      return { end: () => Promise.resolve({ told: `${startsMs.join(', ')} s` }) };
    },
  });
  await platform.close();
  return felt;
}

async function repeatConfig({
  kafka,
  topology,
  producer,
}: Pick<Platform, 'kafka' | 'topology' | 'producer'>): Promise<void> {
  const records = (await configRecords({ kafka, topology })).filter(isDestination);
  for (let version = 1; version < versions; version += 1)
    for (let at = 0; at < records.length; at += chunk)
      await producer.send(
        records.slice(at, at + chunk).map((record) => renamed(record, `in version ${version}`)),
      );
}

async function configRecords({
  kafka,
  topology,
}: Pick<Platform, 'kafka' | 'topology'>): Promise<OutgoingRecord[]> {
  const topic = topology.topics.config;
  const records: OutgoingRecord[] = [];
  for await (const { key, value } of readRange(kafka, { topic }))
    records.push({ topic, key: key?.toString() ?? null, value: value?.toString() ?? null });
  return records;
}

function isDestination({ key }: OutgoingRecord): boolean {
  return String(key).startsWith('Destination/');
}

/** Customers who change their settings, where there are very many of them. */
export const configArriving: Day = {
  name: 'config records',
  live: async (scene) => {
    const begunMs = performance.now();
    const platform = await startPlatform(scene, {
      resources: (endpoints) =>
        Array.from({ length: configured }, (_, index) =>
          destinationOf(
            `many-${index}`,
            endpoints.url(`127.${8 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`, 'other'),
          ),
        ).flat(),
    });
    scene.log(`applied and started within ${((performance.now() - begunMs) / 1_000).toFixed(0)} s`);
    const records = (await configRecords(platform)).filter(isDestination);
    const felt = await feltOn(platform, {
      what: `${recordsPerSecond} records of config a second, half of which change something, where there are ${configured} destinations`,
      isOverThen: true,
      begin: () => Promise.resolve(writeConfig(platform, records)),
    });
    await platform.close();
    return felt;
  },
};

function writeConfig({ producer, roles }: Platform, records: readonly OutgoingRecord[]): Trouble {
  let written = 0;
  const timer = setInterval(() => {
    const record = records[written % records.length];
    if (record === undefined) return;
    producer.produce(
      written % 2 === 0 ? record : renamed(record, `after ${written} changes`),
      () => undefined,
    );
    written += 1;
  }, 1_000 / recordsPerSecond);
  return {
    end: async () => {
      clearInterval(timer);
      await delay(500);
      const unread = await Promise.all(
        dayRoles.map((role) => metricOf(roles[role], 'postrider_config_not_followed')),
      );
      const sum = unread.reduce((all, one) => all + one, 0);
      return { told: `${written} records written, ${sum} of them not followed`, isWell: sum === 0 };
    },
  };
}

function renamed(record: OutgoingRecord, name: string): OutgoingRecord {
  const stored = JSON.parse(String(record.value)) as { readonly resource: object };
  return {
    ...record,
    value: JSON.stringify({ ...stored, resource: { ...stored.resource, name } }),
  };
}
