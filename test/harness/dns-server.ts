import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createTcpServer, isIPv6 } from 'node:net';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';

/** A record of the name that was asked for, unless it says `name`. `value`: an address, or a name for CNAME. */
export interface DnsRecord {
  readonly type: 'A' | 'AAAA' | 'CNAME';
  readonly value: string;
  readonly name?: string;
  readonly ttl?: number;
}

/** What comes back. Nothing at all where there is no reply. */
export interface DnsReply {
  readonly code?: 'NOERROR' | 'SERVFAIL' | 'NXDOMAIN' | 'REFUSED';
  readonly records?: readonly DnsRecord[];
  readonly truncated?: boolean;
  /** Instead of a message. */
  readonly bytes?: Buffer;
}

export interface DnsQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'other';
  readonly transport: 'udp' | 'tcp';
}

export interface DnsServer {
  /** As `dns.setServers` wants it. */
  readonly address: string;
  readonly questions: readonly DnsQuestion[];
  readonly close: () => void;
}

const codes = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const types = { A: 1, CNAME: 5, AAAA: 28 } as const;
const headerBytes = 12;

/** A name server on loopback, over UDP and TCP (RFC 1035), that says what the test wants it to say. */
export async function startDnsServer(
  answer: (question: DnsQuestion) => DnsReply | undefined,
): Promise<DnsServer> {
  const questions: DnsQuestion[] = [];
  const reply = (query: Buffer, transport: 'udp' | 'tcp'): Buffer | undefined => {
    const { question, end } = readQuestion(query, transport);
    questions.push(question);
    const given = answer(question);
    if (given === undefined) return undefined;
    return given.bytes ?? message(query, end, given);
  };
  const tcp = createTcpServer((socket) => {
    serveTcp(socket, (query) => reply(query, 'tcp'));
  });
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    const bytes = reply(query, 'udp');
    if (bytes !== undefined) udp.send(bytes, from.port, from.address);
  });
  const port = await bindTogether(tcp, udp);
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    udp.close();
    tcp.close();
  };
  return { address: `127.0.0.1:${port}`, questions, close };
}

/** To one port: what is free for TCP may be somebody's for UDP, a resolver's own socket for instance. */
async function bindTogether(tcp: TcpServer, udp: UdpSocket): Promise<number> {
  for (;;) {
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    try {
      udp.bind(port, '127.0.0.1');
      await once(udp, 'listening');
      return port;
    } catch (error) {
      tcp.close();
      await once(tcp, 'close');
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** Each message has its length before it. */
function serveTcp(socket: Socket, reply: (query: Buffer) => Buffer | undefined): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const length = pending.readUInt16BE(0);
      const bytes = reply(pending.subarray(2, 2 + length));
      pending = pending.subarray(2 + length);
      if (bytes !== undefined) socket.write(Buffer.concat([uint16(bytes.length), bytes]));
    }
  });
}

function readQuestion(
  query: Buffer,
  transport: 'udp' | 'tcp',
): { question: DnsQuestion; end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  return {
    question: { name, type: type === 1 ? 'A' : type === 28 ? 'AAAA' : 'other', transport },
    end: at + 5,
  };
}

function message(query: Buffer, questionEnd: number, reply: DnsReply): Buffer {
  const records = reply.records ?? [];
  const code = codes[reply.code ?? 'NOERROR'];
  // A response, recursion desired and available
  const flags = 0x8180 | (reply.truncated === true ? 0x200 : 0) | code;
  const counts = [1, records.length, 0, 0].map(uint16);
  return Buffer.concat([
    query.subarray(0, 2),
    uint16(flags),
    ...counts,
    query.subarray(headerBytes, questionEnd),
    ...records.map(recordBytes),
  ]);
}

function recordBytes({ type, value, name, ttl = 300 }: DnsRecord): Buffer {
  const owner = name === undefined ? uint16(0xc000 | headerBytes) : nameBytes(name);
  const data = type === 'CNAME' ? nameBytes(value) : addressBytes(value);
  const ttlBytes = Buffer.alloc(4);
  ttlBytes.writeUInt32BE(ttl);
  return Buffer.concat([
    owner,
    uint16(types[type]),
    uint16(1),
    ttlBytes,
    uint16(data.length),
    data,
  ]);
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => {
    return Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  });
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function addressBytes(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  // The URL parser writes IPv4 at the end as groups; `::` stands for as many zeros as are missing.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = '', tail] = groups.split('::');
  const [left, right] = [head, tail ?? ''].map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - (left?.length ?? 0) - (right?.length ?? 0)).fill('0');
  const all = [...(left ?? []), ...zeros, ...(right ?? [])];
  return Buffer.concat(all.map((group) => uint16(parseInt(group, 16))));
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
