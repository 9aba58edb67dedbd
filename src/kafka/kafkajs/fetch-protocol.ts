import { createRequire } from 'node:module';
import { encodeFetchRequest, type FetchRequest } from './fetch-request.ts';
import { decodeFetchResponse } from './fetch-response.ts';
import { replaceModule } from './replace-module.ts';

type RequestModule = (request: FetchRequest) => { readonly encode: () => Promise<unknown> };

const require = createRequire(import.meta.url);
const protocol = 'kafkajs/src/protocol/requests/fetch/v11';

/**
 * kafkajs asks for every partition in each fetch and is answered for every one of them, mostly with
 * nothing. For each it takes two zeroed buffers of half a kilobyte to ask, and a dozen objects, a batch
 * and a round through its queues to learn that there is nothing: with a few dozen partitions and a
 * record now and then, that is most of a consumer's garbage, and the collector's pauses are its
 * slowest deliveries. Partitions that bring nothing end here, and a request is written into one buffer.
 */
export function fetchCheaply(): void {
  if (isPatched) return;
  isPatched = true;
  replaceModule<RequestModule>(`${protocol}/request`, (original) => (request) => ({
    ...original(request),
    encode: () => Promise.resolve(encodeFetchRequest(request)),
  }));
  const response = require(`${protocol}/response`) as { decode: typeof decodeFetchResponse };
  response.decode = decodeFetchResponse;
}

let isPatched = false;
