/** Why a row is left out, as the text that follows a number of rows. */
export const faults = {
  nullIds: 'without an id',
  emptyIds: 'with an empty id',
  otherIds: 'whose id is neither text nor a whole number',
  exponentIds:
    'whose id is in scientific notation, as spreadsheets write long numbers, and has lost digits',
  longIds: 'with an id of more than 1,000 bytes',
  nullValues: 'without a value',
  otherValues: 'whose value is neither text, a number, true nor false',
  longValues: 'with a value of more than 20 KB',
} as const;
export type Fault = keyof typeof faults;

/** The rows that were read, rule by rule. */
export interface ReadReport {
  readonly rows: number;
  /** Users, each once. */
  readonly members: number;
  /** Rows of a user beyond the first. */
  readonly duplicates: number;
  /** Users whose rows have different values, of which one was taken. */
  readonly conflicts: number;
  /** Rows whose id lost the blanks around it. */
  readonly trimmedIds: number;
  /** Members whose ids are digits only; they are kept digit by digit. */
  readonly numericIds: number;
  /** Members whose ids are digits only, with a leading zero. */
  readonly leadingZeroIds: number;
  /** Members whose ids are 16 digits or more, which a double cannot always hold. */
  readonly longNumericIds: number;
  /** Members with an id such as `NULL` or `Total`, which somebody else's program may have written. */
  readonly placeholderIds: number;
  /** Rows that are not used. */
  readonly leftOut: Readonly<Record<Fault, number>>;
}

/** `3 without an id, 1 with an empty id`; empty if no row was left out. */
export function describeLeftOut(leftOut: ReadReport['leftOut']): string {
  return Object.entries(faults)
    .map(([fault, words]) => [leftOut[fault as Fault], words] as const)
    .filter(([count]) => count > 0)
    .map(([count, words]) => `${count} ${words}`)
    .join(', ');
}
