import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import type { SteadyClock } from '../../../src/ops/clock.ts';
import { abortable, anyOf, isCalledBy, replace, uuidOf } from './substitutes.ts';
import { TimerHeap, type Due } from './timer-heap.ts';

/** A process of the simulated deployment: whatever it starts belongs to it, through every promise and timer. */
export class SimulatedProcess {
  readonly name: string;
  /** Its clock is set forward by so much, or back where negative. */
  clockSetByMs = 0;
  /** Nothing of it runs before: it was suspended. */
  suspendedUntilMs = 0;
  /** It has no way to brokers; undefined: to all it has. */
  cutOff: CutOff | undefined;
  /** Killed: nothing of it runs any more. */
  isDead = false;
  /** Called where the process would end itself. */
  onExit: (code: number) => void = () => undefined;
  /** Calls back as a part of it. Made once: that takes a third of the time of `AsyncLocalStorage.run`. */
  enter: Enter | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

/** Between a process and brokers. */
export interface CutOff {
  /** Undefined: all of them. */
  readonly node: number | undefined;
  /** Connections break at once; else nothing is heard of them. */
  readonly breaks: boolean;
}

type Callback = (...args: unknown[]) => void;
type Enter = <T>(work: (...args: unknown[]) => T, ...args: unknown[]) => T;

interface TimerOptions {
  readonly owner: SimulatedProcess | undefined;
  readonly callback: Callback;
  readonly args?: readonly unknown[];
  /** Nothing but looking whether something has happened. */
  readonly isPoll: boolean;
  readonly repeats?: boolean;
}

/** What `setTimeout` and the like return here. */
export class VirtualTimer implements Due {
  atMs = 0;
  order = 0;
  readonly delayMs: number;
  readonly owner: SimulatedProcess | undefined;
  readonly callback: Callback;
  readonly args: readonly unknown[];
  readonly isPoll: boolean;
  readonly repeats: boolean;
  isCancelled = false;

  constructor(
    delayMs: number,
    { owner, callback, args = [], isPoll, repeats = false }: TimerOptions,
  ) {
    this.delayMs = delayMs;
    this.owner = owner;
    this.callback = callback;
    this.args = args;
    this.isPoll = isPoll;
    this.repeats = repeats;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.isCancelled = true;
  }
}

/** What a process here did with its time: in no time everything. */
const idle = { idle: 1, active: 0, utilization: 0 };

/** How often roles look whether something is to be done, by their clock. Their other timers decide something. */
const looksMs: readonly number[] = [1_000, 2_000, 5_000];
/** Who sets timers for a time that something is due at: by chance, one may be as long as a look. */
const timersForEvents = /\/src\/delivery\/(lane|due-gate)/;
/** The caller, its callers, and the clocks that only pass on. */
const framesLooked = 6;
/** Of all other timers, only those that are longer decide something: the rest is how Kafka is asked again. */
const askAgainMs = 15_000;
/** Nothing has happened for so long: it is quiet. */
const untilQuietMs = 50;
/** In the longest quiet, all looks are taken once in so many ms. */
const breathEveryMs = 300_000;
const breathMs = 1_000;
/** Promises are settled after each; the kernel is asked for news, of which there is none, only after so many. */
const turnsAtOnce = 256;

/**
 * Time, chance and timers of everything in this Node process, in place of the real ones. Hours take
 * milliseconds, and a seed makes everything that happens: the code under test is the code of production, which
 * asks `Date.now`, `performance.now`, `setTimeout`, `Math.random` and `node:crypto` as it always does.
 *
 * Time that a quiet system would spend with its polls is left out: where all is settled, and nothing has
 * happened for a while, time moves at once to the next of all other timers. Timers that only look go by the time
 * that is lived through, and so does `performance.now`, by which the Kafka client judges how old its knowledge is:
 * nothing of it gets older.
 */
export class VirtualTime {
  readonly startMs: number;
  /** Of the machine room's clock; a process may be set differently. */
  nowMs: number;
  /** Random numbers that are not the product's, by the same seed. */
  readonly random: () => number;
  /** Called with what nobody caught. */
  onUncaught: (error: unknown, owner: SimulatedProcess | undefined) => void = (error) => {
    throw error;
  };
  /** False while something is under way that shows by nothing but polls: no time is left out then. */
  isSettled: () => boolean = () => true;
  /** How many turns of the event loop there have been. */
  turns = 0;
  /** Time that was left out. */
  leftOutMs = 0;
  /** By the time that is lived through. */
  readonly #polls = new TimerHeap<VirtualTimer>();
  readonly #events = new TimerHeap<VirtualTimer>();
  #added = 0;
  #immediates: VirtualTimer[] = [];
  readonly #forEvents = new WeakMap<() => void, boolean>();
  readonly #running = new AsyncLocalStorage<SimulatedProcess | undefined>();
  #lastEventMs: number;
  /** Until when time has to be lived through. */
  #livedUntilMs = 0;
  #realWork = 0;
  readonly #enterOutside: Enter;
  #restore: (() => void) | undefined;

