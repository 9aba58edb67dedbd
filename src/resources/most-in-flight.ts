/** Four destinations at their limits fill a worker, and never one alone. */
const share = 0.25;

/**
 * The greatest `maxInFlight` of a destination.
 * @param deliveryMaxInFlight `DELIVERY_MAX_IN_FLIGHT`: of all destinations together, in one worker
 */
export function mostInFlight(deliveryMaxInFlight: number): number {
  return Math.max(1, Math.floor(share * deliveryMaxInFlight));
}
