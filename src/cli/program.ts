import { readFileSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import { Command } from 'commander';
import { registerApply } from './commands/apply.ts';
import { explainCommands, registerHelp } from './commands/help.ts';
import { printable } from '../printable.ts';
import type { Context } from './context.ts';
import { registerAttempts } from './commands/attempts.ts';
import { registerAudienceSync } from './commands/audience-sync.ts';
import { registerConsoleLink } from './commands/console-link.ts';
import { registerDeadLetters } from './commands/dead-letters.ts';
import { registerDelete } from './commands/delete.ts';
import { registerDeleteUser } from './commands/delete-user.ts';
import { registerDemo } from './commands/demo.ts';
import { registerDev } from './commands/dev.ts';
import { registerDiff } from './commands/diff.ts';
import { registerExplain } from './commands/explain.ts';
import { registerGet } from './commands/get.ts';
import { registerListen } from './commands/listen.ts';
import { registerPause, registerResume } from './commands/pause.ts';
import { registerProduce } from './commands/produce.ts';
import { registerRejected } from './commands/rejected.ts';
import { registerRoles } from './commands/roles.ts';
import { registerSchemas } from './commands/schemas.ts';
import { registerSecrets } from './commands/secrets.ts';
import { registerSendTest } from './commands/send-test.ts';
import { registerStatus } from './commands/status.ts';
import { registerTopics } from './commands/topics.ts';

/** Run until they are told to end. */
const running = [registerDev, registerDemo, registerRoles, registerListen];
/** Answer and end. */
const answering = [
  registerApply,
  registerDiff,
  registerGet,
  registerDelete,
  registerTopics,
  registerProduce,
  registerAudienceSync,
  registerDeleteUser,
  registerRejected,
  registerDeadLetters,
  registerStatus,
  registerAttempts,
  registerExplain,
  registerSchemas,
  registerSecrets,
  registerSendTest,
  registerPause,
  registerResume,
  registerConsoleLink,
];

/**
 * All commands. What takes long to load, those that need it load when they run. Wrong usage throws
 * commander's error instead of ending the process.
 */
export function createProgram(context: Context): Command {
  const program = new Command('postrider')
    .description(
      'Outbound event delivery: analytics calls from Kafka to customer endpoints, as signed webhooks',
    )
    .version(version(), '--version', 'print the version')
    .option('--verbose', "also print the stack of an error and the Kafka client's own warnings")
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
  registerHelp(program, forAnswer);
  tab(program, { completionCommandName: 'completion' });
  explainCommands(program);
  return program;
}

/** Commander's `error: …`, sometimes with a hint on a second line, as one line like all other errors. */
function usageError(text: string): string {
  const line = text
    .replace(/^error: /, 'postrider: ')
    .trimEnd()
    .replaceAll('\n', ' ');
  return `${printable(line)}\n`;
}

function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
