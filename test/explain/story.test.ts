import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DestinationStory } from '../../src/explain/destination-story.ts';
import type {
  Evidence,
  EventLine,
  FoundCall,
  FoundCopy,
  FoundLetter,
  FoundWaiting,
  Place,
  WholeCall,
} from '../../src/explain/evidence.ts';
import { ownEvidence, ownStory, tellStory } from '../../src/explain/story.ts';
import { presentStory } from '../../src/explain/present.ts';
import type { Ruling } from '../../src/explain/rulings.ts';
import type { Source } from '../../src/resources/resource.ts';
import { noRegistry } from '../../src/schemas/schemas.ts';
import { readCall } from '../../src/router/read-call.ts';
import { appendTimeMs, audienceTopic, incoming } from '../router/fakes.ts';
import { wholeEnvelope } from '../event/whole-envelope.ts';

const minute = 60_000;

function at(minutes: number): string {
  return new Date(appendTimeMs + minutes * minute).toISOString();
}

function place(topic: string, minutes: number, offset: number = 7): Place {
  return { topic, partition: 2, offset, timeMs: appendTimeMs + minutes * minute };
}

function called(more: Partial<FoundCall> = {}): FoundCall {
  const none = { unreadable: undefined, rejection: undefined, duplicateOf: undefined };
  const is = { isRead: true, isSentAgain: false, isAhead: false };
  return { place: place('p.ingest', 0), ...is, ...none, ...more };
}

function wholeCall(): WholeCall {
  const fields = { type: 'track', event: 'Order', userId: 'u1', messageId: 'm', writeKey: 'wk' };
  const read = readCall(incoming(fields), noRegistry, audienceTopic);
  assert.ok('call' in read);
  return { place: place('p.ingest', 0), read };
}

const common = {
  destination: 'crm',
  source: 'shop',
  messageId: 'm',
  user: 'u1',
  type: 'track',
} as const;

function attempt(minutes: number, outcome: 'delivered' | 'failed', number = 1): EventLine {
  const of = { attempt: number, url: 'https://e.test', tookMs: 12 };
  const why = outcome === 'delivered' ? { status: 200 } : { status: 500, detail: 'answered 500' };
  return { ...common, kind: 'attempt', at: at(minutes), outcome, ...of, ...why };
}

function retry(minutes: number, until: number): EventLine {
  const times = { until: at(until), deadline: at(240) };
  return { ...common, kind: 'retry', at: at(minutes), attempts: 1, ...times };
}

function envelope(attempts: number, more: object = {}): FoundCopy['envelope'] {
  const ids = { destinationId: 'crm', sourceId: 'shop', messageId: 'm' };
  return wholeEnvelope({
    ...ids,
    type: 'track',
    configOffset: 4,
    appendTimeMs,
    attempts,
    ...more,
  });
}

function waitingIn(minutes: number, due: number, events: number = 1): FoundWaiting {
  const dueMs = appendTimeMs + due * minute;
  const deadlineMs = appendTimeMs + 240 * minute;
  const at = place('p.retry.5m', minutes);
  return { place: at, envelope: envelope(1), isAhead: true, dueMs, deadlineMs, events };
}

function letter(
  minutes: number,
  sentAgain?: number,
  kind: FoundLetter['kind'] = 'dead-letter',
): FoundLetter {
  return {
    kind,
    place: place('p.dead-letter', minutes),
    envelope: envelope(3),
    reason: 'expired',
    detail: 'answered 500',
    answer: 'oops',
    sentAgain: sentAgain === undefined ? undefined : at(sentAgain),
  };
}

const wants: Ruling = { destination: 'crm', detail: '', by: 'then' };

function evidence(more: Partial<Evidence> = {}): Evidence {
  return {
    messageId: 'm',
    user: 'u1',
    nowMs: appendTimeMs + 300 * minute,
    calls: [called()],
    first: wholeCall(),
    bodies: [],
    rejected: [],
    rulings: { source: undefined, all: [wants] },
    copies: [{ place: place('p.delivery', 0), envelope: envelope(0), isAhead: false }],
    lines: [],
    waiting: [],
    letters: [],
    ...more,
  };
}

