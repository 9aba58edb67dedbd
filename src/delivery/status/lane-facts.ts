import type { Endpoint } from '../lane/endpoint.ts';
import type { Lane } from '../lane/lane.ts';
import type { LaneState } from '../metrics.ts';
import type { DestinationFacts, UrlFacts } from './standing.ts';

/** What keeps a lane from taking more, as metrics tell it. */
export function laneState({ hold, endpoints, isSlow, waiting, rate }: Lane): LaneState {
  if (hold.isOn) return 'held';
  if (endpoints.availability !== 'yes') return 'open';
  if (isSlow) return 'slow';
  if (waiting.size === 0) return 'free';
  return rate.isReady ? 'waiting' : 'limited';
}

/** There is nothing to say of its state; for thousands of lanes once a second. */
export function isPlain({ endpoints, isSlow, waiting, hold }: Lane, nowMs: number): boolean {
  if (isSlow || waiting.size > 0 || hold.rowAt(nowMs) !== undefined || endpoints.troubled)
    return false;
  for (const { answers } of endpoints.all) if (answers.failuresInRow > 0) return false;
  return true;
}

export function factsOf(lane: Lane, nowMs: number): DestinationFacts {
  const { endpoints, hold, wasSaturated, isSlow, rate, waiting } = lane;
  return {
    configured: 'enabled',
    urls: endpoints.all.map(urlFacts),
    hold: hold.rowAt(nowMs),
    isSaturated: wasSaturated,
    isSlow,
    isLimited: rate.isLimited && !rate.isElsewhere && waiting.size > 0,
  };
}

function urlFacts({ answers, breaker }: Endpoint): UrlFacts {
  const { failuresInRow, failingSinceMs, last, lastMs } = answers;
  return {
    breaker: breaker?.state ?? 'closed',
    probeAtMs: breaker?.probeAtMs,
    failuresInRow,
    failingSinceMs,
    last,
    lastMs,
  };
}
