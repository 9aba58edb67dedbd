import { deliver, subscribedConsumer, work } from './kafkajs-consumer.ts';

/** As people write it then: so many messages of a batch at once. Argument 1 is its work as JSON. */
const consumer = await subscribedConsumer();
await consumer.run({
  eachBatch: async (payload) => {
    const { batch } = payload;
    for (let from = 0; from < batch.messages.length; from += work.inFlight) {
      const messages = batch.messages.slice(from, from + work.inFlight);
      await Promise.all(messages.map(deliver));
      payload.resolveOffset(messages.at(-1)?.offset ?? '');
      await payload.heartbeat();
    }
  },
});