function crm(more: Partial<Evidence>): DestinationStory {
  const { destinations } = tellStory(evidence(more));
  return destinations.find(({ destination }) => destination === 'crm') ?? assert.fail();
}

describe('at a destination', () => {
  test('an event may have any number of attempts, as with a message id that a producer always sends', () => {
    const lines = Array.from({ length: 200_000 }, () => attempt(1, 'failed'));
    const story = crm({ lines, waiting: [waitingIn(1, 6)] });
    assert.equal(story.state, 'waiting');
  });

  test('the last that is known counts', () => {
    const failed = [attempt(1, 'failed'), retry(1, 6)];
    const again = { ...attempt(30, 'delivered'), redrivenAt: at(25) };
    const since = { redrivenMs: appendTimeMs + 25 * minute };
    const lost = { ...letter(40), envelope: envelope(3, since) };
    const rows: readonly [Partial<Evidence>, string, string | null][] = [
      [{ lines: [attempt(1, 'delivered')] }, 'delivered', at(1)],
      [{ lines: failed }, 'waiting', at(1)],
      [{ lines: failed, waiting: [waitingIn(1, 6)] }, 'waiting', at(1)],
      [{ lines: [...failed, attempt(6, 'delivered', 2)] }, 'delivered', at(6)],
      [{ lines: failed, letters: [letter(20)] }, 'dead-letter', at(20)],
      [{ letters: [letter(20, 25)] }, 'sent-again', at(25)],
      [{ letters: [letter(20, 25)], lines: [again] }, 'delivered', at(30)],
      // A redrive is marked only when its copy is safe, which may have been delivered by then.
      [{ letters: [letter(20, 31)], lines: [again] }, 'delivered', at(30)],
      [{ lines: [again], letters: [letter(20, 25), lost] }, 'dead-letter', at(40)],
      [{ letters: [letter(20, undefined, 'kept')] }, 'paused', at(20)],
      [{ lines: [{ ...common, kind: 'kept', at: at(2), attempts: 0 }] }, 'paused', at(2)],
      [{ letters: [letter(20, 25, 'kept')] }, 'sent-again', at(25)],
      [{ letters: [letter(20, 25, 'kept')], lines: [again] }, 'delivered', at(30)],
      [{ letters: [letter(20, 25, 'kept'), letter(30)] }, 'dead-letter', at(30)],
      [{ lines: [{ ...common, kind: 'dropped', at: at(2), by: 'user' }] }, 'dropped', at(2)],
      [{ lines: [attempt(1, 'failed')] }, 'on-its-way', at(1)],
      [{}, 'done', at(0)],
      [{ copies: [] }, 'no-trace', null],
      [{ copies: [], calls: [called({ isAhead: true })] }, 'on-its-way', null],
    ];
    for (const [found, state, since] of rows) {
      const told = crm(found);
      assert.deepEqual([told.state, told.at], [state, since], JSON.stringify(found));
    }
  });

  test('what waits is told by its record, which knows more than the last line', () => {
    const found = { lines: [retry(1, 6)], waiting: [waitingIn(1, 6), waitingIn(7, 12, 40)] };
    const told = crm(found);
    assert.deepEqual(
      [told.until, told.deadline, told.place, told.detail],
      [at(12), at(240), 'p.retry.5m 2:7', 'after 1 attempt, packed with 39 others'],
    );
    assert.match(
      presentStory(tellStory(evidence(found))),
      /^crm +waiting +\S+ +until \S+Z, given up at \S+Z; after 1 attempt, packed with 39 others \(p\.retry\.5m 2:7\)$/m,
    );
  });

  test('a record that a worker has taken, and not committed yet, waits no more', () => {
    const lines = [retry(1, 6), attempt(6.1, 'failed', 2), retry(6.1, 20)];
    const told = crm({ lines, waiting: [waitingIn(1, 6)] });
    assert.deepEqual([told.state, told.until, told.place], ['waiting', at(20), null]);
  });

  test('a call that was not wanted says by which rule, and whether of then or of now', () => {
    const unwanted = {
      destination: 'crm',
      unwanted: 'events',
      detail: 'its events are page',
    } as const;
    for (const by of ['then', 'now'] as const) {
      const told = crm({ copies: [], rulings: { source: undefined, all: [{ ...unwanted, by }] } });
      assert.equal(told.state, 'unwanted');
      assert.deepEqual(told.unwanted, { unwanted: 'events', by });
      assert.equal(told.detail.includes('current configuration'), by === 'now');
    }
  });

  test('what has arrived there although it seems unwanted is told as it was', () => {
    const all = [{ ...wants, unwanted: 'events', by: 'now' }] as const;
    const told = crm({ lines: [attempt(1, 'delivered')], rulings: { source: undefined, all } });
    assert.deepEqual([told.state, told.unwanted], ['delivered', null]);
  });

  test('an attempt in a batch says which one, and at which place', () => {
    const batch = { id: 'batch_a', place: 3, events: 100 };
    const lines = [{ ...attempt(1, 'delivered'), batch }] as EventLine[];
    const told = crm({ lines });
    assert.equal(told.detail, 'at attempt 1 (3 of 100 in batch batch_a), in 12 ms');
    assert.equal(
      told.happened.at(-1)?.what,
      'attempt 1 (3 of 100 in batch batch_a) delivered, 200 in 12 ms',
    );
    assert.match(
      presentStory(tellStory(evidence({ lines }))),
      /^crm +delivered +\S+ +at attempt 1 \(3 of 100 in batch batch_a\), in 12 ms/m,
    );
  });

  test('a dead letter that no line tells of is in the list of what happened', () => {
    const told = crm({ letters: [letter(20, 25)] });
    assert.deepEqual(
      told.happened.map((each) => each.what),
      [
        'routed to p.delivery 2:7, with the configuration up to offset 4',
        'dead letter: expired: answered 500',
        'sent again from p.dead-letter 2:7',
      ],
    );
  });

  test('an event is sent again before it is attempted, although its letter is marked later', () => {
    const again = { ...attempt(30, 'delivered'), redrivenAt: at(24) } as EventLine;
    const told = crm({ letters: [letter(20, 31)], lines: [again] });
    assert.deepEqual(
      told.happened.slice(-2).map((each) => [each.at, each.what.split(' ')[0]]),
      [
        [at(24), 'sent'],
        [at(30), 'attempt'],
      ],
    );
  });
});

