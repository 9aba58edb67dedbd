import { Command } from 'commander';
import { registerApply } from './apply.ts';
import type { Context } from './context.ts';
import { registerDelete } from './delete.ts';
import { registerDemo } from './demo.ts';
import { registerDev } from './dev.ts';
import { registerGet } from './get.ts';
import { registerListen } from './listen.ts';
import { registerProduce } from './produce.ts';
import { registerRejected } from './rejected.ts';
import { registerRoles } from './run-role.ts';
import { registerSendTest } from './send-test.ts';
import { registerTopics } from './topics.ts';

/** All commands. Wrong usage throws commander's error instead of ending the process. */
export function createProgram(context: Context): Command {
  const program = new Command('postrider')
    .description('Outbound event delivery: analytics calls from Kafka to customer endpoints')
    .option('--verbose', 'print the stack of an error too')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  const commands = [
    ...[registerDev, registerDemo, registerRoles],
    ...[registerApply, registerGet, registerDelete, registerTopics],
    ...[registerProduce, registerRejected, registerListen, registerSendTest],
  ];
  for (const register of commands) register(program, context);
  return program;
}
