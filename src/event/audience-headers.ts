/**
 * Headers of a call that an audience sync made, which has no write key. They count only on the topic
 * `ingest.audience`, to which no other producer writes.
 */
export const audienceSourceHeader = 'audience-source';
/** Ids, separated by commas. Without it, the call goes to all destinations of its source. */
export const audienceDestinationsHeader = 'audience-destinations';

/** The source of a call, and the destinations that it may go to. */
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

/** Undefined if no source is named. */
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
