import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  closeChangelog,
  moveVersion,
  nextVersion,
  notesOf,
  places,
  releasedIn,
} from './version.ts';

const changelog = `# Changelog

Words.

## Unreleased

No version has been released yet.

### Added

- A thing.

## 0.1.0 - 2026-01-02

### Fixed

- Another thing.
`;

function read(file: string): string {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
}

const { version: present } = JSON.parse(read('package.json')) as { version: string };

test('a release has the next number, or the one that is named for the first', () => {
  assert.equal(nextVersion('0.1.9', 'minor', ['0.1.9']), '0.2.0');
  assert.equal(nextVersion('0.1.9', 'patch', ['0.1.9']), '0.1.10');
  assert.equal(nextVersion('0.1.9', 'major', ['0.1.9']), '1.0.0');
  assert.equal(nextVersion('0.1.0', '0.1.0', []), '0.1.0');
});

test('what is no release, and what is not newer than the last one, is refused', () => {
  assert.throws(() => nextVersion('0.1.0', 'mayor', []), /mayor is no release; allowed: major/);
  assert.throws(() => nextVersion('0.2.0', '0.10.0', ['0.10.0', '0.2.0']), /0\.10\.0 is not newer/);
  assert.throws(() => nextVersion('0.2.0', '0.9.0', ['0.10.0']), /not newer than 0\.10\.0/);
});

test('what is unreleased becomes the version, and its notes', () => {
  const closed = closeChangelog(changelog, '0.2.0', '2026-02-03');
  assert.deepEqual(releasedIn(closed), ['0.2.0', '0.1.0']);
  assert.match(
    closed,
    /^## Unreleased\n\n## 0\.2\.0 - 2026-02-03\n\n### Added\n\n- A thing\.\n\n## 0/m,
  );
  assert.equal(notesOf(closed, '0.2.0'), '### Added\n\n- A thing.\n');
  assert.equal(notesOf(closed, '0.1.0'), '### Fixed\n\n- Another thing.\n');
  assert.throws(() => closeChangelog(closed, '0.3.0', '2026-03-04'), /nothing under Unreleased/);
});

test('a release moves the version wherever the project names it', () => {
  const moved = moveVersion(read, present, '98.7.6');
  assert.deepEqual([...moved.keys()].sort(), [...new Set(places.map(([file]) => file))].sort());
  for (const [file, text] of moved)
    assert.ok(!/(?:postrider[:\w-]*|newTag: )\d/.test(text.replaceAll('98.7.6', '')), file);
  assert.throws(() => moveVersion(read, '77.0.0', '98.7.6'), /package\.json does not have/);
});

test('the changelog of now can be released', () => {
  assert.match(closeChangelog(read('CHANGELOG.md'), '98.7.6', '2026-01-01'), /^## 98\.7\.6 - /m);
});
