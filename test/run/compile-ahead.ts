import { globSync } from 'node:fs';

/**
 * Loads all of the sources, and ends: what a process has compiled, others can read only once it has ended. Otherwise
 * each of the many processes at the beginning of a run would compile the same.
 */
const programs = ['src/cli/main.ts', 'src/console/web/**'];
for (const file of globSync('src/**/*.ts', { exclude: programs })) await import(`../../${file}`);
