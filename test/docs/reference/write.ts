import { writeFileSync } from 'node:fs';
import { badges, badgesPath } from '../badges.ts';
import { root } from '../pages.ts';
import { referencePages } from './pages.ts';

/** `npm run docs:reference`: writes docs/reference from the code's tables, and the first page's badges. */
for (const [path, text] of [...(await referencePages()), [badgesPath, badges()] as const]) {
  writeFileSync(new URL(path, root), text);
  console.log(path);
}
