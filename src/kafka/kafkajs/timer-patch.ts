import { createRequire } from 'node:module';

interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests: (this: RequestQueue) => void;
}

/**
 * kafkajs 2.2.4 arms a timer per connection to look for requests that wait for a throttle to end, and
 * arms it again, with a negative delay, when there are none: a wake-up every millisecond for ever
 * (tulios/kafkajs#1751, #1556). Nothing is lost by not arming it then: each request that has to wait
 * arms it itself.
 */
export function stopIdleTimers(): void {
  if (isPatched) return;
  isPatched = true;
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/network/requestQueue') as {
    readonly prototype: RequestQueue;
  };
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0) schedule.call(this);
  };
}

let isPatched = false;
