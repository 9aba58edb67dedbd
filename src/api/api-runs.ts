import { endOf, type AuditOfActions, type Done } from '../operations/audited.ts';
import type { Work } from '../operations/operations.ts';
import type { RunProgress, Runs } from '../operations/runs.ts';
import { ProblemError } from '../http-api/problem.ts';
import type { ToldRun, ToldRuns } from './told-runs.ts';

/** A run as somebody asked for it. */
export interface WantedRun {
  readonly done: Done;
  /** The choice in words, for the audit. */
  readonly detail?: string;
  /** The customer whose events it sends. */
  readonly customer: string | undefined;
  readonly work: Work;
}

/** Each reads all letters, so many at a time would starve each other and the requests. */
const mostAtOnce = 16;
/** One customer must not take the place of all. */
const mostOfCustomer = 4;

/** Long runs that requests have begun. What a replica does not run itself it knows by the audit. */
export class ApiRuns {
  readonly #runs: Runs;
  readonly #told: ToldRuns;
  readonly #audit: AuditOfActions;
  readonly #ofCustomer = new Map<string, number>();
  #begun = 0;

  constructor(runs: Runs, told: ToldRuns, audit: AuditOfActions) {
    this.#runs = runs;
    this.#told = told;
    this.#audit = audit;
  }

  /**
   * Begins a run once the audit has it.
   * @throws ProblemError 429 for a customer of whom several run, 503 while many do, or Kafka is away
   */
  async start({ done: asked, detail, customer, work }: WantedRun): Promise<RunProgress> {
    const done = { ...asked, ...(customer === undefined ? {} : { customer }) };
    const ofCustomer = customer === undefined ? 0 : (this.#ofCustomer.get(customer) ?? 0);
    if (ofCustomer >= mostOfCustomer)
      throw new ProblemError(
        429,
        `${mostOfCustomer} runs of this customer are under way; wait until one has ended.`,
        { retryAfterS: 10 },
      );
    if (this.#begun >= mostAtOnce)
      throw new ProblemError(503, 'Many runs are under way; try again in a moment.', {
        retryAfterS: 10,
      });
    this.#count(customer, 1);
    const entry = { ...done, isRun: true, ...(detail === undefined ? {} : { detail }) } as const;
    const id = await this.#audit.write(entry).catch((error: unknown) => {
      this.#count(customer, -1);
      throw error;
    });
    // Whoever asks for it at once is answered before the audit comes back.
    this.#told.apply({ ...entry, id, at: '' });
    const tell = endOf(this.#audit, done);
    return this.#runs.start(id, work, (ended) => {
      this.#count(customer, -1);
      tell(ended);
    });
  }

  find(id: string): ToldRun | undefined {
    const told = this.#told.find(id);
    const here = this.#runs.find(id);
    return told === undefined || here === undefined ? told : { ...told, progress: here };
  }

  #count(customer: string | undefined, change: 1 | -1): void {
    this.#begun += change;
    if (customer === undefined) return;
    const count = (this.#ofCustomer.get(customer) ?? 0) + change;
    if (count === 0) this.#ofCustomer.delete(customer);
    else this.#ofCustomer.set(customer, count);
  }
}
