import type { Command } from 'commander';
import { pausedIds, resumeDestinations, type Resumed } from '../../dead-letter/resume.ts';
import { PostriderError } from '../../errors.ts';
import { counted } from '../../printable.ts';
import { auditedRun } from '../audit.ts';
import { ofDestinations } from '../../event/audit-entry.ts';
import type { Context } from '../context.ts';
import { followed, printing } from '../letters/follow.ts';
import { serviceAccess } from '../letters/letters.ts';
import { rateOption } from '../letters/options.ts';
import { confirm } from '../terminal/terminal.ts';
import { isForPrograms, present, withOutput, type OutputOptions } from '../terminal/output.ts';

/** `postrider resume`: destinations get their events again, and what was kept for them. */
export function registerResume(program: Command, context: Context): void {
  withOutput(program.command('resume'))
    .description('send to paused destinations again, kept events first')
    .argument('[destination...]')
    .option('--all', 'all that are paused, and those whose `resume` was cut off')
    .option('--yes', 'do not ask before --all')
    .addOption(
      rateOption('how many kept events to send per time, of all these destinations').default(
        undefined,
        `${rateOfEach}/s for each destination`,
      ),
    )
    .action((ids: readonly string[], options: ResumeOptions) => resumeAny(context, ids, options));
}

interface ResumeOptions extends OutputOptions {
  readonly all?: true;
  readonly yes?: true;
  readonly rate?: number;
}

const nothingResumed: Resumed = { destinations: [], sent: 0, leftOut: [] };

/** Kept events a second. */
const rateOfEach = 100;

/** @throws PostriderError `usage`, `not-found`, `stopped` */
async function resumeAny(
  context: Context,
  ids: readonly string[],
  options: ResumeOptions,
): Promise<void> {
  const { all, yes, rate, output } = options;
  if (ids.length > 0 === (all === true))
    throw new PostriderError('usage', 'name destinations, or give --all');
  const access = await serviceAccess(context);
  const wanted = all === true ? await pausedIds(access) : ids;
  if (wanted.length === 0) {
    context.note('no destination is paused');
    if (isForPrograms(options))
      context.print(
        present(
          output,
          () => nothingResumed,
          () => '',
        ),
      );
    return;
  }
  const { length } = wanted;
  if (all === true && yes !== true)
    await confirm(
      context.terminal,
      `this resumes ${counted(length, 'destination')} and sends what was kept`,
      'name destinations, or add --yes',
    );
  const done = { action: 'resume', ...ofDestinations(new Set(wanted)) } as const;
  const perSecond = rate ?? rateOfEach * length;
  await auditedRun(context, done, wanted.join(', '), async (onSent) => {
    const shown = { noun: 'event', isSending: true, onSent, ...printing(context, options) };
    const resumed = await followed(context, shown, (caller) =>
      resumeDestinations(access, wanted, perSecond, caller),
    );
    if (isForPrograms(options))
      context.print(
        present(
          output,
          () => resumed,
          () => '',
        ),
      );
    return resumed;
  });
}
