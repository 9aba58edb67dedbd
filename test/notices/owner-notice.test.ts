import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minuteMs, Scene, startMs } from './scene.ts';

const hourMs = 60 * minuteMs;

/** `crm`, whose owner is told, among others. */
function sceneWithOwner(): Scene {
  const scene = new Scene();
  const notify = { url: 'https://acme.example/notices' };
  scene.destinations.set('crm', { id: 'crm', enabled: true, notify });
  scene.destinations.set('ads', { id: 'ads', enabled: true });
  return scene;
}

async function toldOwners(scene: Scene, atMs: number): Promise<readonly unknown[]> {
  const { hooked } = await scene.look(atMs);
  return Object.entries(hooked)
    .filter(([place]) => place.startsWith('notify:'))
    .flatMap(([place, notices]) => notices.map(({ notice }) => `${place} ${notice}`));
}

test('the owner of a destination is told once that it fails, and that it is well again', async () => {
  const scene = sceneWithOwner();
  for (const id of ['crm', 'ads']) scene.fails(id, startMs);
  const at = (afterMs: number): Promise<readonly unknown[]> => toldOwners(scene, startMs + afterMs);
  assert.deepEqual(await at(16 * minuteMs), ['notify:crm failing']);
  for (const afterMs of [17 * minuteMs, 5 * hourMs, 25 * hourMs])
    assert.deepEqual(await at(afterMs), []);
  for (const id of ['crm', 'ads']) scene.works(id, startMs + 26 * hourMs);
  assert.deepEqual(await at(26 * hourMs), ['notify:crm well']);
  scene.fails('crm', startMs + 27 * hourMs);
  assert.deepEqual(await at(28 * hourMs), ['notify:crm failing'], 'of another episode');
});

test('an owner gets the notice of their own destination, whoever else is concerned', async () => {
  const scene = sceneWithOwner();
  scene.uid = 'uid-of-crm';
  for (let n = 0; n < 20; n++) scene.fails(`ads-${n}`, startMs);
  scene.fails('crm', startMs, 503);
  const { hooked } = await scene.look(startMs + 16 * minuteMs);
  const [notice, ...others] = hooked['notify:crm'] ?? [];
  assert.deepEqual(others, []);
  assert.deepEqual(notice, {
    type: 'notice',
    id: `notice-crm-${startMs}-15m`,
    at: '2026-01-01T00:16:00.000Z',
    notice: 'failing',
    after: '15m',
    destination: 'crm',
    since: '2026-01-01T00:00:00.000Z',
    undeliveredSince: '2026-01-01T00:00:00.000Z',
    url: 'https://acme.example/events',
    lastAnswer: { at: '2026-01-01T00:00:00.000Z', outcome: 'failed', status: 503 },
    waiting: 12,
    text: 'Your endpoint https://acme.example/events has failed for 16m, since 2026-01-01 00:00 UTC. 12 events wait.',
  });
});

test('an owner is told that nothing more is sent, without a command of the platform', async () => {
  const scene = sceneWithOwner();
  scene.fails('crm', startMs, 410);
  assert.deepEqual((await scene.look(startMs + 1_000)).paused, ['crm']);
  const { hooked } = await scene.look(startMs + 2_000);
  assert.deepEqual(
    hooked['notify:crm']?.map(({ notice, text }) => [notice, text]),
    [
      [
        'disabled',
        'Your endpoint https://acme.example/events is sent no more events, because it answered 410: it takes no more. They are kept for 14d, and sent when it is resumed.',
      ],
    ],
  );
  assert.match(hooked['notices:ops']?.[0]?.text ?? '', /its endpoint answers 410.*resume crm/);
});

test('a place for notices that fails itself is told to nobody, and never paused', async () => {
  const scene = sceneWithOwner();
  scene.fails('notify:crm', startMs, 410);
  for (const afterMs of [1_000, 16 * minuteMs, 25 * hourMs]) {
    const { hooked, remembered, paused } = await scene.look(startMs + afterMs);
    assert.deepEqual([hooked, remembered, paused], [{}, [], []]);
  }
});
