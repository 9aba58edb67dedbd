/** The types of calls that a producer may send. */
export const callTypes = ['track', 'page', 'screen', 'identify', 'group', 'alias'] as const;
export type CallType = (typeof callTypes)[number];

/** The types of events that travel to destinations; `delete` notifications are made by us, never by a producer. */
export type EventType = CallType | 'delete' | 'notice';
export const eventTypes: readonly EventType[] = [...callTypes, 'delete', 'notice'];

/**
 * A valid call. At least one of `userId` and `anonymousId` is there, and what its type requires
 * (`event`, `groupId`, `previousId`) is a non-empty string in `fields`.
 */
export interface Call {
  readonly type: CallType;
  readonly messageId: string;
  readonly userId?: string | undefined;
  readonly anonymousId?: string | undefined;
  /** UTC, milliseconds, `Z`. */
  readonly timestamp: string;
  readonly writeKey?: string | undefined;
  /**
   * The call as it was sent, except that numeric ids are strings. May hold own keys such as
   * `__proto__`: copy it with spread, never with `Object.assign` or by assigning keys.
   */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The fields of a call that are text on each call that has them. */
export const textFields: readonly string[] = [
  'type',
  'messageId',
  'userId',
  'anonymousId',
  'groupId',
  'previousId',
  'event',
  'timestamp',
];

/** Every field that a sender may mean something by, whatever the type of the call is. */
export const callFields: readonly string[] = [
  ...textFields,
  ...['writeKey', 'properties', 'traits', 'context', 'integrations', 'name', 'category'],
  ...['originalTimestamp', 'sentAt', 'receivedAt', 'version', 'channel'],
  ...['options', 'metadata', '_metadata'],
];
