import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Imported with `node --import` before everything else: replaces the texts of files while they are loaded. The
 * environment variable names a JSON file, an object of texts by path. Child processes inherit both through
 * `NODE_OPTIONS`.
 */
export const plantedTextsVariable = 'PLANTED_TEXTS';

const file = process.env[plantedTextsVariable];
if (file !== undefined) {
  const texts = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, string>>;
  registerHooks({
    load(url, context, nextLoad) {
      const source = url.startsWith('file:') ? texts[fileURLToPath(url)] : undefined;
      if (source === undefined) return nextLoad(url, context);
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}
