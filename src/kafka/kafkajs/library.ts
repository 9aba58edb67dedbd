import { connectingAfresh } from './connection-pool.ts';
import { tolerateLeaderless } from './metadata-answer.ts';
import { networkOf, type KafkajsNetwork } from './network.ts';
import { replaceModule, requireOwn } from './own-copy.ts';
import { producingCheaply } from './produce-request.ts';
import { frameRequest } from './request-frame.ts';
import { queueingCheaply } from './request-queue.ts';
import { parsingSeeds } from './seed-brokers.ts';

replaceModule('src/cluster/connectionPoolBuilder', parsingSeeds);
replaceModule('src/network/connectionPool', connectingAfresh);
replaceModule('src/network/requestQueue', queueingCheaply);
replaceModule('src/protocol/request', () => frameRequest);
replaceModule('src/protocol/requests/produce/v3/request', producingCheaply);
replaceModule('src/protocol/requests/metadata/v0/response', tolerateLeaderless);

/**
 * kafkajs with these replaced modules, for admin requests and transactions. Records are read and written
 * without it.
 */
export const kafkajs = requireOwn('index') as typeof import('kafkajs');

/** The parts of connections, as they are here. */
export const network: KafkajsNetwork = networkOf(requireOwn);
