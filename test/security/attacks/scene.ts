import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { startReceiver, type Arrival, type Receiver } from '../../../src/dev/receiver.ts';
import { eventually } from '../../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../../harness/postrider.ts';
import { Browser, tokensFile, twoTokens } from '../../console/access/stand.ts';

/**
 * One deployment for all attacks: every role with the heap that it has in production, and an endpoint. A test names its
 * resources after its attack, so that they don't meet those of others, and does only what its attacker may do: HTTP
 * requests with public keys and links, resource files, commands.
 */
export class Scene {
  readonly postrider: Installation;
  readonly gateway: RunningRole;
  console: RunningRole;
  readonly #others: readonly RunningRole[];
  readonly #receiver: Receiver;
  readonly #arrivals: readonly Arrival[];
  readonly #dir: string;

  private constructor(
    postrider: Installation,
    roles: Pick<Scene, 'gateway' | 'console'> & { readonly others: readonly RunningRole[] },
    endpoint: { readonly receiver: Receiver; readonly arrivals: readonly Arrival[] },
    dir: string,
  ) {
    this.postrider = postrider;
    this.gateway = roles.gateway;
    this.console = roles.console;
    this.#others = roles.others;
    this.#receiver = endpoint.receiver;
    this.#arrivals = endpoint.arrivals;
    this.#dir = dir;
  }

  static async start(): Promise<Scene> {
    const arrivals: Arrival[] = [];
    const receiver = await startReceiver({
      port: 0,
      answer: (arrival) => {
        arrivals.push(arrival);
        return { status: 200 };
      },
    });
    const dir = await mkdtemp(path.join(tmpdir(), 'postrider-test-'));
    const postrider = await install({
      CONSOLE_DATA_DIR: dir,
      CONSOLE_SESSION_KEY: randomBytes(32).toString('base64'),
      CONSOLE_TOKENS_FILE: tokensFile(twoTokens),
    });
    await succeeded(postrider.run(['topics', '--create']));
    const [gateway, shown, ...others] = await Promise.all([
      postrider.start('gateway'),
      startConsole(postrider),
      postrider.start('router'),
      postrider.start('delivery'),
    ]);
    const roles = { gateway, console: shown, others };
    return new Scene(postrider, roles, { receiver, arrivals }, dir);
  }

  async stop(): Promise<void> {
    const roles = [this.gateway, this.console, ...this.#others];
    await Promise.all(roles.map((role) => role.kill('SIGKILL')));
    await this.#receiver.close();
    await rm(this.#dir, { recursive: true, force: true });
  }

  async restartConsole(): Promise<void> {
    await this.console.kill('SIGTERM');
    this.console = await startConsole(this.postrider);
  }

  /** Somebody of `twoTokens`, who has logged in to the console. */
  async staff(name: 'olga' | 'vera'): Promise<Browser> {
    const browser = new Browser(this.console.consoleUrl);
    assert.equal((await browser.submit('/login', { token: `${name}-token` })).status, 303);
    return browser;
  }

  /** Somebody who has opened a link that shows this destination, with bodies. */
  async customer(destination: string): Promise<Browser> {
    const { consoleUrl } = this.console;
    const env = { CONSOLE_URL: consoleUrl };
    const args = ['console-link', destination, '--bodies'];
    const link = (await succeeded(this.postrider.run(args, { env }))).trim();
    const browser = new Browser(consoleUrl);
    await eventually(async () => {
      assert.equal((await browser.get(link)).status, 200);
    });
    return browser;
  }

  /** Runs a command that succeeds; resolves with what it prints. */
  run(args: readonly string[], stdin: string = ''): Promise<string> {
    return succeeded(this.postrider.run(args, { stdin }));
  }

  async apply(...resources: readonly object[]): Promise<void> {
    await this.run(['apply', '-f', '-'], JSON.stringify(resources));
  }

  /** A destination of ours; what arrives there, `arrivedAt` tells. */
  destination(id: string, source: string): object {
    const webhooks = [{ url: `${this.#receiver.url}/${id}` }];
    return { kind: 'Destination', id, name: id, sources: [source], webhooks };
  }

  arrivedAt(destination: string): readonly Arrival[] {
    return this.#arrivals.filter((arrival) => arrival.path === `/${destination}`);
  }

  /** One request to the gateway, packed as an attacker packs it. */
  async post(
    route: string,
    body: object | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(`${this.gateway.gatewayUrl}/v1/${route}`, {
      method: 'POST',
      body: gzipSync(text),
      headers,
    });
  }

  /** The CPU time that a role takes while this is done, in seconds. */
  async cpuSecondsOf({ url }: RunningRole, work: () => Promise<unknown>): Promise<number> {
    const used = async (): Promise<number> => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const found = /^process_cpu_seconds_total (\S+)$/m.exec(metrics)?.[1];
      return Number(found ?? assert.fail('no metric of the CPU time'));
    };
    const before = await used();
    await work();
    return (await used()) - before;
  }
}

/** Basic authentication with a write key. */
export function keyHeader(writeKey: string): { readonly authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` };
}

export function source(id: string, ...writeKeys: readonly string[]): object {
  return { kind: 'Source', id, name: id, writeKeys };
}

function startConsole(postrider: Installation): Promise<RunningRole> {
  return postrider.start('console', {
    NODE_OPTIONS: '--max-old-space-size=300 --max-semi-space-size=8',
  });
}

async function succeeded(ended: ReturnType<Installation['run']>): Promise<string> {
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 0, stderr);
  return stdout;
}
