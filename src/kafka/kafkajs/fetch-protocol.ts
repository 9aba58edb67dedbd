import { encodeFetchRequest, type FetchRequest } from './fetch-request.ts';
import { decodeFetchResponse } from './fetch-response.ts';
import { requireOwn } from './own-copy.ts';
import type { RequestWriter } from './request-writer.ts';

/** What kafkajs sends, and how it understands the answer. */
interface Exchange {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    encode(): Promise<RequestWriter>;
  };
  readonly response: { readonly decode: unknown; readonly parse: unknown };
  readonly requestTimeout: number;
}

interface FetchRequests {
  protocol: (of: { readonly version: number }) => (request: FetchRequest) => Exchange;
}

const requests = 'src/protocol/requests/fetch';
const version = 11;

/**
 * kafkajs asks for every partition in each fetch and is answered for every one of them, mostly with
 * nothing. For each it takes two zeroed buffers of half a kilobyte to ask, and a dozen objects, a batch
 * and a round through its queues to learn that there is nothing: with a few dozen partitions and a
 * record now and then, that is most of a consumer's garbage, and the collector's pauses are its
 * slowest deliveries. Partitions that bring nothing end here, and a request is written into one buffer.
 */
export function fetchCheaply(): void {
  const definition = requireOwn(requests) as FetchRequests;
  const { protocol } = definition;
  const { parse } = requireOwn(`${requests}/v11/response`) as { readonly parse: unknown };
  const response = { decode: decodeFetchResponse, parse };
  const ours = (request: FetchRequest): Exchange => ({
    request: {
      ...{ apiKey: 1, apiVersion: version, apiName: 'Fetch' },
      encode: () => Promise.resolve(encodeFetchRequest(request)),
    },
    response,
    requestTimeout: request.maxWaitTime + answerMs,
  });
  definition.protocol = (of) => (of.version === version ? ours : protocol(of));
}

/** For the answer to arrive once the broker has given up waiting for records. */
const answerMs = 100;
