import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { HttpSender } from '../../../src/delivery/http/http-sender.ts';
import {
  CachingResolver,
  HostsFile,
  parseHosts,
} from '../../../src/delivery/http/name-resolver.ts';
import { conditionShownBy } from '../../../src/delivery/outcome.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import type { SteadyClock } from '../../../src/ops/clock.ts';
import { startDnsServer } from '../../harness/dns-server.ts';
import type { DnsQuestion, DnsRecord, DnsReply, DnsServer } from '../../harness/dns-server.ts';
import { SimulatedClock } from '../simulated-clock.ts';
import { closeAfterwards, closedPort, createSender, listen, post } from './sender-scene.ts';
import type { Result, SenderSetup } from './sender-scene.ts';

/** Stands for every public address: the one that the guard lets through here. */
const open = '127.0.0.1';
/** Stands for the inside of the network: somebody listens there, and must never hear anything. */
const inside = '127.0.0.2';

let insideConnections = 0;
const server = createHttpServer((request, response) => {
  request.resume();
  response.end();
});
const port = await listen(server);
closeAfterwards(() => {
  server.closeAllConnections();
});
const insideServer = createTcpServer(() => {
  insideConnections += 1;
});
// Some systems have 127.0.0.1 only: there nothing can listen, and nothing be reached.
insideServer.on('error', () => undefined);
insideServer.listen(port, inside);
closeAfterwards(() => insideServer.close());

const noHosts = new HostsFile(systemClock, '/nonexistent');

interface Scene {
  readonly sender: HttpSender;
  readonly dns: DnsServer;
  passMs: (ms: number) => void;
}

/** A sender whose names come from a server that answers like this. */
async function scene(
  answer: (question: DnsQuestion) => DnsReply | undefined,
  setup: SenderSetup = {},
): Promise<Scene> {
  const dns = await startDnsServer(answer);
  closeAfterwards(dns.close);
  let passedMs = 0;
  const clock: SteadyClock = {
    ...systemClock,
    steadyNow: () => systemClock.steadyNow() + passedMs,
  };
  const resolver = new CachingResolver(clock, { servers: [dns.address], hostsFile: noHosts });
  const sender = createSender({ allowNetworks: [`${open}/32`], resolver, ...setup });
  return { sender, dns, passMs: (ms) => (passedMs += ms) };
}

async function verdict({ sender }: Scene, host: string = 'crm.example'): Promise<string> {
  return verdictOf(await post(`http://${host}:${port}/`, { sender }));
}

/** For one attempt, and with the name of the setting that can allow the address. */
const refusedForNow = 'retryable: dns, not a public address';

function verdictOf({ outcome, verdict }: Result): string {
  const isRefused =
    outcome.kind === 'retryable' &&
    /resolves to \S+, which is not a public address; DELIVERY_ALLOW_NETWORKS can allow it$/.test(
      outcome.detail,
    );
  return isRefused ? `${verdict}, not a public address` : verdict;
}

/** Answers each question with those of the records that have its type, and CNAMEs. */
function zone(...records: readonly DnsRecord[]): (question: DnsQuestion) => DnsReply {
  return ({ type }) => ({
    records: records.filter((record) => record.type === type || record.type === 'CNAME'),
  });
}

function a(...values: readonly string[]): DnsRecord[] {
  return values.map((value) => ({ type: 'A', value }));
}

function aaaa(...values: readonly string[]): DnsRecord[] {
  return values.map((value) => ({ type: 'AAAA', value }));
}

const minuteMs = 60_000;
const manyOpen = Array<string>(40).fill(open);

