import type { RequestQueue } from './network.ts';
import { ShortStayTable } from './short-stay-table.ts';

/**
 * kafkajs sets a timer for each connection to look for requests that wait for a throttle to end, and sets it
 * again, with a negative delay, when there are none: the process wakes up every millisecond without end
 * (tulios/kafkajs#1751, #1556). Nothing is lost by not setting it then, because each request that has to wait
 * sets it itself.
 */
function needsTimer({ pending }: RequestQueue): boolean {
  return pending.length > 0;
}

/** For a queue of a kafkajs without replaced modules. */
export function endIdleTimer(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests.bind(queue);
  queue.scheduleCheckPendingRequests = () => {
    if (needsTimer(queue)) schedule();
  };
}

/**
 * kafkajs keeps unanswered requests in a Map. It is filled and emptied with every fetch, and so kept every
 * answer, with all of its records, from young collections, which was a large part of the collector's work in
 * a consumer.
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
