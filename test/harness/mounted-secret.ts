import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

type Files = Readonly<Record<string, string>>;

/** A folder as Kubernetes mounts a Secret: files are links through `..data`, which is exchanged as a whole. */
export interface MountedSecret {
  readonly path: (file: string) => string;
  /** With all files, the ones that stay as they are too. */
  change(files: Files): Promise<void>;
}

/** @param folder is made */
export async function mountSecret(folder: string, files: Files): Promise<MountedSecret> {
  let version = 0;
  const change = async (changed: Files): Promise<void> => {
    version += 1;
    const data = `..version-${version}`;
    await mkdir(join(folder, data), { recursive: true });
    for (const [file, text] of Object.entries(changed))
      await writeFile(join(folder, data, file), text);
    await symlink(data, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  await change(files);
  for (const file of Object.keys(files)) await symlink(join('..data', file), join(folder, file));
  return { path: (file) => join(folder, file), change };
}
