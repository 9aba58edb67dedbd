import { fetchingCheaply } from './consumer-group.ts';
import { replaceModule, requireOwn } from './own-copy.ts';
import { producingCheaply } from './produce-request.ts';
import { frameRequest } from './request-frame.ts';
import { queueingCheaply } from './request-queue.ts';
import { ShortStayTable } from './short-stay-table.ts';

type CreateFetcher = (options: { readonly partitionAssignments: object }) => object;

/**
 * kafkajs keeps the partitions that are being handed over in a Map. It was filled and emptied with every
 * fetch, and so kept what it refers to from the young collections.
 */
replaceModule<CreateFetcher>('src/consumer/fetcher', (createFetcher) => {
  // The fetchers of a consumer share one.
  const tables = new WeakMap<object, ShortStayTable<string, unknown>>();
  return ({ partitionAssignments, ...options }: Parameters<CreateFetcher>[0]) => {
    const table = tables.get(partitionAssignments) ?? new ShortStayTable();
    tables.set(partitionAssignments, table);
    return createFetcher({ ...options, partitionAssignments: table });
  };
});
replaceModule('src/network/requestQueue', queueingCheaply);
replaceModule('src/consumer/consumerGroup', fetchingCheaply);
replaceModule('src/protocol/request', () => frameRequest);
replaceModule('src/protocol/requests/produce/v3/request', producingCheaply);

/** kafkajs with these in their places. */
export const kafkajs = requireOwn('index') as typeof import('kafkajs');
