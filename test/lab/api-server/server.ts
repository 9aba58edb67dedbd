import { spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { freePorts } from '../../harness/free-ports.ts';
import { eventually } from '../../harness/eventually.ts';
import { findProgram, type Program } from '../../harness/programs.ts';
import { collect, failIfEnded } from '../../harness/run-command.ts';
import type { Manifest } from '../../deploy/manifest.ts';

const etcd: Program = {
  name: 'etcd',
  install: 'apt-get install -y --no-install-recommends etcd-server',
};
const kubeApiserver: Program = {
  name: 'kube-apiserver',
  install: 'bash test/deploy/kube-apiserver.sh',
};

/** What an API server said to a manifest. */
export interface Answer {
  readonly status: number;
  /** As stored; of a refusal, what is wrong. */
  readonly body: Manifest & { readonly message?: string };
  readonly warnings: readonly string[];
}

/** A real kube-apiserver on a real etcd, on loopback. It runs no controllers, so nothing starts pods. */
export class ApiServer {
  readonly #processes: readonly ChildProcess[];
  readonly #folder: string;
  readonly #url: string;
  readonly #token: string;
  readonly #agent = new Agent({ connect: { rejectUnauthorized: false } });
  #resources = new Map<string, { readonly plural: string; readonly namespaced: boolean }>();

  private constructor(
    processes: readonly ChildProcess[],
    folder: string,
    url: string,
    token: string,
  ) {
    this.#processes = processes;
    this.#folder = folder;
    this.#url = url;
    this.#token = token;
  }

  /** @throws what has to be installed */
  static async start(): Promise<ApiServer> {
    const [etcdPath, apiserverPath] = [etcd, kubeApiserver].map((program) => {
      const path = findProgram(program);
      if (path === undefined) throw new Error(`${program.name} is missing: ${program.install}`);
      return path;
    });
    const folder = mkdtempSync(join(tmpdir(), 'postrider-api-server-'));
    const [client, peer, secure] = await freePorts(3);
    const clientUrl = `http://127.0.0.1:${String(client)}`;
    const peerUrl = `http://127.0.0.1:${String(peer)}`;
    const store = run(String(etcdPath), {
      'data-dir': join(folder, 'etcd'),
      'listen-client-urls': clientUrl,
      'advertise-client-urls': clientUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
      // Nothing has to survive a crash of this machine.
      'unsafe-no-fsync': 'true',
    });
    const token = randomBytes(16).toString('hex');
    const key = join(folder, 'sa.key');
    const tokens = join(folder, 'tokens.csv');
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(key, privateKey.export({ type: 'pkcs1', format: 'pem' }));
    writeFileSync(tokens, `${token},test,test,system:masters\n`);
    const server = run(String(apiserverPath), {
      'etcd-servers': clientUrl,
      'bind-address': '127.0.0.1',
      'secure-port': String(secure),
      'cert-dir': join(folder, 'certs'),
      'service-cluster-ip-range': '10.0.0.0/24',
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-signing-key-file': key,
      'service-account-key-file': key,
      'token-auth-file': tokens,
      'authorization-mode': 'AlwaysAllow',
      // A controller would make the accounts' tokens.
      'disable-admission-plugins': 'ServiceAccount',
    });
    const log = collect(server.stderr);
    const url = `https://127.0.0.1:${String(secure)}`;
    const started = new ApiServer([server, store], folder, url, token);
    try {
      await eventually(async () => {
        failIfEnded(server, log());
        const { status } = await started.#ask('GET', '/readyz');
        if (status !== 200) throw new Error(log());
      }, 120_000);
      await started.#discover();
      return started;
    } catch (error) {
      await started.stop();
      throw error;
    }
  }

  /** Defines custom resources; resolves once manifests of their kinds are taken. */
  async define(definitions: readonly Manifest[]): Promise<void> {
    for (const definition of definitions) {
      const { status, body } = await this.apply(definition);
      if (status >= 300) throw new Error(body.message);
    }
    await eventually(async () => {
      await this.#discover();
      for (const { spec } of definitions as unknown as readonly Definition[]) {
        const kind = `${spec.group}/${spec.versions[0]?.name ?? ''} ${spec.names.kind}`;
        if (!this.#resources.has(kind)) throw new Error(`${kind} is not served yet`);
      }
    });
  }

  /** As `kubectl apply --server-side --validate=strict`; `dryRun`: nothing is stored. */
  async apply(manifest: Manifest, dryRun = false): Promise<Answer> {
    const query = `fieldManager=test&fieldValidation=Strict&force=true${dryRun ? '&dryRun=All' : ''}`;
    const path = `${this.#pathOf(manifest)}/${manifest.metadata.name}?${query}`;
    return this.#ask('PATCH', path, manifest, 'application/apply-patch+yaml');
  }

  /** What would become of an object without a name of its own yet. */
  async tryToCreate(manifest: Manifest): Promise<Answer> {
    const query = 'dryRun=All&fieldValidation=Strict';
    return this.#ask('POST', `${this.#pathOf(manifest)}?${query}`, manifest, 'application/json');
  }

  async delete(manifest: Manifest): Promise<Answer> {
    const path = `${this.#pathOf(manifest)}/${manifest.metadata.name}`;
    return this.#ask('DELETE', `${path}?propagationPolicy=Background`);
  }

  async stop(): Promise<void> {
    await this.#agent.close();
    for (const child of this.#processes) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(this.#folder, { recursive: true });
  }

  async #discover(): Promise<void> {
    const groups = (await this.#ask('GET', '/apis')).body as unknown as {
      readonly groups: readonly {
        readonly versions: readonly { readonly groupVersion: string }[];
      }[];
    };
    const versions = groups.groups.flatMap((group) => group.versions.map((v) => v.groupVersion));
    for (const version of ['v1', ...versions]) {
      const path = version === 'v1' ? '/api/v1' : `/apis/${version}`;
      const { body } = await this.#ask('GET', path);
      const { resources = [] } = body as unknown as {
        readonly resources?: readonly { name: string; kind: string; namespaced: boolean }[];
      };
      for (const { name, kind, namespaced } of resources)
        if (!name.includes('/'))
          this.#resources.set(`${version} ${kind}`, { plural: name, namespaced });
    }
  }

  #pathOf({ apiVersion, kind, metadata }: Manifest): string {
    const resource = this.#resources.get(`${apiVersion} ${kind}`);
    if (resource === undefined) throw new Error(`the API server has no ${apiVersion} ${kind}`);
    const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const namespace = resource.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
    return `${group}${namespace}/${resource.plural}`;
  }

  async #ask(
    method: 'GET' | 'PATCH' | 'POST' | 'DELETE',
    path: string,
    body?: Manifest,
    type?: string,
  ): Promise<Answer> {
    const {
      statusCode,
      headers,
      body: answer,
    } = await request(`${this.#url}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(type === undefined ? {} : { 'content-type': type }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    const warnings = [headers['warning'] ?? []].flat();
    const isJson = String(headers['content-type']).startsWith('application/json');
    return {
      status: statusCode,
      body: (isJson ? JSON.parse(text) : { message: text }) as Answer['body'],
      warnings,
    };
  }
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string }[];
  };
}

function run(
  program: string,
  flags: Readonly<Record<string, string>>,
): ChildProcess & { readonly stderr: NodeJS.ReadableStream } {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.on('data', () => undefined);
  return child;
}
