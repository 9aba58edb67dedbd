import path from 'node:path';

/** Whether a path is in a folder, as far as names tell: links may lead elsewhere. */
export function isInside(folder: string, file: string): boolean {
  const way = path.relative(folder, path.resolve(folder, file));
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}
