import type { AuditEntry, RunOutcome } from '../../event/audit-entry.ts';
import type { Dated } from './model.ts';

/** How far sending dead letters again is. */
export interface Redrive extends Dated {
  readonly id: string;
  readonly state: 'counting' | 'running' | 'done' | 'failed';
  readonly found: number;
  readonly sent: number;
  readonly outcome?: RunOutcome;
  readonly detail?: string;
}

/** A redrive, a resume, or a deletion of users: by the console or by a command, running or over. */
export interface RunRow {
  /** Of the entry in the audit with which it began, and of `GET /redrives/:id`. */
  readonly id: string;
  readonly at: string;
  readonly user: string;
  readonly name?: string;
  readonly via?: 'command-line';
  readonly action: AuditEntry['action'];
  /** Whose events; absent: of all. */
  readonly destinations?: readonly string[];
  /** What was chosen. */
  readonly chosen?: string;
  /** `unfinished`: by a command or another console that runs still, or was cut off. */
  readonly state: 'running' | 'done' | 'failed' | 'refused' | 'unfinished';
  readonly endedAt?: string;
  /** Events that were sent, or users that were deleted; of an unfinished one those that were seen since. */
  readonly sent?: number;
  readonly outcome?: RunOutcome;
  /** What was left out, or why it failed. */
  readonly detail?: string;
}
