import tab from '@bomb.sh/tab/commander';
import { Command } from 'commander';
import { version } from '../ops/process.ts';
import { printable } from '../printable.ts';
import { explainCommands, registerHelp } from './commands/help.ts';
import type { Context } from './context.ts';

type Register = (program: Command, context: Context) => void;
type Loaders = Readonly<Record<string, () => Promise<Register>>>;

const roles = async (): Promise<Register> => (await import('./commands/roles.ts')).registerRoles;

/** Run until they are told to end. */
const running: Loaders = {
  dev: async () => (await import('./commands/dev.ts')).registerDev,
  demo: async () => (await import('./commands/demo.ts')).registerDemo,
  gateway: roles,
  router: roles,
  delivery: roles,
  console: roles,
  api: roles,
  listen: async () => (await import('./commands/listen.ts')).registerListen,
};
/** Answer and end. */
const answering: Loaders = {
  apply: async () => (await import('./commands/apply.ts')).registerApply,
  diff: async () => (await import('./commands/diff.ts')).registerDiff,
  preview: async () => (await import('./commands/preview.ts')).registerPreview,
  get: async () => (await import('./commands/get.ts')).registerGet,
  delete: async () => (await import('./commands/delete.ts')).registerDelete,
  topics: async () => (await import('./commands/topics.ts')).registerTopics,
  produce: async () => (await import('./commands/produce.ts')).registerProduce,
  'audience-sync': async () => (await import('./commands/audience-sync.ts')).registerAudienceSync,
  'delete-user': async () => (await import('./commands/delete-user.ts')).registerDeleteUser,
  'suppress-user': async () => (await import('./commands/suppress-user.ts')).registerSuppressUser,
  rejected: async () => (await import('./commands/rejected.ts')).registerRejected,
  'dead-letters': async () => (await import('./commands/dead-letters.ts')).registerDeadLetters,
  status: async () => (await import('./commands/status.ts')).registerStatus,
  attempts: async () => (await import('./commands/attempts.ts')).registerAttempts,
  explain: async () => (await import('./commands/explain.ts')).registerExplain,
  schemas: async () => (await import('./commands/schemas.ts')).registerSchemas,
  secrets: async () => (await import('./commands/secrets.ts')).registerSecrets,
  'send-test': async () => (await import('./commands/send-test.ts')).registerSendTest,
  pause: async () => (await import('./commands/pause.ts')).registerPause,
  retry: async () => (await import('./commands/retry.ts')).registerRetry,
  resume: async () => (await import('./commands/resume.ts')).registerResume,
  'console-link': async () => (await import('./commands/console-link.ts')).registerConsoleLink,
};

/**
 * The command that is wanted, or all of them where that is not the name of one: to load all takes longer than most
 * take to run. Wrong usage throws commander's error instead of ending the process.
 * @param args those after the program's name
 */
export async function createProgram(
  context: Context,
  args: readonly string[] = [],
): Promise<Command> {
  const [wanted = ''] = args;
  const { stdout, stderr } = context.terminal;
  const program = new Command('postrider')
    .description(
      'Outbound event delivery: analytics calls from Kafka to customer endpoints, as signed webhooks',
    )
    .version(version, '--version', 'print the version')
    .option('--verbose', "also print the stack of an error and the Kafka client's own warnings")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => {
        stdout.write(text);
      },
      writeErr: (text) => {
        stderr.write(text);
      },
      outputError: (text, write) => {
        write(usageError(text));
      },
    })
    .exitOverride();
  const forAnswer = context.forAnswer(() => program.opts<{ verbose?: true }>().verbose === true);
  const isOne = Object.hasOwn(running, wanted) || Object.hasOwn(answering, wanted);
  const areAll = !isOne && wanted !== '--version';
  const load = async (loaders: Loaders): Promise<Set<Register>> => {
    const needed = Object.entries(loaders).filter(([name]) => name === wanted || areAll);
    return new Set(await Promise.all(needed.map(([, loader]) => loader())));
  };
  for (const register of await load(running)) register(program, context);
  for (const register of await load(answering)) register(program, forAnswer);
  registerHelp(program, forAnswer);
  const completions = tab(program, { completionCommandName: 'completion' });
  // Shells ask with `complete -- WORD…`.
  if (wanted === 'complete') {
    const { completeValues } = await import('./completion.ts');
    await completeValues(completions, program, args.slice(2), forAnswer);
  }
  explainCommands(program);
  return program;
}

/** Commander's `error: …`, sometimes with a hint on a second line, as one line like all other errors. */
function usageError(text: string): string {
  const said = text
    .replace(/^error: /, 'postrider: ')
    .trimEnd()
    .replaceAll('\n', ' ');
  const isPerhapsAnId = /: unknown option '-[^-]/.test(said);
  const hint = isPerhapsAnId ? '; write -- before an argument that begins with a hyphen' : '';
  const line = said + hint;
  return `${printable(line)}\n`;
}
