import { startDnsServer, type DnsQuestion, type DnsReply } from '../../harness/dns-server.ts';

/**
 * - `hangs`: it answers nothing
 * - `lies, private address`: it says an address that no delivery may go to
 * - `lies, wrong address`: it says one where nobody listens
 * - `lies, no such name`: it says that there is no such name
 * - `lies, noise`: what it says is no answer
 */
export const nameServerFaults = [
  'hangs',
  'lies, private address',
  'lies, wrong address',
  'lies, no such name',
  'lies, noise',
] as const;
export type NameServerFault = (typeof nameServerFaults)[number];

export interface SoakNameServer {
  readonly address: string;
  /** Undefined: every name has the address 127.0.0.1. */
  set(fault: NameServerFault | undefined): void;
  close(): void;
}

export async function startNameServer(): Promise<SoakNameServer> {
  let fault: NameServerFault | undefined;
  const server = await startDnsServer((question) => replyOf(question, fault));
  return {
    address: server.address,
    set: (next) => {
      fault = next;
    },
    close: server.close,
  };
}

function replyOf({ type }: DnsQuestion, fault: NameServerFault | undefined): DnsReply | undefined {
  const saying = (value: string): DnsReply => ({
    records: type === 'A' ? [{ type, value }] : [],
  });
  switch (fault) {
    case 'hangs':
      return undefined;
    case 'lies, private address':
      return saying('10.1.2.3');
    case 'lies, wrong address':
      return saying('127.0.0.99');
    case 'lies, no such name':
      return { code: 'NXDOMAIN' };
    case 'lies, noise':
      return { bytes: Buffer.from('not an answer at all') };
    case undefined:
      return saying('127.0.0.1');
  }
}
