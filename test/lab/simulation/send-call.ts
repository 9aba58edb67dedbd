import { writeKeyHeader } from '../../../src/event/headers.ts';
import { writeKey, type SimulatedDeployment } from './deployment.ts';
import type { Ledger } from './ledger.ts';

/** Writes the call with that number to `ingest`, and enters it into the ledger. Returns its message id. */
export async function sendCall(
  deployment: SimulatedDeployment,
  ledger: Ledger,
  n: number,
  user: string,
): Promise<string> {
  const { time, topology } = deployment;
  const messageId = `m${n}`;
  const call = {
    messageId,
    user,
    producedMs: time.nowMs,
    acceptedMs: undefined as number | undefined,
  };
  ledger.calls.set(messageId, call);
  await deployment.write({
    topic: topology.topics.ingest,
    key: user,
    value: JSON.stringify({
      type: 'track',
      messageId,
      userId: user,
      event: 'Bought',
      properties: { n },
    }),
    headers: { [writeKeyHeader]: writeKey },
  });
  call.acceptedMs = time.nowMs;
  return messageId;
}
