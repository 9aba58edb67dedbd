import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../../deploy/README.md', import.meta.url), 'utf8');

/** The least version of something that deploy/README.md states. */
function least(what: string): string {
  const [, version] = new RegExp(`^\\| ${what} +\\| (\\d+\\.\\d+) `, 'm').exec(page) ?? [];
  if (version === undefined) throw new Error(`deploy/README.md has no version of ${what}`);
  return version;
}

export const leastKubernetes: string = least('Kubernetes');
export const leastKafka: string = least('Kafka');
