import { Session, type Profiler } from 'node:inspector';

/**
 * V8's own precise block coverage: which blocks of code were run since the last look. It needs no
 * instrumented copy of the code, so TypeScript runs as it always does. Code counts if it is loaded after
 * `open`, and belongs to `src` or to a path of `alsoOf`.
 */
export class Coverage {
  readonly #session: Session;
  #paths: readonly string[] = [new URL('../../../../src/', import.meta.url).pathname];

  private constructor(session: Session) {
    this.#session = session;
  }

  static open(): Coverage {
    const session = new Session();
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    return new Coverage(session);
  }

  /** Counts code of these paths too. */
  alsoOf(paths: readonly string[]): void {
    this.#paths = [...this.#paths, ...paths];
  }

  /** What was run since the last call. */
  take(): Look {
    return new Look(
      this.#take().filter(({ url }) => this.#paths.some((path) => url.includes(path))),
    );
  }

  /** In the same thread, the session answers before `post` returns. */
  #take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error;
      taken = result;
    });
    return taken;
  }

  close(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }
}

/** What was run between two moments. */
export class Look {
  /** Those that ran another number of times than the code around them, which V8 reports alone. */
  readonly blocks: ReadonlySet<string>;
  readonly #ranges = new Map<string, Profiler.CoverageRange[]>();

  constructor(scripts: readonly Profiler.ScriptCoverage[]) {
    const blocks = new Set<string>();
    for (const { scriptId, functions } of scripts) {
      const ranges = functions.flatMap((each) => each.ranges);
      this.#ranges.set(scriptId, ranges);
      for (const { startOffset, endOffset, count } of ranges)
        if (count > 0) blocks.add(`${scriptId}:${startOffset}:${endOffset}`);
    }
    this.blocks = blocks;
  }

  /** Whether the block was run, also as often as what is around it. */
  reaches(block: string): boolean {
    const [scriptId = '', start, end] = block.split(':');
    let innermost: Profiler.CoverageRange | undefined;
    for (const range of this.#ranges.get(scriptId) ?? []) {
      if (range.startOffset > Number(start) || range.endOffset < Number(end)) continue;
      if (innermost !== undefined && lengthOf(innermost) < lengthOf(range)) continue;
      innermost = range;
    }
    return (innermost?.count ?? 0) > 0;
  }
}

function lengthOf({ startOffset, endOffset }: Profiler.CoverageRange): number {
  return endOffset - startOffset;
}