const refused: readonly [string, (question: DnsQuestion) => DnsReply | undefined][] = [
  ['a private address', zone(...a('10.0.0.1'))],
  ['a loopback address', zone(...a(inside))],
  ['this host', zone(...a('0.0.0.0'))],
  ["a cloud's metadata service", zone(...a('169.254.169.254'))],
  ['a public address and then a private one', zone(...a(open, inside))],
  ['a private address and then a public one', zone(...a(inside, open))],
  ['a public address and a private IPv6 address', zone(...a(open), ...aaaa('fd00::1'))],
  ['a private address and a public IPv6 address', zone(...a(inside), ...aaaa('2606:4700::1111'))],
  ['IPv6 loopback alone', zone(...aaaa('::1'))],
  ['a private address mapped into IPv6', zone(...aaaa('::ffff:10.0.0.1'))],
  ['a private address behind NAT64', zone(...a(open), ...aaaa('64:ff9b::a00:1'))],
  [
    "a private address behind the network's own NAT64",
    (question) =>
      question.name === 'ipv4only.arpa'
        ? zone(...aaaa('2001:67c:1::c000:aa'))(question)
        : zone(...a(open), ...aaaa('2001:67c:1::a00:1'))(question),
  ],
  ['an IPv4-compatible address', zone(...aaaa('::127.0.0.2'))],
  ['forty public addresses with a private one at their end', zone(...a(...manyOpen, inside))],
  [
    'a private address at the end of a chain of names',
    zone(
      { type: 'CNAME', value: 'cdn.example' },
      { type: 'CNAME', name: 'cdn.example', value: 'edge.example' },
      { type: 'A', name: 'edge.example', value: inside },
    ),
  ],
  [
    'a private address in the answer over TCP, for which the truncated one asked',
    ({ transport, type }) =>
      transport === 'udp'
        ? { truncated: true, records: type === 'A' ? a(open) : [] }
        : { records: type === 'A' ? a(inside) : [] },
  ],
];

const failing: readonly [string, (question: DnsQuestion) => DnsReply | undefined][] = [
  ['that there is no such name', () => ({ code: 'NXDOMAIN' })],
  ['that it failed', () => ({ code: 'SERVFAIL' })],
  ['that it will not say', () => ({ code: 'REFUSED' })],
  ['nothing', zone()],
  ['a name without an address', zone({ type: 'CNAME', value: 'localhost' })],
  ['a name that leads to itself', zone({ type: 'CNAME', value: 'crm.example' })],
  ['what is no message', () => ({ bytes: Buffer.from('220 mail.example ESMTP\r\n') })],
  ['more addresses than anybody has', zone(...a(...Array<string>(100).fill(open)))],
];

describe('a name', () => {
  for (const [title, answer] of refused)
    test(`that leads to ${title} is refused for this attempt`, async () => {
      assert.equal(await verdict(await scene(answer)), refusedForNow);
    });

  test('that is refused counts as down, and its outcome says which address it was', async () => {
    const { sender } = await scene(zone(...a(open, '10.0.0.1')));
    const { outcome } = await post(`http://crm.example:${port}/`, { sender });
    assert.ok(outcome.kind === 'retryable' && outcome.cause === 'dns');
    assert.match(outcome.detail, /crm\.example resolves to 10\.0\.0\.1, /);
    assert.equal(conditionShownBy(outcome), 'down');
  });

  for (const [title, answer] of failing)
    test(`of which the name server says ${title} may be tried again`, async () => {
      assert.equal(await verdict(await scene(answer)), 'retryable: dns');
    });

  test('of which nothing is heard may be tried again', async () => {
    assert.equal(await verdict(await scene(() => undefined)), 'retryable: timeout');
  });

  test('whose server is not there may be tried again', async () => {
    const gone = await scene(() => undefined);
    gone.dns.close();
    assert.equal(await verdict(gone), 'retryable: dns');
  });

  test('of public addresses only is connected to, however its server spells the answer', async () => {
    for (const answer of [
      zone(...a(open)),
      zone(...a(...manyOpen)),
      zone(...aaaa('::ffff:127.0.0.1')),
      zone(...a(open), ...aaaa('64:ff9b::127.0.0.1')),
      zone(
        { type: 'CNAME', value: 'edge.example' },
        { type: 'A', name: 'edge.example', value: open },
      ),
      zone({ type: 'A', value: open, ttl: 0 }),
    ])
      assert.equal(await verdict(await scene(answer)), 'delivered');
  });

  test('with a dot at its end is the same name', async () => {
    const answering = await scene(zone(...a(open)));
    assert.equal(await verdict(answering, 'crm.example.'), 'delivered');
    assert.equal(await verdict(answering, 'CRM.example'), 'delivered');
    assert.deepEqual(
      answering.dns.questions.map(({ name, type }) => [name, type]),
      [
        ['crm.example', 'A'],
        ['crm.example', 'AAAA'],
      ],
    );
  });

  test('that looks like an address is asked for like any other', async () => {
    const answering = await scene(zone(...a(inside)));
    for (const host of ['127.0.0.1.example', '127-0-0-1.example', '0x7f.1.example'])
      assert.equal(await verdict(answering, host), refusedForNow, host);
  });

  test('of localhost is not asked for', async () => {
    const answering = await scene(zone(...a('93.184.216.34')));
    for (const host of ['localhost', 'api.localhost', 'localhost.'])
      assert.equal(await verdict(answering, host), 'delivered', host);
    assert.equal(answering.dns.questions.length, 0);
  });

  test('whose IPv6 answer never comes is connected to by its IPv4 answer', async () => {
    const answer = ({ type }: DnsQuestion): DnsReply | undefined =>
      type === 'A' ? { records: a(open) } : undefined;
    assert.equal(await verdict(await scene(answer, { timeoutMs: 10_000 })), 'delivered');
  });

  test('that nobody answers for holds up no other', async () => {
    const answering = await scene(({ name }) =>
      name.startsWith('hang') ? undefined : { records: a(open) },
    );
    const hanging = Array.from({ length: 50 }, (_, i) => verdict(answering, `hang${i}.example`));
    assert.equal(await verdict(answering), 'delivered');
    for (const each of hanging) assert.equal(await each, 'retryable: timeout');
  });
});

