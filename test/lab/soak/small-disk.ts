import { execFile } from 'node:child_process';
import { mkdir, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A disk of its own at a folder, which can be full. In memory, and as large as what is written to it. */
export interface SmallDisk {
  /** No more can be written, whoever writes. */
  fill(): Promise<void>;
  /** There is room again. */
  mend(): Promise<void>;
  unmount(): Promise<void>;
}

/** More than an hour's soak writes. */
const roomBytes = 6 * 2 ** 30;
/** Disks have whole pages, and it is written to while it becomes full. */
const spareBytes = 64 * 1024;

/** Undefined where this process may not mount: it needs Linux and root. */
export async function mountSmallDisk(folder: string): Promise<SmallDisk | undefined> {
  await mkdir(folder, { recursive: true });
  const size = (bytes: number): string => `size=${bytes}`;
  try {
    await run('mount', ['-t', 'tmpfs', '-o', size(roomBytes), 'tmpfs', folder]);
  } catch {
    return undefined;
  }
  const resize = (bytes: number): Promise<unknown> =>
    run('mount', ['-o', `remount,${size(bytes)}`, folder]);
  return {
    fill: async () => {
      const { bsize, blocks, bfree } = await statfs(folder);
      await resize((blocks - bfree) * bsize + spareBytes);
    },
    mend: async () => {
      await resize(roomBytes);
    },
    unmount: async () => {
      // Its files may be open for a moment after their process has ended.
      await run('umount', ['--lazy', folder]);
    },
  };
}
