import { Batch } from '../../../src/delivery/batch/batch.ts';
import { outcomeOfError } from '../../../src/delivery/http/errors.ts';
import {
  deliveredWith,
  outcomeOfStatus,
  timedOut,
  unreachedInTime,
  type AnswerRules,
  type Outcome,
} from '../../../src/delivery/outcome.ts';
import type { PreparedEndpoint } from '../../../src/delivery/prepared-destination.ts';
import type { Sender, Sending } from '../../../src/delivery/sender.ts';
import { answerApart, answerTogether, isOneOfSome } from './batches.ts';
import type { EndpointPlan, Scenario, Trouble } from './scenario.ts';
import type { SimulatedProcess, VirtualTime } from './virtual-time.ts';

/** An event in a request that an endpoint got, or in a try that did not reach it. */
export interface Attempt {
  readonly destinationId: string;
  readonly url: string;
  readonly messageId: string;
  readonly atMs: number;
  readonly process: SimulatedProcess;
  /** The request, which may be one of many events. */
  readonly sent: Sending;
  /** The time when the process knows how it ended, or would know it. */
  readonly endedMs: number;
  /** The endpoint has taken the event, whether or not anybody heard of it. */
  isTaken: boolean;
  /** The process knows how it ended. */
  isSettled: boolean;
  /** Of the destination, when it was made, this one included. */
  readonly inFlight: number;
}

interface Endpoint {
  readonly plan: EndpointPlan;
  readonly destinationId: string;
  /** When each of its places is free again. */
  readonly freeMs: number[];
}

export const timeoutMs = 5_000;

/** All endpoints of a scenario, and what came to them. */
export class SimulatedEndpoints {
  readonly attempts: Attempt[] = [];
  /** `destination message` of the events that an endpoint has taken, and when it last did. */
  readonly taken: Map<string, number> = new Map();
  /** When it first did. */
  readonly firstTakenMs: Map<string, number> = new Map();
  /** Troubles end here, whatever was planned. */
  healedMs: number = Infinity;
  onAttempt: (attempt: Attempt) => void = () => undefined;
  readonly #time: VirtualTime;
  readonly #byUrl = new Map<string, Endpoint>();
  /** By process and destination. */
  readonly #inFlight = new Map<SimulatedProcess, Map<string, number>>();

  constructor(time: VirtualTime, { destinations }: Scenario) {
    this.#time = time;
    for (const { id, urls } of destinations)
      for (const plan of urls) {
        const freeMs = Array.from({ length: Math.min(plan.capacity, 64) }, () => 0);
        this.#byUrl.set(plan.url, { plan, destinationId: id, freeMs });
      }
  }

  /** What sends for a process, in place of sockets. */
  senderFor(owner: SimulatedProcess): Sender {
    return {
      send: (sending, endpoint, index) => {
        this.#send(owner, sending, endpoint, index);
      },
      fetchToken: () => {
        throw new Error('nobody planned an authorization server');
      },
      close: () => Promise.resolve(),
    };
  }

