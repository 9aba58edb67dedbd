import type { RunOutcome } from '../../event/audit-entry.ts';

/** What an operator can have done: the composition root knows how, because the console imports no other stage. */
export interface Operations {
  /** @throws PostriderError `not-found`, `resource-invalid` */
  sendTest(destination: string): Promise<readonly TestAnswer[]>;
  /** @throws PostriderError `not-found` */
  pause(destination: string): Promise<void>;
  /** Resumes at once, and resolves when all that was kept is sent. The work throws PostriderError `not-found`. */
  resume(destination: string): Work;
  /**
   * Sends dead letters again. The work throws PostriderError `busy` while another redrive runs.
   * @throws PostriderError `usage`
   */
  redrive(selection: Selection): Work;
  /**
   * Tells of each event that a redrive would send, as if it was sent.
   * @throws PostriderError `usage`
   */
  count(selection: Selection): Work;
}

/** What one URL of a destination made of a test event. */
export interface TestAnswer {
  readonly url: string;
  readonly outcome: 'delivered' | 'failed' | 'refused';
  readonly status?: number;
  readonly detail?: string;
  /** How the body of an answer begins that was no success. */
  readonly answer?: string;
  readonly tookMs: number;
}

/** Which dead letters. */
export interface Selection {
  readonly destination?: string;
  readonly reason?: string;
  /** ISO 8601. */
  readonly since?: string;
  readonly until?: string;
}

/** Something that takes long. */
export type Work = (run: Run) => Promise<RunEnd>;

/** What whoever runs it has it know, and is told. */
export interface Run {
  /** Ends it early; what was begun is finished. */
  readonly signal: AbortSignal;
  /** For each event that is safe. */
  readonly onSent: () => void;
}

export interface RunEnd {
  /** What became of the events until now. */
  readonly outcome?: RunOutcome;
  /** What a person should know besides. */
  readonly detail?: string;
}
