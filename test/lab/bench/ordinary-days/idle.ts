import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startCluster } from '../../../../src/dev/broker.ts';
import { feltOn, type Day } from './day.ts';
import { destinationOf, dayRoles, must, startPlatform, type DayRole } from './platform.ts';

const dedicated = 20;
/** Customers do not come all at once. */
const inACommand = 4;
const dedicatedPartitions = 6;
const restMs = 10_000;
const established = '01';
/** As docs/production.md has them. */
const mostToABroker: Readonly<Record<DayRole, number>> = { gateway: 3, router: 5, delivery: 5 };

/** Twenty customers get a dedicated topic each, on three brokers. */
export const idleTopics: Day = {
  name: 'dedicated topics at rest',
  live: async (scene) => {
    const cluster = await startCluster(3);
    const { brokers } = cluster;
    const ports = brokers.map((broker) => Number(broker.split(':')[1]));
    const platform = await startPlatform({ ...scene, brokers }, { replicas: 3, partitions: 6 });
    const { postrider, endpoints } = platform;
    const felt = await feltOn(platform, {
      what: `${dedicated} dedicated topics of ${dedicatedPartitions} partitions are added, on three brokers`,
      daySeconds: 20,
      begin: async () => {
        const added = Array.from({ length: dedicated }, (_, index) =>
          destinationOf(`dedicated-${index}`, endpoints.url('127.1.0.1', 'other'), {
            topic: 'dedicated',
            partitions: dedicatedPartitions,
          }),
        );
        for (let at = 0; at < dedicated; at += inACommand) {
          const some = added.slice(at, at + inACommand).flat();
          await must(postrider, ['apply', '-f', '-'], some);
        }
        return {
          end: async () => {
            await delay(restMs);
            const held = dayRoles.map((role) => {
              const each = connectionsOf(platform.roles[role].pid, ports);
              return { role, each, isWell: Math.max(...each) <= mostToABroker[role] };
            });
            return {
              told: `connections to each broker: ${held.map(({ role, each }) => `${role} ${each.join(' + ')}`).join(', ')}`,
              isWell: held.every(({ isWell }) => isWell),
            };
          },
        };
      },
    });
    await platform.close();
    await cluster.stop();
    return felt;
  },
};

/** Open connections of a process to each of these ports, as Linux tells them. */
function connectionsOf(pid: number, ports: readonly number[]): number[] {
  const fds = `/proc/${pid}/fd`;
  const own = new Set(
    readdirSync(fds).map((fd) => {
      try {
        return readlinkSync(`${fds}/${fd}`);
      } catch {
        // Closed in between.
        return '';
      }
    }),
  );
  const counts = ports.map(() => 0);
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, , remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
    const at = ports.indexOf(Number.parseInt(remote.split(':')[1] ?? '', 16));
    if (at >= 0 && state === established && own.has(`socket:[${inode}]`))
      counts[at] = (counts[at] ?? NaN) + 1;
  }
  return counts;
}
