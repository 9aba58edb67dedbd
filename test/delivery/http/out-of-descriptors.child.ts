import { openSync } from 'node:fs';
import { post } from './sender-scene.ts';

/** Posts to the URL that it is given when no file descriptor is left, and prints what came of it. */
const [url = ''] = process.argv.slice(2);
for (let error: unknown; error === undefined;) {
  try {
    openSync('/dev/null', 'r');
  } catch (full) {
    error = full;
  }
}
const { verdict } = await post(url);
process.stdout.write(verdict, () => process.exit());
