import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The programs that a broker of our own takes, as far as a machine has them. */
export interface KafkaPrograms {
  /** The version of Java; undefined without any. */
  readonly javaVersion: number | undefined;
  /** Kafka's jars are there from an earlier start. */
  readonly hasJars: boolean;
  readonly hasMaven: boolean;
}

/** The oldest that Kafka 4 runs on. */
const leastJava = 17;

/** Why these programs run no broker; undefined if they do. */
export function whyNoKafka({ javaVersion, hasJars, hasMaven }: KafkaPrograms): string | undefined {
  if (javaVersion === undefined) return `Java ${leastJava} or newer is missing`;
  if (javaVersion < leastJava)
    return `Java ${javaVersion} is installed, and Kafka needs ${leastJava} or newer`;
  return hasJars || hasMaven
    ? undefined
    : 'Maven is missing, which fetches Kafka (43 MB) at the first start';
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
