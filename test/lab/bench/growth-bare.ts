import { once } from 'node:events';
import { tuneGarbageCollection } from '../../../src/ops/process.ts';
import { startBareDelivery } from './delivery-bare.ts';
import { loadTopology } from './delivery-load.ts';
import type { RoleWork, StandRole } from './stand.ts';

/** In place of a stand's delivery role: our client, and the least that can be called a delivery. */
const [load] = (await once(process, 'message')) as [StandRole];
tuneGarbageCollection();
const receiverPort = Number(new URL(load.destinations[0]?.url ?? '').port);
const group = loadTopology(load.prefix, load.topology).groups.delivery;
const bare = { ...load, group, receiverPort, inFlight: 256 };
const loop = startBareDelivery(bare, load.topology);
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const work: RoleWork = { delivered: loop.delivered, cpuUs: user + system };
  process.send?.(work);
});
process.on('disconnect', () => {
  process.exit();
});
process.stdout.write('ready\n');