test('destinations that the event is for come before those that it is not for', () => {
  const all = ['b', 'crm', 'z'].map((id) =>
    id === 'crm'
      ? wants
      : ({ destination: id, unwanted: 'events', detail: '', by: 'then' } as const),
  );
  const { destinations } = tellStory(evidence({ rulings: { source: undefined, all } }));
  assert.deepEqual(
    destinations.map(({ destination }) => destination),
    ['crm', 'b', 'z'],
  );
});

test('what an earlier destination of an id had is told by itself', () => {
  const second = { uid: 'second' };
  const { destinations } = tellStory(
    evidence({
      copies: [
        { place: place('p.delivery', 0), envelope: envelope(0), isAhead: false },
        { place: place('p.delivery', 20), envelope: envelope(0, second), isAhead: false },
      ],
      lines: [attempt(1, 'failed'), { ...attempt(21, 'delivered'), ...second }],
      letters: [letter(2)],
    }),
  );
  assert.deepEqual(
    destinations.map(({ destination, uid, state, happened }) => [
      destination,
      uid,
      state,
      happened.length,
    ]),
    [
      ['crm', null, 'dead-letter', 3],
      ['crm', 'second', 'delivered', 2],
    ],
  );
  const text = presentStory(tellStory(evidence({ lines: [attempt(1, 'failed')] })));
  assert.match(text, /^crm {2}/m);
  assert.deepEqual(
    tellStory(
      evidence({ copies: [], rulings: { source: undefined, all: [{ ...wants, uid: 'x' }] } }),
    ).destinations.map(({ uid, state }) => [uid, state]),
    [['x', 'no-trace']],
  );
});

