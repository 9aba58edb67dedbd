import { closeSync, openSync } from 'node:fs';
import { CachingResolver, HostsFile } from '../../../src/delivery/http/name-resolver.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { createSender, leadingTo, post } from './sender-scene.ts';

/**
 * Posts to a port of this machine when no file descriptor is left, in several ways, and once more to a name
 * when there are some again. Prints what came of each, as JSON.
 */
const [port = '', nameServer = ''] = process.argv.slice(2);
const resolver = new CachingResolver(systemClock, {
  servers: [nameServer],
  hostsFile: new HostsFile(systemClock, '/nonexistent'),
});
const sender = createSender({ resolver });
const ofTwoAddresses = createSender({ resolver: leadingTo('127.0.0.1', '127.0.0.2') });

const taken: number[] = [];
/** Also what was given back meanwhile. */
function takeAll(): void {
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
  }
}

const verdicts: Record<string, string> = {};
for (const [way, url, by] of [
  ['address', `http://127.0.0.1:${port}/`, sender],
  ['address, over TLS', `https://127.0.0.1:${port}/`, sender],
  ['one of two addresses', `http://crm.example:${port}/`, ofTwoAddresses],
  ['name', `http://crm.example:${port}/`, sender],
  ['name, over TLS', `https://crm.example:${port}/`, sender],
] as const) {
  takeAll();
  verdicts[way] = (await post(url, { sender: by })).verdict;
}
for (const descriptor of taken) closeSync(descriptor);
verdicts['name, with descriptors again'] = (
  await post(`http://crm.example:${port}/`, { sender })
).verdict;
process.stdout.write(JSON.stringify(verdicts), () => process.exit());
