import { withAdmin } from '../../../../src/kafka/admin.ts';
import { feltOn, type Day } from './day.ts';
import { HealthyLoad } from './healthy-load.ts';
import { destinationOf, metricOf, startPlatform, writeKeyOf } from './platform.ts';

const id = 'dedicated';

/** Somebody deletes a dedicated topic whose destination has events. */
export const unwritableTopic: Day = {
  name: 'unwritable topic',
  live: async (scene) => {
    const platform = await startPlatform(scene, {
      resources: (endpoints) =>
        destinationOf(id, endpoints.url('127.1.0.1', 'other'), { topic: 'dedicated' }),
    });
    const { kafka, topology, roles, endpoints } = platform;
    const load = new HealthyLoad({
      gatewayUrl: roles.gateway.gatewayUrl,
      writeKeys: [writeKeyOf(id)],
      eventsPerSecond: 50,
    });
    const felt = await feltOn(platform, {
      what: 'the dedicated topic of a destination with 50 events a second is deleted',
      daySeconds: 40,
      begin: async () => {
        await withAdmin(kafka, (admin) => admin.deleteTopic(topology.dedicatedTopic(id).name));
        return {
          end: async () => {
            const unwritable = await metricOf(
              roles.router,
              'postrider_kafka_unwritable_partitions',
            );
            return {
              told: `unwritable partitions told: ${unwritable}; its destination had ${endpoints.requests.other} requests`,
              isWell: unwritable > 0,
            };
          },
        };
      },
    });
    await load.stop();
    await platform.close();
    return felt;
  },
};
