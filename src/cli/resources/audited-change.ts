import type { Change } from '../../resources/apply/plan.ts';
import type { FollowedResources } from '../../resources/config/config-topic.ts';
import { writeAudit, writeFailure, type Done } from '../audit.ts';
import type { Context } from '../context.ts';
import { changeResources } from './plan-files.ts';

export interface AuditedDecision {
  readonly changes: readonly Change[];
  /** The entry of the audit. */
  readonly done: Done;
  /** Called when it begins to be written. */
  readonly onWrite?: () => void;
}

/**
 * Changes resources once the audit has it, so that nothing is changed that is not written, and writes where it fails, or
 * where somebody else came between and it was decided anew.
 * @param decide is called again when what is stored has changed meanwhile
 */
export async function auditedChange(
  context: Context,
  decide: (followed: FollowedResources) => Promise<AuditedDecision>,
): Promise<readonly Change[]> {
  let begun: (Done & { readonly began: string }) | undefined;
  try {
    return await changeResources(context, async (followed) => {
      const { changes, done, onWrite } = await decide(followed);
      const before = async (): Promise<void> => {
        onWrite?.();
        if (begun !== undefined)
          await writeFailure(context, begun, new Error('others changed resources meanwhile'));
        begun = { ...done, began: await writeAudit(context, done) };
      };
      return { changes, before };
    });
  } catch (error) {
    if (begun !== undefined) await writeFailure(context, begun, error);
    throw error;
  }
}
