import { setTimeout as delay } from 'node:timers/promises';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../../src/event/envelope.ts';
import type { Producer } from '../../../src/kafka/produce/producer.ts';
import type { Behaviour, Body } from './stand-endpoints.ts';

export interface StandDestination {
  readonly id: string;
  readonly behaviour: Behaviour;
  /** Of the events. */
  readonly share: number;
}

/**
 * Events are as evenly apart as timers allow: of those that come at once, the last wait for all others to be
 * worked off, so that longer steps measure how long that takes.
 */
const stepMs = 1;
const usersPerDestination = 997;
const filler = 'x'.repeat(300);

/** More are never on their way. */
const mostAwaited = 2 ** 20;
const none = -1;

/** Of events for healthy endpoints. One that arrives again counts once. Nothing is made for an event: its collection would be measured, too. */
export class Arrivals {
  readonly #sentMs = new Float64Array(mostAwaited).fill(none);
  #awaited = 0;
  #numbered = 0;
  #latenciesMs: number[] = [];

  /** Of the next event, whomever it is for. */
  number(): number {
    return this.#numbered++;
  }

  get awaited(): number {
    return this.#awaited;
  }

  sent(n: number): void {
    this.#sentMs[n % mostAwaited] = performance.now();
    this.#awaited += 1;
  }

  arrived(n: number): void {
    const sentMs = this.#sentMs[n % mostAwaited] ?? none;
    if (sentMs === none) return;
    this.#sentMs[n % mostAwaited] = none;
    this.#awaited -= 1;
    this.#latenciesMs.push(performance.now() - sentMs);
  }

  take(): number[] {
    const taken = this.#latenciesMs;
    this.#latenciesMs = [];
    return taken;
  }
}

/** Smooth weighted round robin over a table: every destination's events are evenly apart. */
export function picker(destinations: readonly StandDestination[]): (n: number) => StandDestination {
  const credit = destinations.map(({ share }) => share);
  const total = credit.reduce((sum, share) => sum + share, 0);
  const table: StandDestination[] = [];
  const smallest = Math.min(...credit);
  const due = destinations.map(({ share }) => total / share / 2);
  for (let slot = 0; slot < total / smallest; slot += 1) {
    let next = 0;
    for (let index = 1; index < due.length; index += 1)
      if ((due[index] ?? Infinity) < (due[next] ?? Infinity)) next = index;
    const destination = destinations[next];
    if (destination === undefined) break;
    due[next] = (due[next] ?? 0) + total / destination.share;
    table.push(destination);
  }
  return (n) => table[n % table.length] ?? failEmpty();
}

function failEmpty(): never {
  throw new Error('a stand needs destinations');
}

export interface SteadyLoad {
  readonly topic: string;
  readonly pick: (n: number) => StandDestination;
  readonly arrivals: Arrivals;
  readonly eventsPerSecond: number;
  readonly seconds: number;
  /** Waits for arrivals rather than have more on their way. */
  readonly maxAwaited?: number | undefined;
}

export async function produceSteadily(producer: Producer, load: SteadyLoad): Promise<void> {
  const { topic, pick, arrivals, eventsPerSecond, seconds, maxAwaited = Infinity } = load;
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  for (let sent = 0; sent < eventsPerSecond * seconds && elapsedMs() < seconds * 1_000;) {
    const due = (elapsedMs() / 1_000) * eventsPerSecond;
    for (; sent < due && arrivals.awaited < maxAwaited; sent += 1) {
      const n = arrivals.number();
      const destination = pick(n);
      if (destination.behaviour === 'healthy') arrivals.sent(n);
      const user = `user-${n % usersPerDestination}`;
      producer.produce(eventOf(topic, destination, user, n), () => undefined);
    }
    await delay(stepMs);
  }
}

/** The event with that number, of a source that is named after how its endpoint behaves. */
export function eventOf(
  topic: string,
  { id, behaviour }: Pick<StandDestination, 'id' | 'behaviour'>,
  user: string,
  n: number,
): Parameters<Producer['produce']>[0] {
  const envelope = {
    destinationId: id,
    sourceId: behaviour,
    messageId: `bench-${n}`,
    type: 'track' as const,
    configOffset: 1,
    appendTimeMs: Date.now(),
    attempts: 0,
  };
  const body = { n, filler } satisfies Body & { filler: string };
  return {
    topic,
    key: deliveryKey(id, user),
    value: JSON.stringify(body),
    headers: { [envelopeHeader]: encodeEnvelope(envelope) },
  };
}
