import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readKafkaUsers } from '../security/kafka-users.ts';

const script = fileURLToPath(new URL('../../deploy/kafka/print-acls.mjs', import.meta.url));

const typeOfOption: Readonly<Record<string, string>> = {
  '--topic': 'topic',
  '--group': 'group',
  '--transactional-id': 'transactionalId',
};

/** `user operation pattern type name` of everything that a command allows. */
function rightsOf(command: string): string[] {
  const words = command.split(' ');
  const given = (option: string): string[] =>
    words.flatMap((word, index) => (word === option ? [words[index + 1] ?? ''] : []));
  const [principal = ''] = given('--allow-principal');
  const [pattern = ''] = given('--resource-pattern-type');
  return Object.entries(typeOfOption).flatMap(([option, type]) =>
    given(option).flatMap((name) =>
      given('--operation').map((operation) =>
        [principal.slice('User:'.length), operation, pattern, type, name].join(' '),
      ),
    ),
  );
}

test('the commands for a Kafka without Strimzi give exactly the rights of the KafkaUsers', () => {
  const connection = ['--bootstrap-server', 'kafka:9093'];
  const printed = execFileSync(process.execPath, [script, '--', ...connection], {
    encoding: 'utf8',
  });
  const commands = printed.trim().split('\n');
  for (const command of commands)
    assert.ok(command.startsWith(`kafka-acls.sh ${connection.join(' ')} --add `), command);
  const wanted = readKafkaUsers().flatMap(({ name: user, rights }) =>
    rights.flatMap(({ type, name, prefix, operations }) =>
      operations.map((operation) =>
        [user, operation, prefix ? 'prefixed' : 'literal', type, name].join(' '),
      ),
    ),
  );
  assert.deepEqual(commands.flatMap(rightsOf).sort(), wanted.sort());
});
