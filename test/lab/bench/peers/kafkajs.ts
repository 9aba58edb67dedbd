import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { RunningPeer, type Peer } from './peer.ts';

export const plainKafkajs: Peer = peerOf('kafkajs, each message', 'plain-kafkajs.ts', true);
export const batchedKafkajs: Peer = peerOf('kafkajs, in batches', 'batched-kafkajs.ts', false);

function peerOf(name: string, script: string, isSequential: boolean): Peer {
  const path = fileURLToPath(new URL(script, import.meta.url));
  // Stock kafkajs sets timers for times that are over.
  const argv = ['--disable-warning=TimeoutNegativeWarning', path];
  return {
    name,
    isSequential,
    start: (work) => {
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: work.caFile };
      const child = spawn(process.execPath, [...argv, JSON.stringify(work)], { env });
      return new RunningPeer([child]);
    },
  };
}
