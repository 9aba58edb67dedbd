import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSelectedCall } from '../../src/dead-letter/rejected.ts';
import { readRejected, sentAgain } from '../../src/dead-letter/rejected.ts';
import { rejectedLetter, rejectedRecord, topology } from './letters.ts';

test('a rejected call goes back to where it arrived, as it was, with its origin', () => {
  const record = rejectedRecord({ value: '{"type":1}', headers: { trace: 't', 'write-key': 'k' } });
  const { topic, key, value, headers } = sentAgain(readRejected(record), topology);
  assert.equal(topic, 'web-calls');
  assert.equal(key, record.key);
  assert.equal(value, record.value);
  assert.deepEqual(headers, {
    trace: Buffer.from('t'),
    'write-key': Buffer.from('k'),
    'postrider-origin': 'web-calls:1:7:1000',
  });
});

test('a forged origin cannot make a redrive write to a topic that is none of ours to read calls from', () => {
  for (const topic of ['p.delivery', 'p.config', 'elsewhere']) {
    const letter = rejectedLetter({ headers: { 'postrider-origin': `${topic}:1:7:1000` } });
    assert.equal(sentAgain(letter, topology).topic, 'p.ingest', topic);
  }
});

test('a record without our headers can still be seen and sent', () => {
  const letter = readRejected({ ...rejectedRecord({}), headers: {} });
  assert.equal(letter.reason, 'unknown');
  assert.deepEqual(sentAgain(letter, topology), {
    topic: 'p.ingest',
    key: letter.record.key,
    value: letter.record.value,
    headers: { 'postrider-origin': 'p.ingest.rejected:2:0:2000' },
  });
});

test('a header may have any name', () => {
  const headers = Object.fromEntries([['__proto__', 'x']]) as Record<string, string>;
  const sent = sentAgain(rejectedLetter({ headers }), topology);
  assert.deepEqual(Object.keys(sent.headers ?? {}), ['__proto__', 'postrider-origin']);
});

test('calls are selected by reason and key', () => {
  const letter = rejectedLetter({});
  assert.equal(isSelectedCall(letter, {}), true);
  assert.equal(isSelectedCall(letter, { reasons: new Set(['unknown-write-key']) }), true);
  assert.equal(isSelectedCall(letter, { reasons: new Set(['no-event']) }), false);
  assert.equal(isSelectedCall(letter, { key: 'u1' }), true);
  assert.equal(isSelectedCall(letter, { key: 'u2' }), false);
  assert.equal(isSelectedCall(rejectedLetter({ key: null }), { key: 'u1' }), false);
});

test('calls are selected by the write keys of a source, which header or field may hold', () => {
  const writeKeys = new Set(['wk_new']);
  const select = (value: string, headers?: Record<string, string>): boolean =>
    isSelectedCall(rejectedLetter({ value, headers: headers ?? {} }), { writeKeys });
  assert.equal(select('{"writeKey":"wk_new"}'), true);
  assert.equal(select('{"writeKey":"wk_old"}'), false);
  assert.equal(select('{"writeKey":"wk_old"}', { 'write-key': 'wk_new' }), true);
  assert.equal(select('no JSON', { 'write-key': 'wk_new' }), true);
  for (const value of ['no JSON', 'null', '[]', '{"writeKey":1}', '']) {
    assert.equal(select(value), false, value);
  }
});