describe('a name server that fails after it had answered', () => {
  /** Answers with these replies, one after the other, and then always with the last. */
  async function known(...replies: readonly DnsReply[]): Promise<Scene> {
    let asked = 0;
    const answering = await scene(({ type }) => {
      if (type !== 'A') return {};
      asked += 1;
      return replies[Math.min(asked, replies.length) - 1];
    });
    assert.equal(await verdict(answering), 'delivered');
    return answering;
  }

  /** Of a request that needs a new connection, so much later. */
  async function verdictAfter(answering: Scene, ms: number): Promise<string> {
    server.closeAllConnections();
    answering.passMs(ms);
    // The next may still go out on the connection that is about to end.
    await verdict(answering);
    server.closeAllConnections();
    return verdict(answering);
  }

  const found: DnsReply = { records: a(open) };

  for (const code of ['SERVFAIL', 'REFUSED'] as const)
    test(`with ${code}, is believed for another hour`, async () => {
      const answering = await known(found, { code });
      assert.equal(await verdictAfter(answering, 50 * minuteMs), 'delivered');
      assert.equal(await verdictAfter(answering, 20 * minuteMs), 'retryable: dns');
    });

  test('because it is not there any more, is believed for another hour', async () => {
    const answering = await known(found);
    answering.dns.close();
    assert.equal(await verdictAfter(answering, minuteMs), 'delivered');
  });

  test('is asked again after half a minute', async () => {
    const answering = await known(found, { code: 'SERVFAIL' }, { records: a(inside) });
    assert.equal(await verdictAfter(answering, minuteMs), 'delivered');
    assert.equal(await verdictAfter(answering, 20_000), 'delivered');
    assert.equal(await verdictAfter(answering, 20_000), refusedForNow);
  });

  test('is not believed where it led inside when it was last heard', async () => {
    const answering = await known(found, { records: a(inside) }, { code: 'SERVFAIL' });
    assert.equal(await verdictAfter(answering, minuteMs), refusedForNow);
    assert.equal(await verdictAfter(answering, minuteMs), 'retryable: dns');
  });

  test('is believed again where it leads outside again, half a minute later', async () => {
    const answering = await known(found, { records: a(inside) }, found);
    assert.equal(await verdictAfter(answering, minuteMs), refusedForNow);
    assert.equal(await verdictAfter(answering, minuteMs / 2), 'delivered');
  });

  for (const [title, reply] of [
    ['that there is no such name', { code: 'NXDOMAIN' }],
    ['nothing', {}],
  ] satisfies [string, DnsReply][])
    test(`is believed when it says ${title}`, async () => {
      const answering = await known(found, reply);
      assert.equal(await verdictAfter(answering, minuteMs), 'retryable: dns');
    });
});