  constructor(seed: number, seededRandom: (seed: number) => () => number) {
    this.startMs = Date.UTC(2026, 0, 1);
    this.nowMs = this.startMs;
    this.#lastEventMs = this.startMs;
    this.random = seededRandom(seed);
    this.#enterOutside = AsyncLocalStorage.snapshot();
    this.#install(seededRandom(seed ^ 0x5eed));
  }

  /** Gives the real ones back. */
  close(): void {
    this.#restore?.();
    this.#restore = undefined;
  }

  /** What roles are given as their clock. */
  get clock(): SteadyClock {
    return {
      now: () => Date.now(),
      steadyNow: () => Math.floor(this.nowMs - this.startMs),
      after: (delayMs, callback) => {
        const isPoll = looksMs.includes(delayMs) && !this.#isForEvents(callback);
        const timer = this.#add(delayMs, { owner: this.process, callback, isPoll });
        return {
          cancel: () => {
            timer.isCancelled = true;
          },
        };
      },
    };
  }

  /** Must be called by what is called by who sets the timer. Those that set many use one callback again and again. */
  #isForEvents(callback: () => void): boolean {
    const known = this.#forEvents.get(callback);
    if (known !== undefined) return known;
    const isForEvents = isCalledBy(timersForEvents, framesLooked);
    this.#forEvents.set(callback, isForEvents);
    return isForEvents;
  }

  get process(): SimulatedProcess | undefined {
    return this.#running.getStore();
  }

  runIn<T>(owner: SimulatedProcess | undefined, work: () => T): T {
    return this.#enter(owner)(work);
  }

