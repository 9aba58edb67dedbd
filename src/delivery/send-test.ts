import { randomUUID } from 'node:crypto';
import { buildBody } from '../event/body.ts';
import type { Call } from '../event/call.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Destination } from '../resources/resource.ts';
import { AddressGuard } from './http/address-guard.ts';
import { HttpSender } from './http/http-sender.ts';
import { CachingResolver } from './http/name-resolver.ts';
import type { Outcome } from './outcome.ts';
import { PreparedDestination } from './prepared-destination.ts';

export interface TestOptions {
  readonly clock: SteadyClock;
  readonly timeoutMs: number;
  /** CIDRs that the address guard lets through although they are not public. */
  readonly allowNetworks: readonly string[];
}

export interface TestAnswer {
  /** Without credentials and query. */
  readonly publicUrl: string;
  readonly outcome: Outcome;
  readonly tookMs: number;
}

/** Sends one event to each URL of a destination, exactly as a delivery does, and waits for the answers. */
export async function sendTestEvent(
  destination: Destination,
  options: TestOptions,
): Promise<readonly TestAnswer[]> {
  const { clock, timeoutMs } = options;
  const sender = new HttpSender({
    guard: new AddressGuard(options.allowNetworks),
    resolver: new CachingResolver(clock),
    clock,
    timeoutMs,
  });
  const call = testCall(new Date(clock.now()).toISOString());
  const body = Buffer.from(buildBody(call, destination.payload));
  const prepared = new PreparedDestination(destination);
  const { messageId } = call;
  const common = { body, messageId, idempotencyHeader: destination.idempotencyHeader };
  const answers = prepared.endpoints.map(
    (endpoint, index) =>
      new Promise<TestAnswer>((resolve) => {
        const settled = (outcome: Outcome, _index: number, tookMs: number): void => {
          resolve({ publicUrl: endpoint.publicUrl, outcome, tookMs });
        };
        sender.send({ ...common, signature: prepared.sign(body), settled }, endpoint, index);
      }),
  );
  return Promise.all(answers).finally(() => sender.close());
}

function testCall(timestamp: string): Call {
  const messageId = `test-${randomUUID()}`;
  const userId = 'postrider-test';
  const event = 'Postrider Test';
  const properties = { test: true };
  const fields = { type: 'track', messageId, userId, event, properties, timestamp };
  return { type: 'track', messageId, userId, timestamp, fields };
}
