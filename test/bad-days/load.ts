import { Agent, request } from 'undici';
import type { Ledger } from '../harness/ledger.ts';

export interface LoadOptions {
  /** Where the gateway is now. */
  readonly url: () => string;
  readonly writeKey: string;
  readonly ledger: Ledger;
  /** Stands before every message id. */
  readonly name: string;
  readonly callsPerSecond: number;
  readonly users: readonly string[];
}

export interface Load {
  /** Sends nothing more; resolves when all that was sent has been answered. */
  stop(): Promise<void>;
}

const batchEveryMs = 100;
/** After a standstill of this process, the load does not make up for it in one request. */
const mostCalls = 50;

/**
 * A steady load through the gateway: one batch every 100 ms, whatever has become of the last one. What is
 * not accepted is not sent again; the next calls are other ones.
 */
export function startLoad(options: LoadOptions): Load {
  const { url, writeKey, ledger, name, callsPerSecond, users } = options;
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
  const agent = new Agent();
  const open = new Set<Promise<void>>();
  let sequence = 0;
  let lastMs = performance.now();

  const send = async (count: number): Promise<void> => {
    const batch = Array.from({ length: count }, () => {
      sequence += 1;
      const userId = users[sequence % users.length] ?? '';
      return { type: 'identify', messageId: `${name}-${sequence}`, userId };
    });
    const ids = batch.map(({ messageId }) => messageId);
    for (const { messageId, userId } of batch) ledger.sent(messageId, userId);
    try {
      const { statusCode, body } = await request(`${url()}/v1/batch`, {
        method: 'POST',
        headers: { authorization },
        body: JSON.stringify({ batch }),
        // Longer than a gateway waits for Kafka.
        headersTimeout: 15_000,
        dispatcher: agent,
      });
      await body.dump();
      if (statusCode === 200) ledger.accepted(ids, performance.now());
      else ledger.refused(ids);
    } catch {
      // The gateway is gone, and perhaps was when the call was written.
      ledger.refused(ids);
    }
  };

  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - lastMs) * callsPerSecond) / 1_000);
    if (due === 0) return;
    lastMs += (due * 1_000) / callsPerSecond;
    const sending = send(Math.min(due, mostCalls)).finally(() => open.delete(sending));
    open.add(sending);
  }, batchEveryMs);

  return {
    stop: async () => {
      clearInterval(timer);
      await Promise.all(open);
      await agent.close();
    },
  };
}
