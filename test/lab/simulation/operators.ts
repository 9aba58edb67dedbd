import { Command } from 'commander';
import { registerDeadLetters } from '../../../src/cli/commands/dead-letters.ts';
import { registerPause } from '../../../src/cli/commands/pause.ts';
import { registerRetry } from '../../../src/cli/commands/retry.ts';
import { registerResume } from '../../../src/cli/commands/resume.ts';
import type { Context } from '../../../src/cli/context.ts';
import { PostriderError } from '../../../src/errors.ts';
import type { SimulatedDeployment } from './deployment.ts';
import type { Cut, Fault, Scenario } from './scenario.ts';
import { SimulatedProcess } from './virtual-time.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
/** Until an operator runs a command again that has not ended well. */
const againMs = 10 * secondMs;
/** In fair weather all commands have ended by then, whatever befell them before. */
const mostMs = 30 * minuteMs;

type Pause = Extract<Fault, { readonly kind: 'pause' }>;
type Redrive = Extract<Fault, { readonly kind: 'redrive' }>;
type Retry = Extract<Fault, { readonly kind: 'retry' }>;

/** One process of a command. */
export interface CommandRun {
  readonly name: string;
  readonly words: readonly string[];
  readonly fromMs: number;
  /** Infinity: it has not ended. */
  untilMs: number;
  /** `well`, or why it did not end well. */
  end: string;
  /** It may not have known what others did meanwhile. */
  wasAway: boolean;
}

interface Told {
  readonly cuts?: readonly Cut[];
}

/** Those who pause and resume destinations, and send dead letters again: each command runs until it ends well. */
export class SimulatedOperators {
  readonly runs: CommandRun[] = [];
  /** What is still to end well when all is well. */
  readonly unfinished: Set<string> = new Set();
  readonly #deployment: SimulatedDeployment;
  readonly #scenario: Scenario;
  readonly #say: (who: string, what: string) => void;
  #running = 0;

  constructor(
    deployment: SimulatedDeployment,
    scenario: Scenario,
    say: (who: string, what: string) => void,
  ) {
    this.#deployment = deployment;
    this.#scenario = scenario;
    this.#say = say;
  }

  /** No time may be left out while a command runs. */
  get isSettled(): boolean {
    return this.#running === 0;
  }

  perform(fault: Pause | Redrive | Retry): void {
    if (fault.kind === 'retry') {
      // Once: whoever retries has looked at one moment.
      void this.#run(
        ['retry', this.#scenario.destinations[fault.destination]?.id ?? ''],
        fault.cut,
      );
      return;
    }
    const about = `the operator of ${JSON.stringify(fault)}`;
    const work = fault.kind === 'pause' ? this.#pause(fault) : this.#redrive(fault);
    this.unfinished.add(about);
    void work.then(() => this.unfinished.delete(about));
  }

  /** All is well: what was begun is brought to its end, and the last letters are sent again. */
  async finish(): Promise<void> {
    const { time } = this.#deployment;
    await time.passUntil(() => this.unfinished.size === 0, mostMs);
    if (!this.#scenario.faults.some(({ kind }) => kind === 'redrive')) return;
    this.perform({ kind: 'redrive', atMs: 0, destination: -1, perSecond: 100, cuts: [] });
    await time.passUntil(() => this.unfinished.size === 0, mostMs);
  }

  async #pause({ atMs, forMs, perSecond, endsAll, destination, ...told }: Pause): Promise<void> {
    const { time } = this.#deployment;
    const id = this.#scenario.destinations[destination]?.id ?? '';
    const overMs = time.startMs + Math.min(atMs + forMs, this.#scenario.troubledMs);
    const isOver = (): boolean => time.nowMs >= overMs;
    const left = await this.#untilWell(['pause', id], told, isOver);
    if (!isOver()) await this.#wait(overMs - time.nowMs);
    const rate = perSecond === undefined ? [] : ['--rate', `${perSecond}/s`];
    const ended = endsAll === true ? ['--all', '--yes'] : [id];
    await this.#untilWell(['resume', ...ended, ...rate], left);
  }

  async #redrive({ destination, perSecond, cuts }: Redrive): Promise<void> {
    const { id } = this.#scenario.destinations[destination] ?? {};
    const selected = id === undefined ? ['--yes'] : ['--destination', id];
    const words = ['dead-letters', 'redrive', ...selected, '--rate', `${perSecond}/s`];
    await this.#untilWell(words, { cuts });
  }

