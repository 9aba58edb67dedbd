/** How a release changes the project's files: decisions over their texts. */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

const shape = /^(\d+)\.(\d+)\.(\d+)$/;

/**
 * @param wanted `major`, `minor`, `patch`, or the version itself, as for the first release
 * @param released the versions that the changelog has
 * @throws Error for one that is not newer than all that were released
 */
export function nextVersion(present: string, wanted: string, released: readonly string[]): string {
  const { major, minor, patch } = parse(present);
  const steps: Readonly<Record<string, string>> = {
    major: `${major + 1}.0.0`,
    minor: `${major}.${minor + 1}.0`,
    patch: `${major}.${minor}.${patch + 1}`,
  };
  const next = steps[wanted] ?? wanted;
  if (!shape.test(next))
    throw new Error(`${wanted} is no release; allowed: major, minor, patch, or a version as 0.1.0`);
  const newest = released[0];
  if (newest !== undefined && rank(next) <= rank(newest))
    throw new Error(`${next} is not newer than ${newest}, which is released`);
  return next;
}

function parse(text: string): Version {
  const [, major, minor, patch] = shape.exec(text) ?? [];
  if (patch === undefined) throw new Error(`${text} is no version`);
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

function rank(text: string): number {
  const { major, minor, patch } = parse(text);
  return (major * 1_000 + minor) * 1_000 + patch;
}

/** What stands before and after the version in each file that names it. Every occurrence is changed. */
export const places: readonly (readonly [file: string, before: string, after: string])[] = [
  ['package.json', '\n  "version": "', '"'],
  ['src/client/package.json', '\n  "version": "', '"'],
  ['package-lock.json', '"name": "postrider",\n  "version": "', '"'],
  ['package-lock.json', '"name": "postrider",\n      "version": "', '"'],
  ['package-lock.json', '"name": "postrider-client",\n      "version": "', '"'],
  ['deploy/overlays/production/kustomization.yaml', '\n    newTag: ', '\n'],
  ['deploy/chart/Chart.yaml', '\nversion: ', '\n'],
  ['deploy/chart/Chart.yaml', '\nappVersion: ', '\n'],
  ['docs/production.md', 'registry.example.com/postrider:', ''],
  ['docs/security.md', 'registry.example.com/postrider:', ''],
  ['docker-compose.yml', '/postrider:', ''],
  ['docs/upgrading.md', 'registry.example.com/postrider:', ''],
  ['docs/getting-started.md', 'postrider-client-', '.tgz'],
  ['src/client/README.md', 'postrider-client-', '.tgz'],
];

/**
 * The files with the new version, by name.
 * @throws Error for a place that does not have the present one
 */
export function moveVersion(
  read: (file: string) => string,
  present: string,
  next: string,
): Map<string, string> {
  const moved = new Map<string, string>();
  for (const [file, before, after] of places) {
    const text = moved.get(file) ?? read(file);
    const found = before + present + after;
    if (!text.includes(found)) throw new Error(`${file} does not have ${found.trim()}`);
    moved.set(file, text.replaceAll(found, before + next + after));
  }
  return moved;
}

const unreleased = '## Unreleased\n';

/** The versions that the changelog has, the newest first. */
export function releasedIn(changelog: string): string[] {
  return [...changelog.matchAll(/^## (\d+\.\d+\.\d+) - /gm)].map(([, version = '']) => version);
}

/**
 * The changelog with what is unreleased as a version, and nothing unreleased.
 * @param date `YYYY-MM-DD`
 * @throws Error where nothing is unreleased
 */
export function closeChangelog(changelog: string, version: string, date: string): string {
  const section = sectionOf(changelog, unreleased.trim());
  if (!/^- /m.test(section)) throw new Error('CHANGELOG.md has nothing under Unreleased');
  // Sentences before the entries are about what is not released yet.
  const entries = section.slice(section.search(/^(?:### |- )/m));
  const closed = `${unreleased}\n## ${version} - ${date}\n\n${entries}`;
  return changelog.replace(unreleased + section, () => closed);
}

/** The notes of a release: its section of the changelog. */
export function notesOf(changelog: string, version: string): string {
  const [title = ''] =
    new RegExp(`^## ${version.replaceAll('.', '\\.')} - .*$`, 'm').exec(changelog) ?? [];
  return `${sectionOf(changelog, title).trim()}\n`;
}

/** The text below a title of the second level. */
function sectionOf(changelog: string, title: string): string {
  const start = changelog.indexOf(`${title}\n`);
  if (title === '' || start < 0) throw new Error(`CHANGELOG.md has no section ${title}`);
  const rest = changelog.slice(start + title.length + 1);
  const end = rest.search(/^## /m);
  return end < 0 ? rest : rest.slice(0, end);
}
