import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { javaVersionIn, whyNoKafka } from '../../src/dev/own-kafka.ts';

test('a broker of our own needs Java 17, and Maven only until Kafka was fetched', () => {
  const programs = { javaVersion: 17, hasJars: false, hasMaven: true };
  assert.equal(whyNoKafka(programs), undefined);
  assert.equal(whyNoKafka({ javaVersion: 21, hasJars: true, hasMaven: false }), undefined);
  assert.match(whyNoKafka({ ...programs, hasMaven: false }) ?? '', /^Maven is missing, .*43 MB/);
  assert.equal(
    whyNoKafka({ ...programs, javaVersion: 11 }),
    'Java 11 is installed, and Kafka needs 17 or newer',
  );
  assert.equal(whyNoKafka({ ...programs, javaVersion: undefined }), 'Java 17 or newer is missing');
});

test('the version of Java is read from what it says of itself', () => {
  for (const [said, version] of [
    ['openjdk version "11.0.24" 2024-07-16\nOpenJDK Runtime Environment', 11],
    ['java version "1.8.0_392"', 8],
    ['openjdk version "17" 2021-09-14', 17],
    ['Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21-ea" 2023-09-19', 21],
    ['The operation couldn’t be completed. Unable to locate a Java Runtime.', undefined],
  ] as const)
    assert.equal(javaVersionIn(said), version);
});

test('a clone without its packages says to run npm ci', async (t) => {
  const clone = await mkdtemp(path.join(tmpdir(), 'postrider-clone-'));
  t.after(() => rm(clone, { recursive: true }));
  const here = fileURLToPath(new URL('../../src', import.meta.url));
  await cp(here, path.join(clone, 'src'), { recursive: true });
  await cp(path.join(here, '../package.json'), path.join(clone, 'package.json'));
  const main = path.join(clone, 'src/cli/postrider.mjs');
  const child = spawn(process.execPath, [main, 'demo'], { stdio: ['ignore', 'ignore', 'pipe'] });
  assert.equal(await text(child.stderr), 'postrider: packages are missing; run npm ci first\n');
});
