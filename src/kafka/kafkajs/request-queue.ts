import type { RequestQueue } from './network.ts';
import { ShortStayTable } from './short-stay-table.ts';

/**
 * kafkajs arms a timer per connection to look for requests that wait for a throttle to end, and arms it again,
 * with a negative delay, when there are none: a wake-up every millisecond for ever (tulios/kafkajs#1751,
 * #1556). Nothing is lost by not arming it then: each request that has to wait arms it itself.
 */
function needsTimer({ pending }: RequestQueue): boolean {
  return pending.length > 0;
}

/** For a queue of a kafkajs in which nothing is replaced. */
export function endIdleTimer(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests.bind(queue);
  queue.scheduleCheckPendingRequests = () => {
    if (needsTimer(queue)) schedule();
  };
}

/**
 * kafkajs keeps the requests that are not answered yet in a Map. It is filled and emptied with every fetch,
 * and so kept every answer, with all of its records, from the young collections: half of the collector's work
 * in a consumer.
 */
export function queueingCheaply(
  Original: new (...parameters: never[]) => RequestQueue,
): new (...parameters: never[]) => RequestQueue {
  return class extends Original {
    inflight = new ShortStayTable();

    override scheduleCheckPendingRequests(): void {
      if (needsTimer(this)) super.scheduleCheckPendingRequests();
    }
  };
}