describe('a name server that fails for one kind of address after it had answered', () => {
  interface Replies {
    readonly A: DnsReply;
    readonly AAAA: DnsReply;
  }

  /** An address that is allowed, where nobody listens. */
  const deaf = '::1';
  const failed: DnsReply = { code: 'SERVFAIL' };
  const found: DnsReply = { records: a(open) };
  const alsoDeaf: DnsReply = { records: aaaa(deaf) };

  /** The verdicts of requests on connections of their own, each so long after the one before. */
  async function verdicts(
    replies: readonly [Replies, ...Replies[]],
    afterMs: readonly number[],
  ): Promise<string[]> {
    const asked = { A: 0, AAAA: 0, other: 0 };
    const answering = await scene(
      ({ name, type }) => {
        if (name === 'ipv4only.arpa') return {};
        const turn = Math.min(asked[type]++, replies.length - 1);
        return type === 'other' ? {} : replies[turn]?.[type];
      },
      { allowNetworks: [`${open}/32`, `${deaf}/128`], maxKept: 0 },
    );
    const all: string[] = [];
    for (const ms of afterMs) {
      answering.passMs(ms);
      all.push(await verdict(answering));
    }
    return all;
  }

  const both: Replies = { A: found, AAAA: alsoDeaf };

  test('is believed about these for another hour', async () => {
    const half: Replies = { A: failed, AAAA: alsoDeaf };
    assert.deepEqual(await verdicts([both, half], [0, minuteMs, 50 * minuteMs, 20 * minuteMs]), [
      'delivered',
      'delivered',
      'delivered',
      'retryable: connection',
    ]);
  });

  test('is believed about the other kind at once', async () => {
    const onlyDeaf: Replies = { A: {}, AAAA: failed };
    assert.deepEqual(await verdicts([both, onlyDeaf], [0, minuteMs]), [
      'delivered',
      'retryable: connection',
    ]);
  });

  test('is believed when it says that there is no such name', async () => {
    const gone: Replies = { A: failed, AAAA: { code: 'NXDOMAIN' } };
    assert.deepEqual(await verdicts([both, gone], [0, minuteMs]), ['delivered', 'retryable: dns']);
  });

  test('is not believed about these where the other kind led inside', async () => {
    const led: Replies = { A: failed, AAAA: { records: aaaa('fd00::1') } };
    const half: Replies = { A: failed, AAAA: alsoDeaf };
    assert.deepEqual(await verdicts([both, led, half], [0, minuteMs, minuteMs]), [
      'delivered',
      refusedForNow,
      'retryable: connection',
    ]);
  });
});

