import type { TestContext } from 'node:test';
import {
  apiVersionsKey,
  metadataAnswer,
  metadataKey,
  startWireBroker,
  versionsAnswer,
} from './wire-broker.ts';

export interface OldBroker {
  /** The newest version of Metadata that it speaks. */
  readonly metadata: number;
  /** Of each topic, thirty-two hexadecimal digits. */
  readonly topicId: string;
  /** Of the leader of its partition 0. */
  readonly epoch?: number;
}

/** A broker that says which versions it speaks and describes the topic `t`, and answers nothing else. Its address. */
export async function startOldBroker(t: TestContext, broker: OldBroker): Promise<string> {
  return startWireBroker(t, ({ apiKey, port, framed }, socket) => {
    const { metadata, topicId, epoch } = broker;
    if (apiKey === apiVersionsKey)
      socket.write(framed(versionsAnswer({ [metadataKey]: metadata })));
    else if (apiKey === metadataKey) socket.write(framed(metadataAnswer(port, topicId, epoch)));
  });
}
