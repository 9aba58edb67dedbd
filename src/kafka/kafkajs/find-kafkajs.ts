import { createRequire } from 'node:module';

/** Whose inside this project knows. Another one may have moved what is used of it. */
const knownVersion = '2.2.4';

/**
 * Finds modules of the kafkajs that is installed, from here.
 * @throws Error it is not installed, or in another version
 */
export function findKafkajs(): NodeJS.Require {
  const require = createRequire(import.meta.url);
  require.resolve('kafkajs');
  const { version } = require('kafkajs/package.json') as { readonly version: string };
  if (version !== knownVersion)
    throw new Error(
      `kafkajs ${version} is installed, and only ${knownVersion} works here: install that`,
    );
  return require;
}
