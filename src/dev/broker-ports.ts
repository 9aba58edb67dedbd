import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrokerPorts } from './broker-config.ts';

/**
 * Below those that systems give to outgoing connections (from 32,768 on Linux): one of these could take a
 * broker's port while it is down, or be connected to itself, as if somebody listened.
 */
const lowestPort = 20_000;
const highestPort = 32_000;
const mostTries = 100;
/** A client's, a controller's, and one behind a proxy. */
const portsOfBroker = 3;
const tryAgainMs = 100;

/** Ports that nobody listens on, `proxyPorts.length` of them behind proxies. */
export async function freePorts(
  count: number,
  proxyPorts: readonly number[],
): Promise<BrokerPorts[]> {
  const servers = await Promise.all(Array.from({ length: count * portsOfBroker }, holdFreePort));
  return portsOf(await letGo(servers), proxyPorts);
}

/**
 * The ports that the file names, so that whoever knows them finds the brokers again; others where they are
 * not free within `waitMs`, or there is no such file. The file names them then.
 */
export async function keptPorts(
  file: string,
  count: number,
  waitMs: number,
): Promise<{ readonly ports: BrokerPorts[]; readonly areOthers: boolean }> {
  const kept = await readPorts(file, count);
  const untilMs = Date.now() + waitMs;
  while (kept !== undefined) {
    if (await areFree(kept)) return { ports: portsOf(kept, []), areOthers: false };
    if (Date.now() >= untilMs) break;
    await delay(tryAgainMs);
  }
  const ports = await freePorts(count, []);
  const numbers = ports.flatMap(({ client, controller }) => [client, controller, 0]);
  await writeFile(file, `${JSON.stringify(numbers)}\n`);
  return { ports, areOthers: kept !== undefined };
}

async function readPorts(file: string, count: number): Promise<readonly number[] | undefined> {
  try {
    const json: unknown = JSON.parse(await readFile(file, 'utf8'));
    const isPort = (port: unknown): boolean =>
      Number.isInteger(port) && (port as number) >= 0 && (port as number) < 65_536;
    const arePorts =
      Array.isArray(json) && json.length === count * portsOfBroker && json.every(isPort);
    return arePorts ? (json as readonly number[]) : undefined;
  } catch {
    return undefined;
  }
}

/** Held open together, so that no two are the same. */
async function areFree(ports: readonly number[]): Promise<boolean> {
  const held = await Promise.allSettled(ports.map(hold));
  await letGo(held.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])));
  return held.every(({ status }) => status === 'fulfilled');
}

async function hold(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function holdFreePort(): Promise<Server> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await hold(randomInt(lowestPort, highestPort));
    } catch (error) {
      if (tries === mostTries) throw error;
    }
  }
}

async function letGo(servers: readonly Server[]): Promise<number[]> {
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}

function portsOf(numbers: readonly number[], proxyPorts: readonly number[]): BrokerPorts[] {
  return Array.from({ length: numbers.length / portsOfBroker }, (_, index) => {
    const [client = 0, controller = 0, broker = 0] = numbers.slice(index * portsOfBroker);
    const proxy = proxyPorts[index];
    return { client, controller, ...(proxy === undefined ? {} : { proxied: { broker, proxy } }) };
  });
}