test('each record that came in says what became of it', () => {
  const first = place('p.ingest', 0);
  const rejection = { reason: 'invalid-type', detail: 'No type.' } as const;
  const calls = [
    called(),
    called({ place: place('p.ingest', 1), duplicateOf: first }),
    called({ place: place('p.ingest', 2), isRead: false, rejection }),
    called({ place: place('p.ingest', 3), isRead: false, unreadable: 'it has no schema' }),
    called({ place: place('p.ingest', 4), isAhead: true }),
    called({ place: place('p.ingest', 5, 8) }),
  ];
  const rejected = [
    {
      place: place('p.ingest.rejected', 5),
      reason: 'unwritable',
      detail: 'Too large.',
      origin: place('p.ingest', 5, 8),
      sentAgain: at(9),
    },
    // By the gateway: nothing of it came to the ingest topic.
    {
      place: place('p.ingest.rejected', 6),
      reason: 'no-user',
      detail: 'No user.',
      origin: place('p.ingest.rejected', 6),
      sentAgain: undefined,
    },
  ];
  const { received } = tellStory(evidence({ calls, rejected }));
  assert.deepEqual(
    received.map(({ outcome, detail }) => [outcome, detail]),
    [
      ['routed', 'to 1 of 1 destinations'],
      ['duplicate', `it repeats the call of ${at(0)}, p.ingest 2:7`],
      ['rejected', 'invalid-type: No type.'],
      ['unreadable', 'it has no schema'],
      ['not-routed-yet', 'the router has not read it yet'],
      ['rejected', `unwritable: Too large. (rejected show 2:7); sent again ${at(9)}`],
      ['rejected', 'no-user: No user. (rejected show 2:7)'],
    ],
  );
});

test("a customer's story is made from what came to their destination alone", () => {
  const source = { id: 'press' } as unknown as Source;
  const ofPress = { ...common, destination: 'newsletter', source: 'press' } as const;
  const all = evidence({
    rulings: { source, all: [wants, { destination: 'newsletter', detail: '', by: 'then' }] },
    lines: [attempt(1, 'delivered'), { ...attempt(2, 'failed'), ...ofPress }],
    letters: [letter(20, 25), letter(20, undefined, 'kept')],
  });
  const story = ownStory(ownEvidence(all, { id: 'crm' })) ?? assert.fail();
  assert.deepEqual([story.source, story.type, story.event], ['shop', 'track', null]);
  assert.deepEqual(
    story.destinations.map(({ destination, place: where }) => [destination, where]),
    [['crm', null]],
  );
  assert.doesNotMatch(JSON.stringify(story), /press|newsletter|p\.delivery|p\.dead|:7/);
  assert.equal(ownStory(ownEvidence(all, { id: 'billing' })), undefined);
  assert.equal(ownStory(ownEvidence(all, { id: 'crm', uid: 'later' })), undefined);
  const own = { ...all, rulings: { source: { id: 'shop' } as unknown as Source, all: [wants] } };
  assert.equal(ownStory(ownEvidence(own, { id: 'crm' }))?.event, 'Order');
  const kept = { ...own, lines: [], copies: [], letters: [letter(20, undefined, 'kept')] };
  assert.equal(
    ownStory(ownEvidence(kept, { id: 'crm' }))?.destinations[0]?.detail,
    'kept: its destination is paused',
  );
});

test('a notification of a deletion, which no call was, is told by its lines', () => {
  const line = { ...attempt(1, 'delivered'), type: 'delete' } as EventLine;
  const found = { calls: [], first: undefined, copies: [], rulings: undefined, lines: [line] };
  const { type, source, received, destinations } = tellStory(evidence(found));
  assert.deepEqual(
    [type, source, received, destinations[0]?.state],
    ['delete', 'shop', [], 'delivered'],
  );
});

test('what others wrote is printed so that no terminal obeys it', () => {
  const story = tellStory(evidence({ messageId: 'm\u001b[2J', lines: [attempt(1, 'delivered')] }));
  const text = presentStory(story);
  assert.ok(!text.includes('\u001b'));
  assert.match(text, /^message id {2}m\\u001b\[2J$/m);
});

test('of thousands of destinations that do not want a call, few are printed', () => {
  const all = Array.from({ length: 1_000 }, (_, index) => {
    const destination = `d${String(index).padStart(3, '0')}`;
    return { destination, unwanted: 'filter', detail: 'its filter', by: 'then' } as const;
  });
  const story = tellStory(evidence({ copies: [], rulings: { source: undefined, all } }));
  const text = presentStory(story, 120);
  assert.match(text, /^d019 .*its filter\nand 980 more unwanted; -o wide shows all$/m);
  assert.match(presentStory(story, Infinity), /^d999 /m);
});
