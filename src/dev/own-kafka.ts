import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The oldest that Kafka 4 runs on. */
const leastJava = 17;

/** Why no broker of our own can run with this version of Java; undefined if it can. */
export function whyNoKafka(javaVersion: number | undefined): string | undefined {
  if (javaVersion === undefined) return `Java ${leastJava} or newer is missing`;
  return javaVersion < leastJava
    ? `Java ${javaVersion} is installed, and Kafka needs ${leastJava} or newer`
    : undefined;
}

/** @param said what `java -version` writes; `1.8` is 8. */
export function javaVersionIn(said: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(said) ?? [];
  return first === undefined ? undefined : Number(first === '1' ? second : first);
}

export async function installedJava(): Promise<number | undefined> {
  return run('java', ['-version']).then(
    ({ stderr }) => javaVersionIn(stderr),
    () => undefined,
  );
}

/** Says whether a program is there, and ends with success. */
export async function runs(program: string, argument: string): Promise<boolean> {
  return run(program, [argument]).then(
    () => true,
    () => false,
  );
}