  #enter(owner: SimulatedProcess | undefined): Enter {
    if (owner === undefined) return this.#enterOutside;
    owner.enter ??= this.#running.run(owner, () => AsyncLocalStorage.snapshot()) as Enter;
    return owner.enter;
  }

  /** Something happened that is more than a poll. */
  happened(): void {
    this.#lastEventMs = this.nowMs;
  }

  /** For so long time is lived through, though nothing may happen. */
  liveThrough(durationMs: number): void {
    this.#livedUntilMs = Math.max(this.#livedUntilMs, this.nowMs + durationMs);
  }

  get isQuiet(): boolean {
    return this.nowMs - this.#lastEventMs > untilQuietMs;
  }

  /** Of the simulated world itself; never left out. */
  after(delayMs: number, callback: () => void, owner?: SimulatedProcess): VirtualTimer {
    return this.#add(delayMs, { owner, callback, isPoll: false });
  }

  /** Of the simulated world too: when so much time has been lived through. */
  pollAfter(delayMs: number, callback: () => void, owner?: SimulatedProcess): VirtualTimer {
    return this.#add(delayMs, { owner, callback, isPoll: true });
  }

  /** Nothing happens until this is done: it is real, and takes real time. */
  async standStill<T>(work: Promise<T>): Promise<T> {
    this.#realWork += 1;
    try {
      return await work;
    } finally {
      this.#realWork -= 1;
    }
  }

  /** Time that was lived through, and not left out. */
  get livedMs(): number {
    return this.nowMs - this.startMs - this.leftOutMs;
  }

  /** Lets time pass, and everything happen that falls into it. */
  async pass(durationMs: number): Promise<void> {
    const untilMs = this.nowMs + durationMs;
    await this.#run(() => this.#callNext(untilMs));
    this.nowMs = untilMs;
  }

  /** As `pass`, until `isDone`, but no longer. Returns whether it was. */
  async passUntil(isDone: () => boolean, mostMs: number): Promise<boolean> {
    const untilMs = this.nowMs + mostMs;
    await this.#run(() => !isDone() && this.#callNext(untilMs));
    if (!isDone()) this.nowMs = untilMs;
    return isDone();
  }

  async #run(step: () => boolean): Promise<void> {
    let isOver = false;
    await new Promise<void>((resolve, reject) => {
      const next = (): void => {
        if (isOver || this.#realWork > 0) return;
        try {
          if (step()) return;
          resolve();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
        isOver = true;
      };
      const more = (): void => {
        if (isOver) return;
        if (this.#realWork === 0)
          for (let turn = 0; turn < turnsAtOnce; turn += 1) real.setImmediate(next);
        real.setImmediate(more);
      };
      more();
    });
  }

  /** False: nothing is left until then. */
  #callNext(untilMs: number): boolean {
    for (;;) {
      const timer = this.#immediates.length > 0 ? this.#immediates.shift() : this.#due(untilMs);
      if (timer === undefined) return false;
      if (isVoid(timer)) continue;
      const { owner } = timer;
      if (owner !== undefined && owner.suspendedUntilMs > this.nowMs) {
        // Overdue when it goes on, so that no time may be left out before.
        this.#push(this.#events, timer, owner.suspendedUntilMs);
        continue;
      }
      this.turns += 1;
      if (timer.repeats) this.#schedule(timer);
      try {
        this.#enter(owner)(timer.callback, ...timer.args);
      } catch (error) {
        if (!(error instanceof ProcessEnded)) this.onUncaught(error, owner);
      }
      return true;
    }
  }

  #due(untilMs: number): VirtualTimer | undefined {
    const event = this.#firstOf(this.#events);
    const eventMs = event?.atMs ?? Infinity;
    const poll = this.#firstOf(this.#polls);
    let pollMs = poll === undefined ? Infinity : poll.atMs + this.leftOutMs;
    if (pollMs > this.nowMs && pollMs < eventMs && this.#mayLeaveOut()) {
      const byMs = Math.min(eventMs, untilMs) - this.nowMs;
      this.#leaveOut(byMs);
      pollMs += byMs;
    }
    const atMs = Math.min(pollMs, eventMs);
    if (atMs > untilMs || atMs === Infinity) return undefined;
    const isPoll =
      pollMs < eventMs || (pollMs === eventMs && (poll?.order ?? 0) < (event?.order ?? 0));
    (isPoll ? this.#polls : this.#events).pop();
    this.nowMs = Math.max(this.nowMs, atMs);
    return isPoll ? poll : event;
  }

  /** The first one that is still to be called. */
  #firstOf(heap: TimerHeap<VirtualTimer>): VirtualTimer | undefined {
    while (heap.first !== undefined && isVoid(heap.first)) heap.pop();
    return heap.first;
  }

  #mayLeaveOut(): boolean {
    return this.isQuiet && this.nowMs >= this.#livedUntilMs && this.isSettled();
  }

  #leaveOut(byMs: number): void {
    this.nowMs += byMs;
    this.leftOutMs += byMs;
    if (this.nowMs - this.#livedUntilMs > breathEveryMs) this.liveThrough(breathMs);
  }

  #add(delayMs: number, options: TimerOptions): VirtualTimer {
    const waitMs = Math.max(1, Math.ceil(Number.isFinite(delayMs) ? delayMs : 1));
    const timer = new VirtualTimer(waitMs, options);
    this.#schedule(timer);
    return timer;
  }

  #schedule(timer: VirtualTimer): void {
    const { isPoll, delayMs } = timer;
    if (isPoll) this.#push(this.#polls, timer, this.nowMs - this.leftOutMs + delayMs);
    else this.#push(this.#events, timer, this.nowMs + delayMs);
  }

  #push(heap: TimerHeap<VirtualTimer>, timer: VirtualTimer, atMs: number): void {
    timer.atMs = atMs;
    timer.order = this.#added++;
    heap.push(timer);
  }

  #install(random: () => number): void {
    const here = (): SimulatedProcess | undefined => this.#running.getStore();
    const wallMs = (): number => this.nowMs + (here()?.clockSetByMs ?? 0);
    const begin = (callback: Callback, delayMs: number, args: unknown[], repeats: boolean) =>
      this.#add(delayMs, {
        owner: here(),
        callback,
        args,
        isPoll: delayMs <= askAgainMs,
        repeats,
      });
    const setTimeout = (callback: Callback, delayMs = 1, ...args: unknown[]): VirtualTimer =>
      begin(callback, delayMs, args, false);
    const setInterval = (callback: Callback, delayMs = 1, ...args: unknown[]): VirtualTimer =>
      begin(callback, delayMs, args, true);
    const setImmediate = (callback: Callback, ...args: unknown[]): VirtualTimer => {
      const timer = new VirtualTimer(0, { owner: here(), callback, args, isPoll: true });
      this.#immediates.push(timer);
      return timer;
    };
    const clear = (timer: unknown): void => {
      if (timer instanceof VirtualTimer) timer.isCancelled = true;
    };
    const delay = (delayMs?: number, value?: unknown, options?: DelayOptions): Promise<unknown> =>
      abortable(options?.signal, (resolve) => setTimeout(resolve, delayMs, value));
    const turn = (value?: unknown, options?: DelayOptions): Promise<unknown> =>
      abortable(options?.signal, (resolve) => setImmediate(resolve, value));
    const randomBytes = (size: number): Buffer =>
      Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
    const exit = (code: number): never => {
      const owner = here();
      if (owner === undefined) return real.exit(code);
      owner.isDead = true;
      owner.onExit(code);
      throw new ProcessEnded(owner.name);
    };
    const substitutes = { setTimeout, setInterval, setImmediate, clearTimeout: clear };
    const all = { ...substitutes, clearInterval: clear, clearImmediate: clear };
    const undo = [
      replace(globalThis, all),
      replace(timers, all),
      replace(timersPromises, { setTimeout: delay, setImmediate: turn }),
      replace(Date, { now: wallMs }),
      replace(performance, { now: () => this.livedMs, eventLoopUtilization: () => idle }),
      replace(Math, { random }),
      replace(crypto, { randomBytes, randomUUID: () => uuidOf(randomBytes(16)) }),
      replace(os, { hostname: () => here()?.name ?? 'machine-room' }),
      replace(process, { exit }),
      replace(AbortSignal, { any: anyOf }),
    ];
    syncBuiltinESMExports();
    const uncaught = (error: unknown): void => {
      if (!(error instanceof ProcessEnded)) this.onUncaught(error, here());
    };
    process.on('unhandledRejection', uncaught);
    this.#restore = () => {
      for (const back of undo) back();
      syncBuiltinESMExports();
      process.off('unhandledRejection', uncaught);
    };
  }
}

/** It is not to be called any more. */
function isVoid({ isCancelled, owner }: VirtualTimer): boolean {
  return isCancelled || owner?.isDead === true;
}

/** Thrown where `process.exit` would not return. */
export class ProcessEnded extends Error {
  override readonly name = 'ProcessEnded';
}

const real = { setImmediate: globalThis.setImmediate, exit: process.exit.bind(process) };

interface DelayOptions {
  readonly signal?: AbortSignal;
}
