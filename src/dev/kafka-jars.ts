import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PostriderError } from '../errors.ts';
import { maven } from './maven.ts';

const run = promisify(execFile);

export const kafkaVersion = '4.2.0';

/** Kafka's own pom brings no logging backend, and the broker does not start without one. */
const dependencies = [
  ['org.apache.kafka', 'kafka_2.13', kafkaVersion],
  ['org.apache.logging.log4j', 'log4j-slf4j-impl', '2.24.3'],
];
/** The newest that the oldest Maven here can run. */
const copyGoal = 'org.apache.maven.plugins:maven-dependency-plugin:3.1.2:copy-dependencies';

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>postrider</groupId><artifactId>kafka-jars</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
${dependencies
  .map(
    ([group, artifact, version]) =>
      `    <dependency><groupId>${group ?? ''}</groupId><artifactId>${artifact ?? ''}</artifactId><version>${version ?? ''}</version></dependency>`,
  )
  .join('\n')}
  </dependencies>
</project>
`;

const cacheDir = join(homedir(), '.cache', 'postrider');
const jarsDir = join(cacheDir, `kafka-${kafkaVersion}`);

/** Says whether an earlier start has fetched Kafka. */
async function hasKafkaJars(): Promise<boolean> {
  const names = await readdir(jarsDir).catch((): string[] => []);
  return names.includes(`kafka_2.13-${kafkaVersion}.jar`);
}

/**
 * The folder with Kafka's jars, filled by Maven at the first call and kept in the user's cache.
 * @param onNote told before they are fetched
 * @throws PostriderError `broker-unavailable` when they cannot be had
 */
export async function kafkaJars(onNote: (text: string) => void = () => undefined): Promise<string> {
  if (await hasKafkaJars()) return jarsDir;
  onNote(`the first broker on this machine: fetching Kafka ${kafkaVersion} (43 MB)`);
  await mkdir(cacheDir, { recursive: true });
  const workDir = await mkdtemp(join(cacheDir, 'fetch-'));
  try {
    await writeFile(join(workDir, 'pom.xml'), pom);
    const outputDir = join(workDir, 'jars');
    const [program, ...words] = await maven(workDir);
    await run(program, [
      ...words,
      '-q',
      '-B',
      '-f',
      join(workDir, 'pom.xml'),
      copyGoal,
      '-DincludeScope=runtime',
      `-DoutputDirectory=${outputDir}`,
    ]);
    // Another process may have been faster; its folder is as good as ours.
    await rename(outputDir, jarsDir).catch(async (error: unknown) => {
      if (!(await hasKafkaJars())) throw error;
    });
  } catch (error) {
    if (error instanceof PostriderError) throw error;
    throw new PostriderError(
      'broker-unavailable',
      `Maven could not fetch Kafka ${kafkaVersion}: ${firstLine(error)}`,
      { cause: error },
    );
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
  return jarsDir;
}

function firstLine(error: unknown): string {
  const { stdout, message } = error as { stdout?: string; message: string };
  return (stdout === undefined || stdout === '' ? message : stdout).split('\n')[0] ?? message;
}