describe('a name server that changes its mind', () => {
  /** Public at first, then inside; nothing of it may be kept. */
  function rebinding(times: number): (question: DnsQuestion) => DnsReply {
    let asked = 0;
    return ({ type }) => {
      if (type !== 'A') return {};
      asked += 1;
      return { records: [{ type: 'A', value: asked <= times ? open : inside, ttl: 0 }] };
    };
  }

  test('gains nothing: what is connected to is what was looked at', async () => {
    const answering = await scene(rebinding(1));
    assert.equal(await verdict(answering), 'delivered');
    assert.equal(answering.dns.questions.filter(({ type }) => type === 'A').length, 1);
  });

  test('is refused as soon as it is asked again', async () => {
    const answering = await scene(rebinding(1));
    assert.equal(await verdict(answering), 'delivered');
    server.closeAllConnections();
    answering.passMs(60_000);
    // The next may still go out on the connection that is about to end.
    const later = [await verdict(answering), await verdict(answering)];
    assert.equal(later.at(-1), refusedForNow);
  });

  test('is asked once for many connections', async () => {
    const answering = await scene(zone({ type: 'A', value: open, ttl: 0 }));
    await Promise.all(Array.from({ length: 20 }, () => verdict(answering)));
    assert.equal(answering.dns.questions.length, 2);
  });

  test('is asked again in time, however the clock was set', async () => {
    const clock = new SimulatedClock();
    let answers = 0;
    const dns = await startDnsServer(() => {
      answers += 1;
      return { code: 'NXDOMAIN' };
    });
    closeAfterwards(dns.close);
    const resolver = new CachingResolver(clock, { servers: [dns.address], hostsFile: noHosts });
    const resolve = (): Promise<unknown> =>
      new Promise((resolved) => {
        resolver.resolve('crm.example', resolved);
      });
    await resolve();
    const before = answers;
    clock.set(-3_600_000);
    await clock.pass(10_000);
    await resolve();
    assert.equal(answers, 2 * before);
  });

  test('is asked of the name servers that the machine has by then, where others are gone', async () => {
    const clock = new SimulatedClock();
    const dns = await startDnsServer(zone({ type: 'A', value: open }));
    closeAfterwards(dns.close);
    const servers = [new URL(await closedPort()).host];
    const resolver = new CachingResolver(clock, { servers, hostsFile: noHosts });
    const resolve = (): Promise<unknown> =>
      new Promise((resolved) => {
        resolver.resolve('crm.example', (error) => {
          resolved(error?.message);
        });
      });
    assert.equal(await resolve(), 'crm.example could not be resolved (ECONNREFUSED)');
    servers[0] = dns.address;
    await clock.pass(6_000);
    assert.equal(await resolve(), undefined);
  });

  test('and one that failed are asked again after a while', async () => {
    let asked = 0;
    const answering = await scene(({ type }) => {
      if (type === 'A') asked += 1;
      return asked === 1 ? { code: 'SERVFAIL' } : { records: type === 'A' ? a(open) : [] };
    });
    assert.equal(await verdict(answering), 'retryable: dns');
    assert.equal(await verdict(answering), 'retryable: dns');
    answering.passMs(10_000);
    assert.equal(await verdict(answering), 'delivered');
  });
});

describe('the hosts file', () => {
  test('knows addresses, their names in any case, and comments', () => {
    const text = `127.0.0.1 localhost\n# 10.0.0.1 no\n10.0.0.2\tCRM.example crm # yes\n::1 crm\nnonsense crm\n\n10.0.0.3`;
    assert.deepEqual(
      [...parseHosts(text)],
      [
        ['localhost', [{ address: '127.0.0.1', family: 4 }]],
        ['crm.example', [{ address: '10.0.0.2', family: 4 }]],
        [
          'crm',
          [
            { address: '10.0.0.2', family: 4 },
            { address: '::1', family: 6 },
          ],
        ],
      ],
    );
  });

  test('goes before the name server, is guarded like it, and is read again when it changed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'postrider-hosts-'));
    closeAfterwards(() => rm(folder, { recursive: true }));
    const path = join(folder, 'hosts');
    const dns = await startDnsServer(() => ({ code: 'NXDOMAIN' }));
    closeAfterwards(dns.close);
    let passedMs = 0;
    const clock: SteadyClock = {
      ...systemClock,
      now: () => Date.now() + passedMs,
      steadyNow: () => systemClock.steadyNow() + passedMs,
    };
    const hostsFile = new HostsFile(clock, path);
    const resolver = new CachingResolver(clock, { servers: [dns.address], hostsFile });
    const sender = createSender({ allowNetworks: [`${open}/32`], resolver });
    const verdicts = async (): Promise<string[]> => {
      const hosts = ['crm.example', 'inside.example'];
      const results = hosts.map((host) => post(`http://${host}:${port}/`, { sender }));
      return (await Promise.all(results)).map(verdictOf);
    };
    assert.deepEqual(await verdicts(), ['retryable: dns', 'retryable: dns']);
    writeFileSync(path, `${open} crm.example\n${inside} inside.example\n`);
    passedMs = 10_000;
    assert.deepEqual(await verdicts(), ['delivered', refusedForNow]);
    assert.equal(dns.questions.length, 4);
  });
});

test('nobody inside was connected to by any of this', () => {
  assert.equal(insideConnections, 0);
});
