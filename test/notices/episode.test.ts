import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeNotice } from '../../src/event/notice.ts';
import type { DestinationView } from '../../src/event/destination-view.ts';
import { composeNotice } from '../../src/notices/compose.ts';
import {
  episodeOf,
  nextOf,
  type Episode,
  type Next,
  type Seen,
} from '../../src/notices/episode.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const startMs = Date.parse('2026-11-24T10:00:00.000Z');

const well: Seen = {
  isWanted: true,
  pause: undefined,
  failing: undefined,
  deliveredMs: undefined,
  disableAfterMs: undefined,
};
const fails: Seen = { ...well, failing: { sinceMs: startMs, isItsOwn: true, isGone: false } };

/** Looks every minute from `fromMs` after the start on, and tells what was due, and when. */
function play(
  seenAt: (afterMs: number) => Seen,
  untilMs: number,
  first?: Episode,
  fromMs: number = 0,
): { told: string[]; last: Episode | undefined } {
  let episode = first;
  const told: string[] = [];
  for (let afterMs = fromMs; afterMs <= untilMs; afterMs += minuteMs) {
    const next: Next = nextOf(episode, seenAt(afterMs), startMs + afterMs);
    if (next.due !== undefined)
      told.push(
        `${afterMs / minuteMs} ${next.due.kind}${'after' in next.due ? ` ${next.due.after}` : ''}`,
      );
    episode = next.episode;
  }
  return { told, last: episode };
}

test('a destination that fails is told after 15 minutes, 4 hours, a day and three, and never again', () => {
  const { told } = play(() => fails, 10 * dayMs);
  assert.deepEqual(told, [
    '15 failing 15m',
    '240 failing 4h',
    '1440 failing 1d',
    '4320 failing 3d',
  ]);
});

test('one that had failed for long when it was first seen is told once', () => {
  const { told } = play(() => fails, 6 * hourMs, undefined, 5 * hourMs);
  assert.deepEqual(told, ['300 failing 4h']);
});

test('it is told that it is well if it was told that it fails, and only after an answer says so', () => {
  const until = (ms: number, deliveredMs?: number) => (afterMs: number) =>
    afterMs < ms ? fails : { ...well, deliveredMs };
  assert.deepEqual(play(until(14 * minuteMs, startMs + 14 * minuteMs), hourMs).told, []);
  assert.deepEqual(play(until(20 * minuteMs, startMs + 20 * minuteMs), hourMs).told, [
    '15 failing 15m',
    '20 well',
  ]);
  // A worker that is gone says nothing, and what it delivered before proves nothing.
  assert.deepEqual(play(until(20 * minuteMs, startMs), hourMs).told, ['15 failing 15m']);
});

test('workers that come and go do not begin it anew', () => {
  const seenAt = (afterMs: number): Seen => {
    const minutes = afterMs / minuteMs;
    if (minutes % 10 > 7) return well;
    const sinceMs = startMs + Math.floor(minutes / 10) * 10 * minuteMs;
    return { ...fails, failing: { sinceMs, isItsOwn: true, isGone: false } };
  };
  const { told } = play(seenAt, 5 * hourMs);
  assert.deepEqual(told, ['15 failing 15m', '240 failing 4h']);
});

test('of one to which nothing is sent for a day nobody knows how it is', () => {
  const { told, last } = play(
    (afterMs) => (afterMs < 20 * minuteMs || afterMs > 3 * dayMs ? fails : well),
    3 * dayMs,
  );
  assert.deepEqual(told, ['15 failing 15m']);
  assert.equal(last, undefined);
});

test('disableAfter pauses it when nothing was delivered for so long, and says so', () => {
  const seenAt = (afterMs: number): Seen => ({
    ...fails,
    disableAfterMs: 5 * dayMs,
    pause: afterMs > 5 * dayMs ? { failingSinceMs: startMs } : undefined,
  });
  const { told } = play(seenAt, 6 * dayMs);
  assert.deepEqual(told.slice(-2), ['7200 disable', '7201 disabled']);
});

