import { startBareDelivery } from './delivery-bare.ts';
import type { DeliveryLoad } from './delivery-load.ts';
import { reportMeasurement } from './measure.ts';

/** Deliveries with this project's client. Argument 1 is the load as JSON; prints a measurement as JSON. */
const load = JSON.parse(process.argv[2] ?? '') as DeliveryLoad;
const loop = startBareDelivery(load);
await reportMeasurement({ warmUp: load.warmUp, total: load.events }, () => loop.delivered);
