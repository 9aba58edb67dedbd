import { createRequire } from 'node:module';

/** The version whose internals are used. Other versions may have moved them. */
const knownVersion = '2.2.4';

/**
 * Finds modules of the installed kafkajs.
 * @throws Error if it is not installed, or in another version
 */
export function findKafkajs(): NodeJS.Require {
  const require = createRequire(import.meta.url);
  require.resolve('kafkajs');
  const { version } = require('kafkajs/package.json') as { readonly version: string };
  if (version !== knownVersion)
    throw new Error(
      `kafkajs ${version} is installed; only ${knownVersion} works, so install that version`,
    );
  return require;
}
