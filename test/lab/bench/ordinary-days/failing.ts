import { setTimeout as delay } from 'node:timers/promises';
import { feltOn, type Day } from './day.ts';
import { destinationOf, eventFor, metricOf, startPlatform } from './platform.ts';

const failing = 2_000;
const eventsOfEach = 5;
const dedicated = 30;
const dedicatedPartitions = 12;
const backlogOfEach = 1_000;
const chunk = 500;
const chunkEveryMs = 500;

/** Many customers whose endpoints answer 503. */
export const failingDestinations: Day = {
  name: 'failing destinations',
  live: async (scene) => {
    const platform = await startPlatform(scene, {
      resources: (endpoints) =>
        Array.from({ length: failing }, (_, index) =>
          destinationOf(
            `failing-${index}`,
            endpoints.url(`127.1.${index >> 8}.${index & 255}`, 'failing'),
          ),
        ).flat(),
    });
    const { producer, topology, roles, endpoints } = platform;
    const felt = await feltOn(platform, {
      what: `${failing} destinations that answer 503, ${eventsOfEach} events for each within ${(failing * eventsOfEach * chunkEveryMs) / chunk / 1_000} s`,
      begin: () => {
        let sent = 0;
        const timer = setInterval(() => {
          for (const end = sent + chunk; sent < end && sent < failing * eventsOfEach; sent += 1)
            producer.produce(
              eventFor(topology.topics.delivery, `failing-${sent % failing}`),
              () => undefined,
            );
        }, chunkEveryMs);
        return Promise.resolve({
          end: async () => {
            clearInterval(timer);
            const heapMb = await heapMbOf(roles.delivery);
            return {
              told: `${endpoints.requests.failing} requests answered 503; heap ${heapMb} MB`,
            };
          },
        });
      },
    });
    await platform.close();
    return felt;
  },
};

/** Dedicated topics that have more than their endpoints take. */
export const dedicatedBacklogs: Day = {
  name: 'dedicated backlogs',
  live: async (scene) => {
    const ids = Array.from({ length: dedicated }, (_, index) => `dedicated-${index}`);
    const platform = await startPlatform(scene, {
      resources: (endpoints) =>
        ids.flatMap((id, index) =>
          destinationOf(id, endpoints.url(`127.1.0.${index}`, 'slow'), {
            topic: 'dedicated',
            partitions: dedicatedPartitions,
          }),
        ),
    });
    const { producer, topology, roles, endpoints } = platform;
    const felt = await feltOn(platform, {
      what: `${dedicated} dedicated topics of ${dedicatedPartitions} partitions with ${backlogOfEach} events each, whose endpoints take a second for one`,
      begin: async () => {
        for (let sent = 0; sent < backlogOfEach; sent += chunk)
          for (const id of ids) {
            await producer.send(
              Array.from({ length: chunk }, () => eventFor(topology.dedicatedTopic(id).name, id)),
            );
            await delay(chunkEveryMs / 4);
          }
        return {
          end: async () => {
            const left = dedicated * backlogOfEach - endpoints.requests.slow;
            const heapMb = await heapMbOf(roles.delivery);
            return { told: `${left} of them left at the end; heap ${heapMb} MB`, isWell: left > 0 };
          },
        };
      },
    });
    await platform.close();
    return felt;
  },
};

async function heapMbOf(role: Parameters<typeof metricOf>[0]): Promise<string> {
  return ((await metricOf(role, 'nodejs_heap_size_used_bytes')) / 1e6).toFixed(0);
}
