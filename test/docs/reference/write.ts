import { writeFileSync } from 'node:fs';
import { root } from '../pages.ts';
import { referencePages } from './pages.ts';

/** `npm run docs:reference`: writes docs/reference from the code's tables. */
for (const [path, text] of await referencePages()) {
  writeFileSync(new URL(path, root), text);
  console.log(path);
}
