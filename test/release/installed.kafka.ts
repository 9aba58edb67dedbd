import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { nodes, tool } from '../client/packed.ts';
import { readPage } from '../docs/pages.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { freePorts } from '../harness/free-ports.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { collect, failIfEnded, type Environment } from '../harness/run-command.ts';
import { version } from '../../src/ops/process.ts';
import type { Bill } from './bill.ts';
import { packAll } from './pack.ts';

const run = promisify(execFile);

/** A running program, with all that it has written. */
interface Program {
  readonly process: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

let folder: string;
let installed: string;
let tarball: string;
let published: readonly string[];
let environment: Environment;
const started: ChildProcess[] = [];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-package-'));
  published = await packAll(folder);
  tarball = join(folder, published[0] ?? '');
  installed = join(folder, 'empty');
  await mkdir(installed);
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await run('npm', ['install', tarball, ...quiet], { cwd: installed });
  const { brokers } = await testBroker();
  const [gateway = 0, api = 0] = await freePorts(2);
  environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: testPrefix(),
    TOPIC_PARTITIONS: '2',
    GATEWAY_PORT: String(gateway),
    OPS_PORT: '0',
    CONSOLE_PORT: '0',
    API_PORT: String(api),
    LOG_FORMAT: 'json',
  };
});

after(async () => {
  for (const { pid } of started) killGroup(pid);
  await rm(folder, { recursive: true, force: true });
});

