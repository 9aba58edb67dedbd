import { install, type Installation } from '../../../harness/postrider.ts';
import { spawnCommand } from '../../../harness/run-command.ts';
import { roleArgv } from '../measure.ts';
import { secret, writeKey } from './events.ts';
import { RunningPeer, type Peer, type PeerDestination } from './peer.ts';

export const partitions = 12;

/** Postrider as an operator starts it, with all that it does by default, such as to write every attempt down. */
export const postrider: Peer = {
  name: 'Postrider',
  start: async ({ prefix, reads, inFlight, inFlightPerDestination, caFile }) => {
    const { environment } = await installed(prefix);
    const env = {
      ...environment,
      NODE_ENV: 'production',
      NODE_OPTIONS: roleArgv.join(' '),
      NODE_EXTRA_CA_CERTS: caFile,
      // One destination may have a quarter of all slots, and is to have as many requests in flight as elsewhere.
      DELIVERY_MAX_IN_FLIGHT: String(Math.max(inFlight, 4 * inFlightPerDestination)),
      DELIVERY_MAX_IN_FLIGHT_PER_DESTINATION: String(inFlightPerDestination),
    };
    const roles = reads === 'calls' ? ['router', 'delivery'] : ['delivery'];
    return new RunningPeer(roles.map((role) => spawnCommand([role], env)));
  },
};

/**
 * Topics, and the destinations that all peers deliver to.
 * @param batchOf events in a request; one without it
 */
export async function prepareTopics(
  prefix: string,
  destinations: readonly PeerDestination[],
  batchOf?: number,
): Promise<void> {
  const installation = await installed(prefix);
  await succeed(installation, ['topics', '--create']);
  const resources = [
    { kind: 'Source', id: 'bench', name: 'Bench', writeKeys: [writeKey] },
    ...destinations.map(({ id, url }) => ({
      kind: 'Destination',
      id,
      name: id,
      sources: ['bench'],
      sharedSecret: secret,
      webhooks: [{ url }],
      batch: batchOf === undefined ? undefined : { events: batchOf },
    })),
  ];
  await succeed(installation, ['apply', '-f', '-'], JSON.stringify(resources));
}

function installed(prefix: string): Promise<Installation> {
  return install({
    TOPIC_PREFIX: prefix,
    TOPIC_PARTITIONS: String(partitions),
    RETRY_TIERS: '10s,1m,5m,15m,30m,1h',
  });
}

async function succeed(
  installation: Installation,
  args: readonly string[],
  stdin: string = '',
): Promise<void> {
  const { code, stderr } = await installation.run(args, { stdin });
  if (code !== 0) throw new Error(`postrider ${args.join(' ')} failed:\n${stderr}`);
}
