import { fetchingCheaply } from './consumer-group.ts';
import { replaceModule, requireOwn } from './own-copy.ts';
import { producingCheaply } from './produce-request.ts';
import { frameRequest } from './request-frame.ts';
import { queueingCheaply } from './request-queue.ts';
import { stoppingWhileJoining } from './runner.ts';

replaceModule('src/network/requestQueue', queueingCheaply);
replaceModule('src/consumer/consumerGroup', fetchingCheaply);
replaceModule('src/consumer/runner', stoppingWhileJoining);
replaceModule('src/protocol/request', () => frameRequest);
replaceModule('src/protocol/requests/produce/v3/request', producingCheaply);

/** kafkajs with these in their places. */
export const kafkajs = requireOwn('index') as typeof import('kafkajs');
