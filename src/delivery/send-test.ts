import { randomUUID } from 'node:crypto';
import { bodyMakerOf } from '../event/body-shape.ts';
import type { Call } from '../event/call.ts';
import type { Destination } from '../resources/resource.ts';
import { openSender, type SenderSettings } from './http/http-sender.ts';
import type { Outcome } from './outcome.ts';
import { PreparedDestination } from './prepared-destination.ts';

export interface TestAnswer {
  /** Without credentials and query. */
  readonly publicUrl: string;
  readonly outcome: Outcome;
  readonly tookMs: number;
}

/** The message to send. */
export interface TestMessage {
  readonly messageId: string;
  readonly body: string;
}

/** Sends a message to each URL of a destination, exactly as a delivery does, and waits for the answers. */
export async function sendTest(
  destination: Destination,
  message: TestMessage,
  options: SenderSettings,
): Promise<readonly TestAnswer[]> {
  const sender = openSender(options);
  const { messageId } = message;
  const body = Buffer.from(message.body);
  const prepared = new PreparedDestination(destination);
  const headers = prepared.headersOf(messageId, body, options.clock.now());
  const answers = prepared.endpoints.map(
    (endpoint, index) =>
      new Promise<TestAnswer>((resolve) => {
        const settled = (outcome: Outcome, _index: number, tookMs: number): void => {
          resolve({ publicUrl: endpoint.publicUrl, outcome, tookMs });
        };
        const mayFollow = (): boolean => false;
        sender.send({ body, headers, messageId, mayFollow, settled }, endpoint, index);
      }),
  );
  return Promise.all(answers).finally(() => sender.close());
}

/** @param timestamp ISO 8601 */
export function testEvent(destination: Destination, timestamp: string): TestMessage {
  const messageId = `test-${randomUUID()}`;
  const userId = 'postrider-test';
  const event = 'Postrider Test';
  const properties = { test: true };
  const fields = { type: 'track', messageId, userId, event, properties, timestamp };
  const call: Call = { type: 'track', messageId, userId, timestamp, fields };
  return { messageId, body: bodyMakerOf(destination).build(call) };
}
