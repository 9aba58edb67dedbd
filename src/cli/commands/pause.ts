import type { Command } from 'commander';
import { pauseDestination, type Paused } from '../../dead-letter/pause.ts';
import { formatDuration } from '../../duration.ts';
import { audited } from '../audit.ts';
import type { Context } from '../context.ts';
import { sinceText } from '../letters/follow.ts';
import { serviceAccess } from '../letters/letters.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

/** `postrider pause`: nothing is sent to a destination until `resume`, and nothing is lost. */
export function registerPause(program: Command, context: Context): void {
  withOutput(program.command('pause'))
    .description('send nothing to a destination until you resume it')
    .argument('<destination>')
    .action(async (id: string, { output }: OutputOptions) => {
      const access = await serviceAccess(context);
      const done = await audited(context, { action: 'pause', destination: id }, () =>
        pauseDestination(access, id),
      );
      const { since, failingSince = null } = done.pause;
      const { wasPaused, keptForMs } = done;
      const data = { destination: id, since, failingSince, wasPaused, keptForMs };
      context.print(
        present(
          output,
          () => data,
          () => pausedText(id, done),
        ),
      );
    });
}

function pausedText(id: string, { pause, wasPaused, keptForMs }: Paused): string {
  if (wasPaused) return `destination ${id} is paused already, since ${sinceText(pause)}`;
  return `destination ${id} is paused: its events are kept for ${formatDuration(keptForMs)}, and \`postrider resume ${id}\` sends them`;
}