  /**
   * Runs the command until it ends well, or nobody wants it any more.
   * @returns what is to befall later runs
   */
  async #untilWell(
    words: readonly string[],
    { cuts = [] }: Told,
    isOver: () => boolean = () => false,
  ): Promise<Told> {
    const left = [...cuts];
    for (;;) {
      const cut = left.shift();
      const { end } = await this.#run(words, cut);
      if (end === 'well' || isOver()) return { cuts: left };
      await this.#wait(cut?.how === 'kill' ? cut.forMs : againMs);
    }
  }

  async #run(words: readonly string[], cut: Cut | undefined): Promise<CommandRun> {
    const { time } = this.#deployment;
    const name = `${words.find((word) => /^[a-z]+$/.test(word)) ?? ''}-${this.runs.length + 1}`;
    const process = new SimulatedProcess(name);
    const fromMs = time.nowMs;
    const run = { name, words, fromMs, untilMs: Infinity, end: 'runs', wasAway: false };
    this.runs.push(run);
    this.#say(name, `postrider ${words.join(' ')}`);
    const stopping = new AbortController();
    const ended = Promise.withResolvers<string>();
    process.onExit = (code) => {
      ended.resolve(`it ended with code ${code}`);
    };
    this.#running += 1;
    time.happened();
    if (cut !== undefined)
      time.after(cut.afterMs, () => {
        if (run.end !== 'runs') return;
        this.#say(name, `cut: ${JSON.stringify(cut)}`);
        if (cut.how === 'kill') {
          process.isDead = true;
          ended.resolve('killed');
        } else if (cut.how === 'stop')
          time.runIn(process, () => {
            stopping.abort();
          });
        else this.#sendAway(run, process, cut);
      });
    time.runIn(process, () => {
      this.#commandFor(process, stopping.signal)
        .parseAsync(words, { from: 'user' })
        .then(
          () => {
            ended.resolve('well');
          },
          (error: unknown) => {
            ended.resolve(error instanceof Error ? error.message : String(error));
            if (!(error instanceof PostriderError)) throw error;
          },
        );
    });
    run.end = await ended.promise;
    run.untilMs = time.nowMs;
    process.isDead = true;
    this.#running -= 1;
    time.happened();
    this.#say(name, `ends: ${run.end}`);
    return run;
  }

  /** It stands still for a while, or has no way to the brokers. */
  #sendAway(run: CommandRun, process: SimulatedProcess, { how, forMs }: Cut): void {
    const { time } = this.#deployment;
    run.wasAway = true;
    time.happened();
    if (how === 'suspend') {
      process.suspendedUntilMs = time.nowMs + forMs;
      return;
    }
    process.cutOff = { node: undefined, breaks: false };
    time.after(forMs, () => {
      process.cutOff = undefined;
    });
  }

  /** The commands as the program has them, for a process of their own. */
  #commandFor(process: SimulatedProcess, stopping: AbortSignal): Command {
    const { kafka, topology, log } = this.#deployment.partsFor(process);
    const print = (line: string): void => {
      this.#say(process.name, line);
    };
    const parts: Partial<Context> = {
      kafka,
      log,
      // No login: the audit names the user of the system.
      settings: {} as Context['settings'],
      topology: () => Promise.resolve(topology),
      print,
      note: print,
      status: () => ({ clear: () => undefined, stop: () => undefined }),
      stopping: () => stopping,
    };
    const program = new Command('postrider').exitOverride();
    for (const register of [registerPause, registerResume, registerRetry, registerDeadLetters])
      register(program, parts as Context);
    return program;
  }

  async #wait(forMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#deployment.time.after(forMs, resolve);
    });
  }
}