test('an endpoint that answers 422 is paused at once, also where disableAfter is never, unless that is our own mistake', () => {
  const gone =
    (isItsOwn: boolean) =>
    (afterMs: number): Seen => ({
      ...fails,
      failing: { sinceMs: startMs, isItsOwn, isGone: true },
      pause: isItsOwn && afterMs > 0 ? { failingSinceMs: startMs } : undefined,
    });
  assert.deepEqual(play(gone(true), hourMs).told, ['0 disable', '1 disabled']);
  assert.deepEqual(play(gone(false), hourMs).told, ['15 failing 15m']);
});

test('it is not paused while one of its URLs takes events, nor for what is our own mistake', () => {
  const disableAfterMs = hourMs;
  const half = play(
    (afterMs) => ({ ...fails, disableAfterMs, deliveredMs: startMs + afterMs - minuteMs }),
    dayMs,
  );
  const unreadable = play(
    () => ({
      ...fails,
      disableAfterMs,
      failing: { sinceMs: startMs, isItsOwn: false, isGone: false },
    }),
    dayMs,
  );
  for (const { told } of [half, unreadable])
    assert.deepEqual(told, ['15 failing 15m', '240 failing 4h', '1440 failing 1d']);
});

test('one that was resumed has all its time again, and is told well when it is', () => {
  const resumedMs = 2 * hourMs;
  const seenAt = (afterMs: number): Seen => {
    if (afterMs < resumedMs) return { ...well, pause: { failingSinceMs: startMs - 5 * dayMs } };
    if (afterMs < resumedMs + 20 * minuteMs)
      return {
        ...fails,
        disableAfterMs: hourMs,
        failing: { sinceMs: startMs, isItsOwn: true, isGone: false },
      };
    return { ...well, deliveredMs: startMs + afterMs };
  };
  assert.deepEqual(play(seenAt, 4 * hourMs).told, ['0 disabled', '135 failing 15m', '140 well']);
});

test('an operator who pauses it, disables it or deletes it knows', () => {
  for (const end of [{ pause: { failingSinceMs: undefined } }, { isWanted: false }]) {
    const { told, last } = play(
      (afterMs) => (afterMs < 20 * minuteMs ? fails : { ...fails, ...end }),
      hourMs,
    );
    assert.deepEqual(told, ['15 failing 15m']);
    assert.equal(last, undefined);
  }
});

test('whoever takes over goes on where the last notice left it', () => {
  for (const atMs of [16 * minuteMs, 5 * hourMs, 2 * dayMs]) {
    const before = play(() => fails, atMs);
    const stage = before.told.at(-1)?.split(' ').at(-1) ?? '';
    const nowMs = startMs + atMs;
    const notice = composeNotice(
      { notice: 'failing', after: stage },
      {
        destination: 'crm',
        name: 'CRM',
        isGone: false,
        episode: before.last as Episode,
        view: undefined,
      },
      '14d',
      nowMs,
    );
    const read = decodeNotice(Buffer.from(JSON.stringify(notice)));
    assert.deepEqual(read, notice);
    const again = play(() => fails, 4 * dayMs, episodeOf(notice, nowMs), atMs);
    assert.deepEqual([...before.told, ...again.told], play(() => fails, 4 * dayMs).told);
  }
});

test('the sentence for people has nothing that an endpoint could write into their chat', () => {
  const answer = '<!channel> [log in](https://evil.example) @all';
  const lastAnswer = {
    at: '2026-11-24T12:00:00.000Z',
    outcome: 'failed',
    detail: 'answered 500',
    answer,
  };
  const notice = composeNotice(
    { notice: 'failing', after: '15m' },
    {
      destination: 'crm',
      name: 'CRM',
      isGone: false,
      episode: play(() => fails, 16 * minuteMs).last as Episode,
      view: { urls: [], lastAnswer, waiting: { total: 2 } } as unknown as DestinationView,
    },
    '14d',
    startMs + 16 * minuteMs,
  );
  assert.match(
    notice.text,
    /^Destination crm has failed for 16m, since .*: answered 500\. 2 events wait\.$/,
  );
  assert.equal(notice.lastAnswer?.answer, answer);
});
