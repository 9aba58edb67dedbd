import { Command, CommanderError } from 'commander';
import { PostriderError } from '../errors.ts';
import { registerApply } from './apply.ts';
import { createContext } from './context.ts';
import { registerDelete } from './delete.ts';
import { registerDemo } from './demo.ts';
import { registerDev } from './dev.ts';
import { registerGet } from './get.ts';
import { registerListen } from './listen.ts';
import { registerProduce } from './produce.ts';
import { registerRejected } from './rejected.ts';
import { registerRoles } from './run-role.ts';
import { registerTopics } from './topics.ts';

const program = new Command('postrider')
  .description('Outbound event delivery: analytics calls from Kafka to customer endpoints')
  .option('--verbose', 'print the stack of an error too')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride();

const context = createContext();
const commands = [
  ...[registerDev, registerDemo, registerRoles],
  ...[registerApply, registerGet, registerDelete, registerTopics],
  ...[registerProduce, registerRejected, registerListen],
];
for (const register of commands) register(program, context);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Prints the error as one line, unless commander already has, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const cause = error instanceof Error ? error : new Error(String(error));
  const verbose = program.opts<{ verbose?: true }>().verbose === true;
  const text = verbose ? (cause.stack ?? cause.message) : cause.message.replaceAll('\n', ' ');
  process.stderr.write(`postrider: ${text}\n`);
  return error instanceof PostriderError ? error.exitCode : 1;
}
