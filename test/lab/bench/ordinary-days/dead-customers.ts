import { setTimeout as delay } from 'node:timers/promises';
import { feltOn, type Day, type Felt, type Scene, type Trouble } from './day.ts';
import { startPacketDropper } from './packet-dropper.ts';
import { destinationOf, eventFor, metricOf, startPlatform, type Platform } from './platform.ts';

const lookMs = 500;

/** Endpoints of customers who are gone: they refuse connections. */
export const deadDomains: Day = {
  name: 'dead customers',
  live: (scene) =>
    besideUnreachable(scene, {
      what: '60 dead customers beside 40 healthy ones, 60 events a second for them',
      urls: Array.from({ length: 60 }, (_, index) => `http://127.2.${index + 1}.1:9/`),
      unreachableEventsPerSecond: 60,
      healthyEventsPerSecond: 100,
      aloneSeconds: 10,
      daySeconds: 30,
    }),
};

/** They drop packets, at night, when hardly anything is sent. */
export const packetDroppers: Day = {
  name: 'packet droppers',
  live: async (scene) => {
    const dropper = await startPacketDropper();
    try {
      return await besideUnreachable(scene, {
        what: '10 customers who drop packets beside 40 healthy ones, an event a minute for each',
        urls: Array.from(
          { length: 10 },
          (_, index) => `http://127.3.${index + 1}.1:${dropper.port}/`,
        ),
        unreachableEventsPerSecond: 10 / 60,
        healthyEventsPerSecond: 40 / 60,
        aloneSeconds: 30,
        daySeconds: 60,
      });
    } finally {
      dropper.close();
    }
  },
};

interface Unreachable {
  readonly what: string;
  readonly urls: readonly string[];
  readonly unreachableEventsPerSecond: number;
  readonly healthyEventsPerSecond: number;
  readonly aloneSeconds: number;
  readonly daySeconds: number;
}

async function besideUnreachable(scene: Scene, spec: Unreachable): Promise<Felt> {
  const { what, urls, aloneSeconds, daySeconds } = spec;
  const platform = await startPlatform(scene, {
    eventsPerSecond: spec.healthyEventsPerSecond,
    resources: () => urls.flatMap((url, index) => destinationOf(`dead-${index}`, url)),
  });
  const begin = (): Promise<Trouble> =>
    Promise.resolve(sendToDead(platform, urls.length, spec.unreachableEventsPerSecond));
  const felt = await feltOn(platform, { what, aloneSeconds, daySeconds, begin });
  await platform.close();
  return felt;
}

function sendToDead(platform: Platform, count: number, eventsPerSecond: number): Trouble {
  const { producer, topology, roles } = platform;
  const over = new AbortController();
  let cutOffMs = 0;
  const sending = (async () => {
    const startedMs = performance.now();
    let lookAtMs = startedMs;
    for (let sent = 0; !over.signal.aborted;) {
      const elapsedMs = performance.now() - startedMs;
      for (; sent < 1 + (elapsedMs * eventsPerSecond) / 1_000; sent += 1)
        producer.produce(
          eventFor(topology.topics.delivery, `dead-${sent % count}`),
          () => undefined,
        );
      if (performance.now() > lookAtMs) {
        lookAtMs += lookMs;
        if ((await metricOf(roles.delivery, 'postrider_cut_off')) > 0) cutOffMs += lookMs;
      }
      await delay(20);
    }
  })();
  return {
    end: async () => {
      over.abort();
      await sending;
      return {
        told: `cut off for ${(cutOffMs / 1_000).toFixed(1)} s`,
        isWell: cutOffMs === 0,
      };
    },
  };
}
