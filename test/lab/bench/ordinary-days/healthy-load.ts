import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';

export interface HealthyLoadOptions {
  readonly gatewayUrl: string;
  /** Of the sources that healthy destinations have, one each. */
  readonly writeKeys: readonly string[];
  readonly eventsPerSecond: number;
}

const stepMs = 2;
const users = 1_009;
/** What has not arrived by then counts with the time that it has waited. */
export const mostWaitMs = 20_000;

/** Calls to the gateway at a steady rate, one source after the other, and when each arrived at its destination. */
export class HealthyLoad {
  readonly #options: HealthyLoadOptions;
  readonly #agent = new Agent({ pipelining: 1 });
  readonly #sentMs: number[] = [];
  readonly #arrivedMs: (number | undefined)[] = [];
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(options: HealthyLoadOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  arrived(body: string): void {
    const [, n] = /"event":"healthy-(\d+)"/.exec(body) ?? [];
    if (n !== undefined) this.#arrivedMs[Number(n)] ??= performance.now();
  }

  /** From the call to its arrival, for each call that is made while something happens. */
  async latenciesMs(during: () => Promise<unknown>): Promise<number[]> {
    const first = this.#sentMs.length;
    await during();
    const end = this.#sentMs.length;
    const giveUpAtMs = performance.now() + mostWaitMs;
    const numbers = Array.from({ length: end - first }, (_, index) => first + index);
    while (performance.now() < giveUpAtMs && numbers.some((n) => this.#arrivedMs[n] === undefined))
      await delay(20);
    const nowMs = performance.now();
    return numbers.map((n) => (this.#arrivedMs[n] ?? nowMs) - (this.#sentMs[n] ?? nowMs));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await this.#agent.destroy();
  }

  async #run(): Promise<void> {
    const startedMs = performance.now();
    while (!this.#isStopped) {
      const due = ((performance.now() - startedMs) * this.#options.eventsPerSecond) / 1_000;
      while (this.#sentMs.length < due) this.#send(this.#sentMs.length);
      await delay(stepMs);
    }
  }

  #send(n: number): void {
    const { gatewayUrl, writeKeys } = this.#options;
    const writeKey = writeKeys[n % writeKeys.length] ?? '';
    this.#sentMs.push(performance.now());
    const call = { event: `healthy-${n}`, userId: `user-${n % users}` };
    request(`${gatewayUrl}/v1/track`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` },
      body: JSON.stringify(call),
      dispatcher: this.#agent,
    })
      .then(({ body }) => body.dump())
      // A call that was not taken never arrives.
      .catch(() => undefined);
  }
}
