import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floodEndpoints } from './floods/endpoint-flood.ts';
import { floodGateway } from './floods/gateway-flood.ts';

test('400 hostile requests: no 5xx, memory flat, and good requests in between are taken', async () => {
  const { text, problems } = await floodGateway(1, 400);
  assert.deepEqual(problems, []);
  assert.match(text, / 200 [\d,]+ times.* 400 [\d,]+ times/);
});

test('200 hostile answers: an outcome for each attempt, and nothing is left', async () => {
  const { text, problems } = await floodEndpoints(1, 200);
  assert.deepEqual(problems, []);
  assert.match(text, /delivered [\d,]+ times.*permanent [\d,]+ times/);
});
