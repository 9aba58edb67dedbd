import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { CachingResolver, HostsFile } from '../../../src/delivery/http/name-resolver.ts';
import { startDnsServer } from '../../harness/dns-server.ts';
import { eventually } from '../../harness/eventually.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import { closeAfterwards, createSender, listen, post, rawServer } from './sender-scene.ts';

const secondMs = 1_000;
/** Five minutes, less and more a tenth. */
const [leastAgeS, greatestAgeS] = [270, 330];

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

interface Place {
  requests: number;
  connections: number;
}

/** Says 200 at one address of this machine, at a port that may be taken from another place. */
async function open(address: string, wantedPort = 0): Promise<{ place: Place; port: number }> {
  const place = { requests: 0, connections: 0 };
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    place.requests += 1;
    request.resume();
    response.end('ok');
  });
  server.on('connection', () => (place.connections += 1));
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  return { place, port: await listen(server, address, wantedPort) };
}

test('a busy connection follows its name to another address, and no attempt fails', async () => {
  const clock = new SimulatedClock();
  const { place: former, port } = await open('127.0.0.1');
  const { place: later } = await open('127.0.0.2', port);
  let address = '127.0.0.1';
  const dns = await startDnsServer(({ type }) => ({
    records: type === 'A' ? [{ type, value: address }] : [],
  }));
  closeAfterwards(dns.close);
  const hostsFile = new HostsFile(clock, '/nonexistent');
  const resolver = new CachingResolver(clock, { servers: [dns.address], hostsFile });
  const sender = createSender({ clock, resolver });
  const verdicts = new Set<string>();
  for (let second = 0; second <= greatestAgeS + 1; second += 1) {
    if (second === 60) address = '127.0.0.2';
    const { verdict } = await post(`http://crm.example:${port}/`, { sender });
    verdicts.add(verdict);
    await clock.pass(secondMs);
  }
  assert.deepEqual([...verdicts], ['delivered']);
  assert.deepEqual([former.connections, later.connections], [1, 1]);
  assert.ok(former.requests >= leastAgeS, `${former.requests} requests on the first connection`);
  assert.equal(former.requests + later.requests, greatestAgeS + 2);
});

test('connections that were opened together do not end together', async () => {
  const clock = new SimulatedClock();
  /** Of each connection of the first round, when its last request came. */
  const lastS: number[] = [];
  let second = 0;
  const { url } = await rawServer((socket) => {
    const index = second === 0 ? lastS.push(0) - 1 : undefined;
    socket.on('data', () => {
      if (index !== undefined) lastS[index] = second;
      socket.write(ok);
    });
  });
  const sender = createSender({ clock });
  const together = 20;
  const everyS = 5;
  for (; second <= greatestAgeS + 10; second += everyS) {
    const posts = Array.from({ length: together }, () => post(url, { sender }));
    for (const { verdict } of await Promise.all(posts)) assert.equal(verdict, 'delivered');
    await clock.pass(everyS * secondMs);
  }
  assert.equal(lastS.length, together);
  const [first, last] = [Math.min(...lastS), Math.max(...lastS)];
  const between = `all between ${first} and ${last} s`;
  // One that becomes old between two requests is closed then, and its last request was before.
  assert.ok(first >= leastAgeS - everyS && last <= greatestAgeS, between);
  assert.ok(last - first >= 10, between);
});

test('a request that is on its way when its connection has become old is not cut', async () => {
  const clock = new SimulatedClock();
  const server = createServer({ keepAliveTimeout: 0 });
  const url = `http://127.0.0.1:${await listen(server)}`;
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  const ports = new Set<unknown>();
  server.on('request', (request) => ports.add(request.socket.remotePort));
  const sender = createSender({ clock, timeoutMs: 3_600_000 });
  const begin = async (): Promise<[ReturnType<typeof post>, ServerResponse]> => {
    const asked = once(server, 'request') as Promise<[unknown, ServerResponse]>;
    const result = post(url, { sender });
    const [, response] = await asked;
    return [result, response];
  };
  const [first, answered] = await begin();
  answered.end();
  await first;
  const [second, response] = await begin();
  await clock.pass(greatestAgeS * secondMs);
  response.write('half of');
  await clock.pass(secondMs);
  const { socket } = response;
  response.end(' an answer');
  assert.equal((await second).verdict, 'delivered');
  await eventually(() => {
    assert.ok(socket?.closed);
  });
  assert.equal(ports.size, 1);
  const [third, last] = await begin();
  last.end();
  assert.equal((await third).verdict, 'delivered');
  assert.equal(ports.size, 2);
});
