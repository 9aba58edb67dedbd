/**
 * Of a call that an audience sync made: it has no write key, because nobody sent it. They count on the
 * topic `ingest.audience` alone, to which no producer but a sync writes.
 */
export const audienceSourceHeader = 'audience-source';
/** Ids, separated by commas; without it the call goes to all destinations of its source. */
export const audienceDestinationsHeader = 'audience-destinations';

/** Whom a call comes from, and whom it may go to. */
export interface AudienceRoute {
  readonly sourceId: string;
  /** Undefined: all of the source. */
  readonly destinationIds: ReadonlySet<string> | undefined;
}

export function encodeAudienceRoute({
  sourceId,
  destinationIds,
}: AudienceRoute): Readonly<Record<string, string>> {
  return {
    [audienceSourceHeader]: sourceId,
    ...(destinationIds === undefined
      ? {}
      : { [audienceDestinationsHeader]: [...destinationIds].join(',') }),
  };
}

/** Undefined where no source is named. */
export function decodeAudienceRoute(
  headers: Readonly<Record<string, Buffer | undefined>>,
): AudienceRoute | undefined {
  const source = headers[audienceSourceHeader];
  if (source === undefined || source.length === 0) return undefined;
  const destinations = headers[audienceDestinationsHeader];
  return {
    sourceId: source.toString(),
    destinationIds:
      destinations === undefined ? undefined : new Set(destinations.toString().split(',')),
  };
}
