import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kafkaVersion } from '../../src/dev/kafka-jars.ts';
import { javaVersionIn, whyNoKafka } from '../../src/dev/own-kafka.ts';

const run = promisify(execFile);

test('a broker of our own needs Java 17', () => {
  assert.equal(whyNoKafka(17), undefined);
  assert.equal(whyNoKafka(11), 'Java 11 is installed, and Kafka needs 17 or newer');
  assert.equal(whyNoKafka(undefined), 'Java 17 or newer is missing');
});

test('Kafka is fetched on a machine that has only Node.js, npm and Java, and nothing else is left', async (t) => {
  const home = await mkdtemp(path.join(tmpdir(), 'postrider-only-java-'));
  t.after(() => rm(home, { recursive: true }));
  const bin = path.join(home, 'bin');
  await mkdir(bin);
  for (const program of ['node', 'npm', 'java']) {
    const { stdout } = await run('which', [program]);
    await symlink(stdout.trim(), path.join(bin, program));
  }
  const module = new URL('../../src/dev/kafka-jars.ts', import.meta.url).href;
  const script = `console.log(await (await import('${module}')).kafkaJars());`;
  const npmCache = (await run('npm', ['config', 'get', 'cache'])).stdout.trim();
  const env = { ...process.env, PATH: bin, HOME: home, npm_config_cache: npmCache };
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: { ...env, npm_config_prefer_offline: 'true' },
  });
  const jars = await readdir(stdout.trim());
  assert.equal(path.relative(home, stdout.trim()), `.cache/postrider/kafka-${kafkaVersion}`);
  assert.ok(jars.includes(`kafka_2.13-${kafkaVersion}.jar`), jars.join());
  assert.deepEqual(await readdir(path.join(home, '.cache', 'postrider')), [
    `kafka-${kafkaVersion}`,
  ]);
  assert.deepEqual((await readdir(home)).sort(), ['.cache', 'bin']);
});

test('without npm, Java alone is told that Maven cannot be had', async (t) => {
  const home = await mkdtemp(path.join(tmpdir(), 'postrider-no-npm-'));
  t.after(() => rm(home, { recursive: true }));
  const module = new URL('../../src/dev/maven.ts', import.meta.url).href;
  const script = `await (await import('${module}')).maven('${home}').catch((e) => console.log(e.message));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH: home, HOME: home },
  });
  assert.equal(
    stdout.trim(),
    'Maven is not installed, and npm could not fetch it: spawn npm ENOENT',
  );
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
