import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort } from '../harness/free-ports.ts';
import { eventually } from '../harness/eventually.ts';
import { collect, failIfEnded, killer } from '../harness/run-command.ts';
import { pathOf, readText, rulesFile } from './monitoring-files.ts';

export interface Prometheus {
  /** The result of an instant query now. */
  query(expr: string): Promise<readonly Sample[]>;
  /** `data` of another answer of its API, e.g. of `targets`. */
  ask(path: string): Promise<unknown>;
  stop(): Promise<void>;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  /** Seconds since the epoch, and the value. */
  readonly value: readonly [number, string];
}

/** Short, so that a test need not wait; a scrape that takes longer makes all its series vanish. */
const interval = '1s';

/**
 * Runs it with the project's own configuration and rules, but for the targets, by job, each `host:port`,
 * and the intervals.
 */
export async function startPrometheus(
  program: string,
  targets: Readonly<Record<string, readonly string[]>>,
): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-prometheus-'));
  const config = parse(readText('deploy/monitoring/prometheus.yml')) as { global: object };
  const file = join(folder, 'prometheus.yml');
  const changed = {
    ...config,
    global: { ...config.global, scrape_interval: interval, evaluation_interval: interval },
    rule_files: [pathOf(rulesFile)],
    scrape_configs: Object.entries(targets).map(([job, each]) => ({
      job_name: job,
      static_configs: [{ targets: each }],
    })),
  };
  await writeFile(file, stringify(changed));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    program,
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const log = collect(child.stderr);
  await eventually(async () => {
    failIfEnded(child, log());
    const { ok } = await fetch(`http://${address}/-/ready`);
    if (!ok) throw new Error(`Prometheus is not ready:\n${log()}`);
  });
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://${address}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { data: unknown; error?: string };
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    return data;
  };
  return {
    ask,
    query: async (expr) => {
      const answer = await ask(`query?query=${encodeURIComponent(expr)}`);
      return (answer as { result: readonly Sample[] }).result;
    },
    stop: async () => {
      await killer(child)('SIGTERM');
      await rm(folder, { recursive: true });
    },
  };
}
