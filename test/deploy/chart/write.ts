import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, programs } from '../../harness/programs.ts';
import { chartFiles } from './chart.ts';

/** `npm run deploy:chart`: makes deploy/chart anew. */

const root = fileURLToPath(new URL('../../..', import.meta.url));
const kustomize = findProgram(programs.kustomize);
if (kustomize === undefined) throw new Error(`kustomize is missing: ${programs.kustomize.install}`);
const manifest = readFileSync(join(root, 'package.json'), 'utf8');
const { version } = JSON.parse(manifest) as { readonly version: string };
const files = chartFiles(kustomize, version);
const chart = join(root, 'deploy', 'chart');
rmSync(chart, { recursive: true, force: true });
for (const [path, text] of files) {
  mkdirSync(dirname(join(chart, path)), { recursive: true });
  writeFileSync(join(chart, path), text);
}
