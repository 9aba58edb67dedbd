import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** What a run could not check for want of a program: a line of JSON each, as tests run in many processes. */
const file = resolve('.cache/not-checked');

interface NotChecked {
  readonly title: string;
  readonly program: string;
}

export function noteNotChecked(title: string, program: string): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify({ title, program } satisfies NotChecked)}\n`);
}

export function forgetNotChecked(): void {
  rmSync(file, { force: true });
}

/** How many checks each missing program left out, and the command that installs them all; empty if none. */
export function notCheckedText(): string {
  if (!existsSync(file)) return '';
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const counts = new Map<string, number>();
  for (const line of lines) {
    const { program } = JSON.parse(line) as NotChecked;
    counts.set(program, (counts.get(program) ?? 0) + 1);
  }
  return [
    '',
    'Not checked, because a program is missing:',
    ...[...counts].map(
      ([program, count]) => `- ${program}: ${count} ${count === 1 ? 'test' : 'tests'}`,
    ),
    'Install what is missing: npm exec -- node test/harness/install-programs.ts',
    'It needs Go, Python 3 with venv, and the right to install Debian packages.',
  ].join('\n');
}
