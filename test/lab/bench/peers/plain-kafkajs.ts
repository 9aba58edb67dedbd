import { deliver, subscribedConsumer } from './kafkajs-consumer.ts';

/** A consumer as people write it first: one message after the other. Argument 1 is its work as JSON. */
const consumer = await subscribedConsumer();
await consumer.run({
  eachMessage: async ({ message }) => {
    await deliver(message);
  },
});
