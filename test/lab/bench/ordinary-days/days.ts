import { configArriving, configHistory } from './config.ts';
import type { Day } from './day.ts';
import { deadDomains, packetDroppers } from './dead-customers.ts';
import { dedicatedBacklogs, failingDestinations } from './failing.ts';
import { idleTopics } from './idle.ts';
import { lostBroker } from './lost-broker.ts';
import { quotas } from './quota.ts';
import { resumeOfMany } from './resume.ts';
import { unwritableTopic } from './unwritable-topic.ts';

export const days: readonly Day[] = [
  deadDomains,
  packetDroppers,
  failingDestinations,
  dedicatedBacklogs,
  unwritableTopic,
  lostBroker,
  resumeOfMany,
  configHistory,
  configArriving,
  idleTopics,
  quotas,
];
