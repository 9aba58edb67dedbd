import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginCommand, runCommand } from '../harness/run-command.ts';

/** Arguments, more of the environment, standard input, and how it ends. */
const commands: readonly (readonly [readonly string[], Record<string, string>, string, number])[] =
  [
    [['--version'], {}, '', 0],
    [['help', 'settings'], {}, '', 0],
    [['apply'], {}, '', 2],
    [['apply', '--dry-run', '-f', '-'], {}, 'kind: Source\nid: x\nname: X\nwriteKeys: [a]\n', 0],
    [['apply', '--dry-run', '-f', '-'], {}, 'kind: Sauce\n', 1],
    [['--verbose', 'topics'], { KAFKA_BROKERS: 'nowhere' }, '', 1],
    [['produce', '--source', 'x', '/'], { KAFKA_BROKERS: '127.0.0.1:1', KAFKA_BROKER: 'x' }, '', 1],
  ];

test('a command prints the same and ends as well, in this process and in one of its own', async () => {
  for (const [args, more, stdin, code] of commands) {
    const env = { PATH: process.env['PATH'] ?? '', ...more };
    const own = beginCommand(args, env);
    own.stdin.end(stdin);
    const here = await runCommand(args, env, stdin);
    assert.deepEqual(here, await own.ended, args.join(' '));
    assert.equal(here.code, code, here.stderr);
  }
});
