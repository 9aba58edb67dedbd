import type { LookupFunction } from 'node:net';
import { BareClient } from './delivery-post.ts';
import { bodyText, measureSending, urlOf } from './tls-load.ts';
import type { TlsLoad } from './tls-load.ts';

/** undici as it comes, over TLS; measured. */

const load = JSON.parse(process.argv[2] ?? '') as TlsLoad;
const address = [{ address: '127.0.0.1', family: 4 }];
const lookup: LookupFunction = (_name, _options, callback) => {
  process.nextTick(callback, null, address);
};
const client = new BareClient(urlOf(load, 0), lookup);

measureSending(load, (_event, delivered) => {
  client.post(Buffer.from(bodyText), delivered);
});
