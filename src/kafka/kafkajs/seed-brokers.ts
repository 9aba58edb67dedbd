import { parseBroker, type HostPort } from '../protocol/metadata.ts';
import type { ConnectionPool } from './network.ts';

interface Builder {
  build(broker?: Partial<HostPort>): Promise<ConnectionPool>;
}

type CreateBuilder = (options: { readonly brokers: readonly string[] }) => Builder;

/** kafkajs splits the address of a seed broker at its first colon, which an IPv6 address has within. */
export function parsingSeeds(original: CreateBuilder): CreateBuilder {
  return (options) => {
    const builder = original(options);
    const seeds = options.brokers.map(parseBroker);
    let turn = 0;
    return {
      build: (broker) =>
        builder.build(broker?.host === undefined ? seeds[turn++ % seeds.length] : broker),
    };
  };
}
