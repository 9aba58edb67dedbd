/** Four destinations at their limits fill a worker, and one alone never does. */
const share = 0.25;

/**
 * The greatest `maxInFlight` of a destination.
 * @param deliveryMaxInFlight `DELIVERY_MAX_IN_FLIGHT`, for all destinations of one worker together
 */
export function mostInFlight(deliveryMaxInFlight: number): number {
  return Math.max(1, Math.floor(share * deliveryMaxInFlight));
}
