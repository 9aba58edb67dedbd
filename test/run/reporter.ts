import type { Report } from './job.ts';

/** Parts of the events of Node's test runner that are read here. */
type TestEvent =
  | {
      readonly type: 'test:pass' | 'test:fail';
      readonly data: {
        readonly file?: string;
        readonly nesting: number;
        readonly details: { readonly duration_ms: number };
      };
    }
  | {
      readonly type: 'test:summary';
      readonly data: {
        readonly file?: string;
        readonly counts: {
          readonly passed: number;
          readonly failed: number;
          readonly cancelled: number;
          readonly skipped: number;
        };
      };
    }
  | { readonly type: 'other' };

/** A reporter for `node --test-reporter`: one line of JSON when all tests have ended. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const filesMs: Record<string, number> = {};
  let counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const event of events) {
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { file = '', nesting, details } = event.data;
      if (nesting === 0) filesMs[file] = (filesMs[file] ?? 0) + details.duration_ms;
    } else if (event.type === 'test:summary' && event.data.file === undefined) {
      const { passed, failed, cancelled, skipped } = event.data.counts;
      counts = { passed, failed: failed + cancelled, skipped };
    }
  }
  yield JSON.stringify({ ...counts, filesMs } satisfies Report);
}
