import type { Command } from 'commander';
import { describeLine } from '../../attempts/describe.ts';
import { AttemptReader } from '../../attempts/read-attempts.ts';
import { answerMs, retryDestinations } from '../../dead-letter/retry.ts';
import { PostriderError } from '../../errors.ts';
import type { AttemptEnded } from '../../event/attempt-line.ts';
import { printable } from '../../printable.ts';
import { audited } from '../audit.ts';
import { ofDestinations } from '../../event/audit-entry.ts';
import type { Context } from '../context.ts';
import { serviceAccess } from '../letters/letters.ts';
import { isForPrograms, present, withOutput, type OutputOptions } from '../terminal/output.ts';

/** `postrider retry`: an endpoint is mended, and what waits for it goes out now. */
export function registerRetry(program: Command, context: Context): void {
  withOutput(program.command('retry'))
    .description('send now what waits to be tried again: its endpoint is mended')
    .argument('<destination...>')
    .action((ids: readonly string[], options: OutputOptions) => retryAny(context, ids, options));
}

/** @throws PostriderError `not-delivered` where an endpoint took no event */
async function retryAny(
  context: Context,
  given: readonly string[],
  options: OutputOptions,
): Promise<void> {
  const ids = [...new Set(given)];
  const done = { action: 'retry', ...ofDestinations(ids) } as const;
  const access = await serviceAccess(context);
  const answers = await audited(context, done, () =>
    retryDestinations(access, ids, {
      attempts: new AttemptReader(access.kafka, access.topology.topics.attempts, {}),
      signal: context.stopping(),
      onAnswer: (id, answer) => {
        if (!isForPrograms(options)) context.print(answerText(id, answer));
      },
    }),
  );
  if (isForPrograms(options))
    context.print(
      present(
        options.output,
        () => ({
          destinations: ids.map((destination) => ({
            destination,
            answer: answers.get(destination) ?? null,
          })),
        }),
        () => '',
      ),
    );
  const failed = ids.filter((id) => (answers.get(id)?.outcome ?? 'delivered') !== 'delivered');
  if (failed.length > 0)
    throw new PostriderError('not-delivered', `no event was taken by ${failed.join(', ')}`);
}

function answerText(id: string, answer: AttemptEnded | undefined): string {
  if (answer === undefined)
    return `destination ${id}: no event was tried within ${answerMs / 1_000} s, because none waits, no worker runs, or ATTEMPTS is off; \`postrider status ${id}\` says what waits`;
  const said = printable(`destination ${id}: event ${answer.messageId}, ${describeLine(answer)}`);
  return answer.outcome === 'delivered'
    ? `${said}; what waits goes out now, as fast as the endpoint takes it`
    : `${said}; what waits stays where it is until the endpoint takes an event`;
}
