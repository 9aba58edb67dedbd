import { describeGroups, type DescribedSetting } from '../../../src/settings/descriptions.ts';
import { code, generated, markCode } from './text.ts';

export function settingsPage(): string {
  const groups = describeGroups().map(({ title, settings }) =>
    [`## ${title}`, ...settings.map(entry)].join('\n\n'),
  );
  return [generated, intro, ...groups].join('\n\n');
}

const intro = `# Settings

Settings are environment variables. Every command and every role reads them.

- Durations are written \`250ms\`, \`10s\`, \`5m\`, \`4h\` or \`3d\`.
- A secret can also come from a file: set \`NAME_FILE\` to its path, for example \`SECRET_KEY_FILE\`.
- A wrong value stops the start. The error names the setting, the value (unless it is a secret) and what is allowed.
- Likely misspellings are logged at startup. So are names that begin like settings and are none.
- The settings in force are logged at startup, secrets only as \`set\` or \`not set\`.

\`postrider help settings\` prints this page.`;

function entry({ name, description, fallback, allowed, isSecret }: DescribedSetting): string {
  const facts = [
    `- Default: ${fallback === '' ? 'none' : shown(fallback)}`,
    `- Allowed: ${markCode(allowed).replaceAll('*', '\\*')}`,
    ...(isSecret ? [`- Secret: ${code(`${name}_FILE`)} can name a file with it`] : []),
  ];
  return [`### ${name}`, description, facts.join('\n')].join('\n\n');
}

/** Of "json; on a terminal pretty", the values. */
function shown(fallback: string): string {
  const [value = '', elsewhere] = fallback.split('; on a terminal ');
  return elsewhere === undefined ? code(value) : `${code(value)}; on a terminal ${code(elsewhere)}`;
}
