import type { CallType } from '../event/call.ts';

/** The arguments of the methods. No method changes the object that it gets. */

/** Fields that every call may have. */
export interface CommonFields {
  /** Default: a new UUID. Receivers recognize repetitions by it, so it must be unique. */
  readonly messageId?: string | undefined;
  /**
   * The time of the call, for importing past data: a Date, or an ISO 8601 time, which is sent as it
   * is. Leave it out for present calls.
   */
  readonly timestamp?: Date | string | undefined;
  /** Extra context; not attributes of the user. */
  readonly context?: object | undefined;
  /**
   * The destinations that get the call, by their published names: `{ All: false, Webhooks: true }`.
   * By default all do.
   */
  readonly integrations?: Readonly<Record<string, boolean | object>> | undefined;
}

/** Whom the call is about: at least one of the two. */
export type Identity = WithUserId | WithoutUserId;

export interface WithUserId {
  readonly userId: string;
  readonly anonymousId?: string | undefined;
}

/**
 * `userId` is `undefined` instead of any text, so that the compiler can distinguish the two types. Otherwise
 * its error for a call with a `userId` and without an `event` says that the `anonymousId` is missing.
 */
export interface WithoutUserId {
  readonly userId?: undefined;
  readonly anonymousId: string;
}

export type IdentifyCall = CommonFields & Identity & { readonly traits?: object | undefined };

export type TrackCall = CommonFields &
  Identity & {
    /** The event's name. */
    readonly event: string;
    readonly properties?: object | undefined;
  };

/** Needs `userId`, unless the client has the option `anonymousPages`. */
export type PageCall = CommonFields &
  Identity & {
    readonly name?: string | undefined;
    readonly category?: string | undefined;
    /** Properties of the page: `url`, `title`, `referrer`, `path` and others. Sent as `properties`. */
    readonly traits?: object | undefined;
    /** Another name for `traits`. If both are given, `traits` takes precedence. */
    readonly properties?: object | undefined;
  };

export type ScreenCall = CommonFields &
  Identity & {
    readonly name?: string | undefined;
    readonly category?: string | undefined;
    readonly properties?: object | undefined;
  };

export type GroupCall = CommonFields &
  Identity & {
    readonly groupId: string;
    /** Traits of the group. */
    readonly traits?: object | undefined;
  };

export interface AliasCall extends CommonFields {
  /** The new identity. */
  readonly userId: string;
  /** The identity to alias from. */
  readonly previousId: string;
}

/** A valid call, as `onDelivered` and `onError` get it. */
export interface AcceptedCall {
  readonly messageId: string;
  readonly type: CallType;
  /** The call as it is sent: `JSON.parse` gives it back. */
  readonly json: string;
}
