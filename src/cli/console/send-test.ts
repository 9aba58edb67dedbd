import type { ServiceAccess } from '../../dead-letter/service.ts';
import type { TestAnswer } from '../../operations/operations.ts';
import { bodyText } from '../../delivery/kept-answer.ts';
import { outcomeNames } from '../../delivery/outcome.ts';
import { testDestination } from '../commands/send-test.ts';
import type { Context } from '../context.ts';

/**
 * Sends a test event for the console or the API, which import nothing that delivers.
 * @throws PostriderError `not-found`, `resource-invalid`
 */
export async function testFromConsole(
  context: Context,
  { withConfig }: Pick<ServiceAccess, 'withConfig'>,
  id: string,
): Promise<readonly TestAnswer[]> {
  const answers = await testDestination(context, withConfig, id);
  return answers.map(({ publicUrl: url, outcome, tookMs, compression }) => {
    const { kind, status } = outcome;
    const kept = kind === 'delivered' ? undefined : outcome.answer;
    const answer = kept === undefined ? undefined : bodyText(kept);
    return {
      url,
      outcome: outcomeNames[kind],
      ...(status === undefined ? {} : { status }),
      ...(kind === 'delivered' ? {} : { detail: outcome.detail }),
      ...(answer === undefined ? {} : { answer }),
      tookMs,
      ...(compression === undefined ? {} : { compression }),
    };
  });
}
