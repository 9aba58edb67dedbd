/** One thing that reads bytes from outside, and the rules that must hold for any bytes. */
export interface Target {
  /** What is fed, and what must hold, in a sentence. */
  readonly about: string;
  /** Inputs to begin with. Valid ones lead deepest. */
  readonly seeds: readonly (Buffer | string)[];
  /** Words of the format, which mutations insert as they are. */
  readonly words?: readonly string[];
  /** Parts of paths of code whose coverage counts beside `src`, such as a library that does the reading. */
  readonly covers?: readonly string[];
  /** Longest input; 4 KB by default. */
  readonly mostBytes?: number;
  /** Most CPU time of one input; half a second by default. */
  readonly mostCpuMs?: number;
  /** @throws anything if a rule is broken */
  check(input: Buffer): void | Promise<void>;
  /** Ends what the target has opened. */
  close?(): Promise<void>;
}

/** An input that breaks a rule. */
export interface Finding {
  readonly kind: 'failure' | 'slow' | 'memory' | 'hang' | 'crash';
  /** What happened, with the place in `src` if there is one. */
  readonly what: string;
  readonly input: Buffer;
}

export interface FuzzResult {
  readonly runs: number;
  /** Inputs that reach something that no other does. */
  readonly corpus: number;
  /** Blocks of code that were reached. */
  readonly blocks: number;
  readonly findings: readonly Finding[];
}

/** How long to fuzz: until time is up, but no fewer than `leastRuns` inputs, and no more than `mostRuns`. */
export interface FuzzLimits {
  readonly seed: number;
  readonly durationMs: number;
  readonly leastRuns: number;
  readonly mostRuns: number;
}
