import { createRequire } from 'node:module';
import kafkajs from 'kafkajs';
import { registerCodecs } from '../../src/kafka/kafkajs/codecs.ts';

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

/** All codecs, and no timers that are armed for nothing: otherwise as it comes. */
registerCodecs(kafkajs);
const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/requestQueue') as {
  readonly prototype: RequestQueue;
};
const schedule = prototype.scheduleCheckPendingRequests;
prototype.scheduleCheckPendingRequests = function () {
  if (this.pending.length > 0) schedule.call(this);
};

export { default } from 'kafkajs';
