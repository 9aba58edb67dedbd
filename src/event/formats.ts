/**
 * How the records between router and delivery workers are written. A format has a level; a release reads every
 * level up to its newest, says so to its consumer group, and writes the newest level that all members of the
 * delivery group read.
 */
export interface EventFormat {
  /** From 1 on. */
  readonly level: number;
  /** `v` in the header of an event. */
  readonly envelope: number;
  /** `v` in the header of a bundle. It stands in the same header, so it is never an envelope's number. */
  readonly bundle: number;
}

/** Level 1 is what every release reads, also those that say nothing of levels. */
const oldest: EventFormat = { level: 1, envelope: 1, bundle: 2 };

/**
 * A new level goes to the end, with two numbers that are higher than all before: so older releases know that it
 * is newer, and a bundle's number tells what its events may be. Every level has one header, whose JSON begins
 * with `v`.
 */
const formats: readonly EventFormat[] = [oldest];

/**
 * What the previous release reads, and so the newest level that this one writes, whoever is there to read it. A
 * level that this release introduces is written by the next release: otherwise a rollback would leave records
 * that the previous release cannot read.
 */
const newestWritten = 1;

/** The newest level that this release reads. */
export const readLevel: number = formats.length;

export const oldestFormat: EventFormat = oldest;

/** The newest format that this release writes and that readers of this level know. */
export function formatFor(readersLevel: number): EventFormat {
  const level = Math.min(readersLevel, newestWritten, formats.length);
  return formats[level - 1] ?? oldest;
}

export function isEnvelopeVersion(v: unknown): boolean {
  return formats.some(({ envelope }) => envelope === v);
}

export function isBundleVersion(v: unknown): boolean {
  return formats.some(({ bundle }) => bundle === v);
}

const newestVersion = Math.max(...formats.flatMap(({ envelope, bundle }) => [envelope, bundle]));
/** No release gets there: a larger number is no version. */
const mostVersions = 1_000;

/** Whether a header with this `v` was written by a newer release, in a format that this one does not know. */
export function isNewerVersion(v: unknown): boolean {
  return Number.isInteger(v) && (v as number) > newestVersion && (v as number) <= mostVersions;
}

/** What a record of this version, an envelope's or a bundle's, is written in. */
export function formatOf(version: number): EventFormat | undefined {
  return formats.find(({ envelope, bundle }) => envelope === version || bundle === version);
}

/** Whether whoever reads the format can also read records of this version. */
export function includes({ level }: EventFormat, version: number): boolean {
  return (formatOf(version)?.level ?? Infinity) <= level;
}
