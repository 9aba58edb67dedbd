import { readFileSync, writeFileSync } from 'node:fs';
import { withSection } from './recorded-page.ts';

/** The sections of docs/reliability.md, each of which a command writes. */
export const reliabilitySections = ['soak', 'simulation', 'fuzzing', 'planted bugs'] as const;

const page = new URL('../../docs/reliability.md', import.meta.url);

/** Replaces what docs/reliability.md says of one of them. */
export function writeReliability(name: (typeof reliabilitySections)[number], text: string): void {
  writeFileSync(page, withSection(readFileSync(page, 'utf8'), reliabilitySections, name, text));
}
