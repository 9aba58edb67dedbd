import path from 'node:path';

/** Whether a path is inside a folder by its name. Links may lead elsewhere. */
export function isInside(folder: string, file: string): boolean {
  const way = path.relative(folder, path.resolve(folder, file));
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}
