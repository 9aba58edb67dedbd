import path from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file of the console's pages. */
export interface PageFile {
  /** `index.html`, or below `assets/` with a hash of its content in its name: kept by browsers for ever. */
  readonly path: string;
  readonly contentType: string;
  readonly content: Buffer;
  readonly gzip: Buffer;
}

/** The types of files that pages are made of, by extension. */
export const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

export function pageFile(name: string, content: Buffer): PageFile {
  const contentType = contentTypes[path.extname(name)] ?? 'application/octet-stream';
  return { path: name, contentType, content, gzip: gzipSync(content, { level: 9 }) };
}
