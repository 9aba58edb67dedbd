import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Installation } from '../../harness/postrider.ts';
import type { Accounts } from './accounts.ts';
import { audienceKey } from './endpoints.ts';

export const audienceId = 'soaked';
export const membersFile = 'members.csv';
/** The only destination that is told of the audience. */
export const audienceDestination = 'quick';

/** An audience whose members are other ones at each sync. */
export interface AudienceSyncs {
  /**
   * Gives the audience other members and syncs it, again and again until a sync succeeds. Each change is in
   * the accounts, and accepted when one has.
   * @param killAfterMs the first sync is killed so long after it has begun
   */
  run(accounts: Accounts, killAfterMs: number | undefined, signal: AbortSignal): Promise<void>;
}

const membersAtATime = 200;

/** @param folder where the list is */
export function startAudienceSyncs(postrider: Installation, folder: string): AudienceSyncs {
  let members: readonly string[] = [];
  return {
    run: async (accounts, killAfterMs, signal) => {
      const former = members;
      members = Array.from({ length: membersAtATime }, (_, n) => `${accounts.name}-m${n}`);
      const keys = [
        ...members.map((user) => audienceKey(user, true)),
        ...former.map((user) => audienceKey(user, false)),
      ];
      for (const key of keys)
        accounts.sent(key, 'a member', performance.now(), [audienceDestination]);
      await writeFile(join(folder, membersFile), `id\n${members.join('\n')}\n`);
      let toKill = killAfterMs;
      for (;;) {
        const sync = postrider.begin(['audience-sync', audienceId, '--yes']);
        sync.stdin.end();
        const afterMs = toKill;
        toKill = undefined;
        const kill = (): void => {
          sync.kill('SIGKILL');
        };
        const killing = afterMs === undefined ? undefined : setTimeout(kill, afterMs);
        const { code, stderr } = await sync.ended;
        clearTimeout(killing);
        if (code === 0) break;
        if (signal.aborted) throw new Error(`no sync has succeeded; the last one said: ${stderr}`);
      }
      accounts.accepted(keys, performance.now());
    },
  };
}
