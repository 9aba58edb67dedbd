import type { Endpoint } from '../lane/endpoint.ts';
import type { Lane } from '../lane/lane.ts';
import type { EngineState, LaneState } from '../metrics.ts';
import type { DestinationFacts, UrlFacts } from './standing.ts';

/** All lanes together, for metrics. */
export function countLanes(
  lanes: Iterable<Lane>,
): Pick<EngineState, 'queued' | 'mostQueued' | 'lanesByState' | 'breakers'> {
  const breakers = { closed: 0, open: 0, 'half-open': 0 };
  const lanesByState = { held: 0, open: 0, slow: 0, limited: 0, waiting: 0, free: 0 };
  let queued = 0;
  let mostQueued = 0;
  for (const lane of lanes) {
    queued += lane.queued;
    mostQueued = Math.max(mostQueued, lane.queued);
    lanesByState[laneState(lane)] += 1;
    lane.endpoints.count(breakers);
  }
  return { queued, mostQueued, lanesByState, breakers };
}

/** What keeps a lane from taking more. */
function laneState({ hold, endpoints, isSlow, waiting, rate }: Lane): LaneState {
  if (hold.isOn) return 'held';
  if (endpoints.availability !== 'yes') return 'open';
  if (isSlow) return 'slow';
  if (waiting.size === 0) return 'free';
  return rate.isReady ? 'waiting' : 'limited';
}

/** Whether the lane has no special state; checked for thousands of lanes each second. */
export function isPlain({ endpoints, isSlow, waiting, hold }: Lane): boolean {
  if (isSlow || waiting.size > 0 || hold.row !== undefined || endpoints.troubled) return false;
  for (const { answers } of endpoints.all) if (answers.failuresInRow > 0) return false;
  return true;
}

export function factsOf(lane: Lane): DestinationFacts {
  const { endpoints, hold, wasSaturated, isSlow, rate, waiting } = lane;
  return {
    configured: 'enabled',
    urls: endpoints.all.map(urlFacts),
    hold: hold.row,
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
