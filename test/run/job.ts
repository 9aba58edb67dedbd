/** One process of a run: a checker such as tsc, or the tests of one or more files. */
export interface Job {
  readonly name: string;
  /**
   * `processor`: it computes most of the time, so hardly more of these run at once than there are cores.
   * `broker`: tests on a broker, which wait for most of their time.
   */
  readonly kind: 'processor' | 'broker';
  /** The arguments of Node.js; the test files are the last of them. */
  readonly args: readonly string[];
  /** Empty for a checker. */
  readonly files: readonly string[];
}

/** What a process that ran tests reports. */
export interface Report {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Milliseconds by file, of its tests one after the other. */
  readonly filesMs: Readonly<Record<string, number>>;
}

export interface JobResult {
  readonly job: Job;
  readonly passed: boolean;
  /** Seconds since the run began. */
  readonly startedS: number;
  readonly wallS: number;
  /** CPU time of the process and of the children that it waited for; `NaN` if it was killed. */
  readonly cpuS: number;
  /** `null`: a checker, or a process that ended before its tests did. */
  readonly report: Report | null;
  /** What a reader needs of a job that failed. */
  readonly output: string;
}
