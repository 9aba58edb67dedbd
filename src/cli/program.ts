import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { registerApply } from './apply.ts';
import type { Context } from './context.ts';
import { registerAudienceSync } from './audience-sync.ts';
import { registerDeadLetters } from './dead-letters.ts';
import { registerDelete } from './delete.ts';
import { registerDeleteUser } from './delete-user.ts';
import { registerDemo } from './demo.ts';
import { registerDev } from './dev.ts';
import { registerGet } from './get.ts';
import { registerListen } from './listen.ts';
import { registerProduce } from './produce.ts';
import { registerRejected } from './rejected.ts';
import { registerRoles } from './run-role.ts';
import { registerSchemas } from './schemas.ts';
import { registerSecrets } from './secrets.ts';
import { registerSendTest } from './send-test.ts';
import { registerTopics } from './topics.ts';

/** Run until they are told to end. */
const running = [registerDev, registerDemo, registerRoles, registerListen];
/** Answer and end. */
const answering = [
  ...[registerApply, registerGet, registerDelete, registerTopics],
  ...[
    registerProduce,
    registerAudienceSync,
    registerDeleteUser,
    registerRejected,
    registerDeadLetters,
    registerSchemas,
    registerSecrets,
    registerSendTest,
  ],
];

/**
 * All commands. What takes long to load, those that need it load when they run. Wrong usage throws
 * commander's error instead of ending the process.
 */
export function createProgram(context: Context): Command {
  const program = new Command('postrider')
    .description('Outbound event delivery: analytics calls from Kafka to customer endpoints')
    .version(version(), '--version', 'print the version')
    .option('--verbose', "print an error's stack and the Kafka client's own warnings too")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => {
        write(usageError(text));
      },
    })
    .exitOverride();
  const forAnswer = context.forAnswer(() => program.opts<{ verbose?: true }>().verbose === true);
  for (const register of running) register(program, context);
  for (const register of answering) register(program, forAnswer);
  return program;
}

/** Commander's `error: …`, sometimes with a hint on a second line, as one line like all other errors. */
function usageError(text: string): string {
  return `${text
    .replace(/^error: /, 'postrider: ')
    .trimEnd()
    .replaceAll('\n', ' ')}\n`;
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
