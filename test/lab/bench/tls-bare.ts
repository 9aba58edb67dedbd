import { BareClient } from './delivery-post.ts';
import { bodyText, lookUp, measureSending, urlOf } from './tls-load.ts';
import type { TlsLoad } from './tls-load.ts';

/** undici as it comes, over TLS; measured. */

const load = JSON.parse(process.argv[2] ?? '') as TlsLoad;
const client = new BareClient(urlOf(load, 0), (_name, _options, callback) => {
  lookUp(callback);
});

measureSending(load, (_event, delivered) => {
  client.post(Buffer.from(bodyText), delivered);
});
