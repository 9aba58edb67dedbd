import { setTimeout as delay } from 'node:timers/promises';
import { feltOn, type Day } from './day.ts';
import { destinationOf, eventFor, metricOf, must, startPlatform } from './platform.ts';

const paused = 20;
const eventsOfEach = 2_500;
const chunk = 1_000;
const mostWaitMs = 60_000;

/** After an outage, an operator resumes all destinations at once. */
export const resumeOfMany: Day = {
  name: 'resume',
  live: async (scene) => {
    const ids = Array.from({ length: paused }, (_, index) => `paused-${index}`);
    const total = paused * eventsOfEach;
    const platform = await startPlatform(scene, {
      resources: (endpoints) =>
        ids.flatMap((id, index) => destinationOf(id, endpoints.url(`127.1.0.${index}`, 'other'))),
    });
    const { postrider, producer, topology, roles, endpoints } = platform;
    for (const id of ids) await must(postrider, ['pause', id]);
    for (let sent = 0; sent < total; sent += chunk)
      await producer.send(
        Array.from({ length: chunk }, (_, n) =>
          eventFor(topology.topics.delivery, ids[(sent + n) % paused] ?? ''),
        ),
      );
    await until(async () => {
      const kept = await metricOf(roles.delivery, 'postrider_kept_events_total');
      return kept + endpoints.requests.other >= total;
    });
    const before = endpoints.requests.other;
    const felt = await feltOn(platform, {
      what: `resume of ${paused} destinations with ${eventsOfEach} kept events each, at the usual rate`,
      daySeconds: 15,
      isOverThen: true,
      begin: () => {
        const startedMs = performance.now();
        const resume = postrider.begin(['resume', '--all', '--yes']);
        const arrived = until(() => endpoints.requests.other >= total).then(
          () => performance.now() - startedMs,
        );
        return Promise.resolve({
          end: async () => {
            const { code, stderr } = await resume.ended;
            const tookMs = await arrived;
            const resumed = endpoints.requests.other - before;
            const perSecond = (resumed * 1_000) / tookMs;
            return {
              told: `${resumed} of ${total - before} kept events arrived, ${perSecond.toFixed(0)} a second${code === 0 ? '' : `; the command failed: ${stderr}`}`,
              isWell: code === 0 && resumed >= total - before,
            };
          },
        });
      },
    });
    await platform.close();
    return felt;
  },
};

/** Waits for a condition, or until it is no use to wait. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + mostWaitMs;
  while (!(await isSo()) && performance.now() < giveUpAtMs) await delay(50);
}