/** Runs lines of a page, as if somebody typed them in the folder. */
function shell(script: string, more: Environment = {}): Program {
  const child = spawn('bash', ['-euc', script], {
    cwd: installed,
    env: { ...environment, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  started.push(child);
  return { process: child, stdout: collect(child.stdout), stderr: collect(child.stderr) };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

async function shows(program: Program, expected: RegExp): Promise<RegExpExecArray> {
  return eventually(() => {
    const found = expected.exec(program.stdout());
    if (found !== null) return found;
    failIfEnded(program.process, program.stdout() + program.stderr());
    throw new Error(`${expected.source} is not in:\n${program.stdout()}${program.stderr()}`);
  });
}

test('the files of a release are those of the table in CONTRIBUTING.md', () => {
  const [, table = ''] = /^## Release\n([^]*?)^## /m.exec(readPage('CONTRIBUTING.md')) ?? [];
  const named = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
  assert.deepEqual(
    published.toSorted(),
    named.map((name) => name.replace('VERSION', version)).toSorted(),
  );
});

test('publint finds nothing in the package', async () => {
  await tool('publint/src/cli.js', ['run', tarball, '--strict'], folder);
});

test('the package has the compiled program and its pages, and neither sources nor tests', async () => {
  const { stdout } = await run('tar', ['-tzf', tarball]);
  const files = stdout
    .trim()
    .split('\n')
    .map((path) => path.replace('package/', ''));
  assert.deepEqual(files.filter((path) => !path.startsWith('dist/')).sort(), [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'deploy/compose/kafka.yml',
    'package.json',
  ]);
  const endings = new Set(files.map((path) => /\.[^./]+$/.exec(path)?.[0]));
  assert.deepEqual([...endings].sort(), [
    '.css',
    '.gz',
    '.html',
    '.js',
    '.json',
    '.md',
    '.mjs',
    '.svg',
    '.yml',
    undefined,
  ]);
});

test('the bill has what an installation gets, and what the pages contain', async () => {
  const name = published.find((each) => each.endsWith('.cdx.json')) ?? '';
  const bill = JSON.parse(await readFile(join(folder, name), 'utf8')) as Bill;
  assert.equal(bill.bomFormat, 'CycloneDX');
  assert.equal(bill.metadata.component['bom-ref'], `postrider@${version}`);
  const listed = new Set(bill.components.map(({ name }) => name));
  const { stdout } = await run('npm', ['ls', '--all', '--parseable', '--long'], { cwd: installed });
  // Their versions are newer where a dependency's own dependency has a release since the lock file.
  const got = [...stdout.matchAll(/:(@?[^@:\s]+)@[^@:\s]+$/gm)].map(([, each = '']) => each);
  assert.ok(got.length > 50, stdout);
  assert.deepEqual(
    got.filter((each) => !listed.has(each) && each !== 'postrider'),
    [],
  );
  const web = readdirSync(new URL('../../src/console/web', import.meta.url), { recursive: true });
  const imported = web
    .map(String)
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => readPage(`src/console/web/${file}`).replaceAll(/`[^`]*`/g, ''))
    .flatMap((program) => [...program.matchAll(/from '(\w[^'/]*)/g)]);
  for (const [, each = ''] of imported) assert.ok(listed.has(each), each);
  assert.ok(!listed.has('typescript'));
});

test('an installation takes less than 150 MB with all optional packages', async () => {
  const { stdout } = await run('du', ['-sm', join(installed, 'node_modules')]);
  assert.ok(Number.parseInt(stdout) < 150, stdout);
});

testNeeding(
  [programs.node22],
  'the program runs with each Node.js, which may be too old for it',
  async () => {
    for (const node of await nodes()) {
      const PATH = [dirname(node), environment['PATH']].join(delimiter);
      const { stdout } = await run('npx', ['postrider', '--version'], {
        cwd: installed,
        env: { ...environment, PATH },
      });
      assert.equal(stdout, `${version}\n`, node);
    }
  },
);

test('the tour of the README works word for word where the package is installed', async () => {
  const [, tour = ''] = /^## Take a tour\n([^]*?)^## /m.exec(readPage('README.md')) ?? [];
  const blocks = [...tour.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, script = '']) => script);
  assert.equal(blocks.length, 6);
  const [port = 0] = await freePorts(1);
  // The ports are the only difference, because others use those of the page on this machine.
  const [listen = '', dev = '', send = '', ask = '', put = '', redrive = ''] = blocks.map(
    (script) =>
      script
        .replaceAll(':9000/', `:${port}/`)
        .replaceAll(':8080/', `:${environment['GATEWAY_PORT'] ?? ''}/`)
        .replaceAll(':8082/', `:${environment['API_PORT'] ?? ''}/`)
        .replace('postrider listen', `postrider listen --port ${port}`),
  );
  const exported = (ask.match(/^export .*$/gm) ?? []).join('\n');
  const [list = '', again = ''] = redrive.split(/\n(?=npx)/).map((each) => `${exported}\n${each}`);

  const endpoint = shell(listen);
  await shows(endpoint, /\n/);
  await shows(shell(dev), /^ready .*console http/m);
  await shows(shell(send), /success/);
  await shows(endpoint, /Signed Up[^]*valid|valid[^]*Signed Up/);
  await answers(ask, /delivered, 200/);
  await answers(put, /"managedBy":"api"/);

  killGroup(endpoint.process.pid);
  const refusing = shell(listen.trimEnd() + ' --status 400');
  await shows(refusing, /\n/);
  await shows(shell(send), /success/);
  await answers(list, /crm/);

  killGroup(refusing.process.pid);
  const mended = shell(listen);
  await shows(mended, /\n/);
  await answers(again, /1/);
  await shows(mended, /valid/);
});

/** Asks until the answer is complete: what a role has done is known a moment later. */
async function answers(script: string, expected: RegExp): Promise<void> {
  await eventually(async () => {
    const { stdout } = await run('bash', ['-euc', script], { cwd: installed, env: environment });
    assert.match(stdout, expected);
  });
}

test('roles start without the packages that only others need, and those say what is missing', async () => {
  for (const name of ['@duckdb', 'pg', 'pg-copy-streams'])
    await rm(join(installed, 'node_modules', name), { recursive: true });
  const own = { TOPIC_PREFIX: testPrefix(), SECRET_KEY: Buffer.alloc(32, 3).toString('base64') };
  const command = (name: string): Program =>
    shell(`exec npx postrider ${name}`, { ...own, GATEWAY_PORT: '0' });
  const topics = command('topics --create');
  await eventually(() => {
    assert.equal(topics.process.exitCode, 0, topics.stderr());
  });
  const roles = ['gateway', 'router', 'delivery'].map(command);
  await Promise.all(
    roles.map((role) =>
      eventually(async () => {
        failIfEnded(role.process, role.stderr());
        const ops = /"ops":"([^"]+)"/.exec(role.stderr())?.[1] ?? '';
        assert.equal((await fetch(`${ops}/readyz`)).status, 200, role.stderr());
      }),
    ),
  );
  const shown = command('console');
  await eventually(() => {
    assert.equal(shown.process.exitCode, 1);
  });
  assert.match(
    shown.stderr(),
    /^postrider: this needs the package @duckdb\/node-api, which is optional and not installed; run npm install @duckdb\/node-api$/m,
  );
});
