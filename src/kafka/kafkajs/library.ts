import { createRequire } from 'node:module';
import { fetchingCheaply } from './consumer-group.ts';
import { replaceModule } from './replace-module.ts';
import { frameRequest } from './request-frame.ts';
import { ShortStayTable } from './short-stay-table.ts';

type Class = new (...parameters: never[]) => object;
type CreateFetcher = (options: { readonly partitionAssignments: object }) => object;

const require = createRequire(import.meta.url);

/**
 * kafkajs keeps the requests that are not answered yet in a Map, and the partitions that are being handed
 * over in another. Both are filled and emptied with every fetch, and so kept every answer, with all of its
 * records, from the young collections: half of the collector's work in a consumer.
 */
replaceModule<Class>('kafkajs/src/network/requestQueue', (RequestQueue) => {
  return class extends RequestQueue {
    inflight = new ShortStayTable();
  };
});
replaceModule<CreateFetcher>('kafkajs/src/consumer/fetcher', (createFetcher) => {
  // The fetchers of a consumer share one.
  const tables = new WeakMap<object, ShortStayTable<string, unknown>>();
  return ({ partitionAssignments, ...options }) => {
    const table = tables.get(partitionAssignments) ?? new ShortStayTable();
    tables.set(partitionAssignments, table);
    return createFetcher({ ...options, partitionAssignments: table });
  };
});
replaceModule('kafkajs/src/consumer/consumerGroup', fetchingCheaply);
replaceModule<typeof frameRequest>('kafkajs/src/protocol/request', () => frameRequest);

/** kafkajs itself, loaded only now that these are in their places. */
export const kafkajs = require('kafkajs') as typeof import('kafkajs');