  #send(
    owner: SimulatedProcess,
    sending: Sending,
    prepared: PreparedEndpoint,
    index: number,
  ): void {
    const { url, answerRules } = prepared;
    const mostMs = Math.min(timeoutMs, prepared.timeoutMs ?? timeoutMs);
    const endpoint = this.#byUrl.get(url.replace(/\?.*$/, ''));
    if (endpoint === undefined) throw new Error(`nobody planned ${url}`);
    const time = this.#time;
    time.happened();
    const { destinationId } = endpoint;
    const ofProcess = this.#inFlight.get(owner) ?? new Map<string, number>();
    this.#inFlight.set(owner, ofProcess);
    const inFlight = (ofProcess.get(destinationId) ?? 0) + 1;
    ofProcess.set(destinationId, inFlight);
    const ids =
      sending instanceof Batch
        ? sending.jobs.map(({ messageId }) => messageId)
        : [sending.messageId];
    const { outcome, afterMs, takenAfterMs } = this.#answer(endpoint, ids, answerRules);
    const attempts = ids.map((messageId): Attempt => ({
      destinationId,
      url,
      messageId,
      atMs: time.nowMs,
      process: owner,
      sent: sending,
      endedMs: time.nowMs + Math.min(afterMs, mostMs),
      isTaken: false,
      isSettled: false,
      inFlight,
    }));
    for (const attempt of attempts) {
      this.attempts.push(attempt);
      this.onAttempt(attempt);
    }
    if (takenAfterMs !== undefined)
      time.after(takenAfterMs, () => {
        const each = outcome.kind === 'delivered' ? outcome.each : undefined;
        for (const [index, attempt] of attempts.entries()) {
          if (each !== undefined && each[index]?.kind !== 'delivered') continue;
          attempt.isTaken = true;
          const name = `${destinationId} ${attempt.messageId}`;
          this.taken.set(name, time.nowMs);
          if (!this.firstTakenMs.has(name)) this.firstTakenMs.set(name, time.nowMs);
        }
        time.happened();
      });
    const late = outcome === unreachedInTime ? unreachedInTime : timedOut;
    time.after(
      Math.min(afterMs, mostMs),
      () => {
        time.happened();
        for (const attempt of attempts) attempt.isSettled = true;
        ofProcess.set(destinationId, (ofProcess.get(destinationId) ?? 1) - 1);
        sending.settled(afterMs > mostMs ? late : outcome, index, Math.min(afterMs, mostMs));
      },
      owner,
    );
  }

  #answer(endpoint: Endpoint, ids: readonly string[], rules: AnswerRules | undefined): Answer {
    const time = this.#time;
    const nowMs = time.nowMs - time.startMs;
    if (nowMs >= (endpoint.plan.goneFromMs ?? Infinity))
      return goneAnswer(endpoint.plan.gone, rules);
    const trouble =
      time.nowMs >= this.healedMs
        ? undefined
        : endpoint.plan.troubles.find(({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs);
    const [least, most] = endpoint.plan.latencyMs;
    const workMs = Math.round(least + (most - least) * time.random());
    if (trouble !== undefined) {
      const troubled = this.#troubled(trouble, endpoint.plan, workMs, nowMs, ids, rules);
      if (troubled !== undefined) return troubled;
    }
    const place = endpoint.freeMs.indexOf(Math.min(...endpoint.freeMs));
    const beginsMs = Math.max(endpoint.freeMs[place] ?? 0, time.nowMs);
    endpoint.freeMs[place] = beginsMs + workMs;
    const afterMs = beginsMs + workMs - time.nowMs;
    return { outcome: deliveredWith(200), afterMs, takenAfterMs: afterMs };
  }

  #troubled(
    { kind, fromMs }: Trouble,
    { tellsApart = false }: EndpointPlan,
    workMs: number,
    nowMs: number,
    ids: readonly string[],
    rules: AnswerRules | undefined,
  ): Answer | undefined {
    const answers = (status: number, retryAfter?: string): Answer => ({
      outcome: outcomeOfStatus(status, retryAfter, nowMs, undefined, rules),
      afterMs: workMs,
    });
    switch (kind) {
      case 'hangs':
        return { outcome: timedOut, afterMs: timeoutMs };
      case 'answers 503':
        return answers(503);
      case 'answers 429': {
        const retryAfter =
          this.#time.random() < 0.5 ? String(6 + Math.floor(this.#time.random() * 120)) : undefined;
        return answers(429, retryAfter);
      }
      case 'answers 422':
        return answers(422);
      case 'flaps':
        return Math.floor((nowMs - fromMs) / 20_000) % 2 === 0 ? answers(500) : undefined;
      case 'fails some':
      case 'refuses some': {
        if (!ids.some(isOneOfSome)) return undefined;
        const status = kind === 'fails some' ? 500 : 422;
        if (!tellsApart || ids.length === 1)
          return { outcome: answerTogether(status, rules), afterMs: workMs };
        const statuses = ids.map((id) => (isOneOfSome(id) ? status : 200));
        return { outcome: answerApart(statuses, rules), afterMs: workMs, takenAfterMs: workMs };
      }
      case 'refuses connections':
        return refusesConnections;
      case 'has no name':
        return this.#time.random() < 0.5 ? hasNoName : dropsPackets;
      case 'has a bad certificate':
        return { outcome: failed('CERT_HAS_EXPIRED'), afterMs: 10 };
      case 'loses its answers':
        return { outcome: timedOut, afterMs: timeoutMs, takenAfterMs: workMs };
    }
  }
}

interface Answer {
  readonly outcome: Outcome;
  readonly afterMs: number;
  /** When the endpoint has the event; undefined: it does not get it. */
  readonly takenAfterMs?: number;
}

function failed(code: string): Outcome {
  return outcomeOfError(Object.assign(new Error(code), { code }), 'unreached');
}

const refusesConnections: Answer = { outcome: failed('ECONNREFUSED'), afterMs: 1 };
const hasNoName: Answer = { outcome: failed('EDNS'), afterMs: 20 };
const dropsPackets: Answer = { outcome: unreachedInTime, afterMs: timeoutMs };

function goneAnswer(gone: EndpointPlan['gone'], rules: AnswerRules | undefined): Answer {
  switch (gone) {
    case 'refuses connections':
      return refusesConnections;
    case 'has no name':
      return hasNoName;
    case 'drops packets':
      return dropsPackets;
    case undefined:
      return { outcome: outcomeOfStatus(503, undefined, 0, undefined, rules), afterMs: 20 };
  }
}
