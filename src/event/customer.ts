/**
 * A customer of the platform, by the platform's own id. It groups destinations. Ids are compared as they are, letter by
 * letter: nothing is trimmed, and no id stands for others.
 */

/** Nothing that controls a terminal or is invisible, and no space at an end, where nobody would see it. */
const printableText = /^(?!\s)[^\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]{1,128}(?<!\s)$/u;

/** Why this cannot be the id of a customer, as the end of a sentence; undefined if it can. */
export function customerProblem(given: string): string | undefined {
  if (printableText.test(given)) return undefined;
  return 'must be 1 to 128 printable characters, without a space at the beginning or end';
}

/**
 * Why a customer cannot have one more destination, as a sentence; undefined if that is possible. For destinations that
 * customers make; who writes files decides on their number.
 * @param present the customer's destinations, without the new one
 */
export function customerLimitProblem(present: number, limit: number): string | undefined {
  if (present < limit) return undefined;
  const destinations = present === 1 ? '1 destination' : `${present} destinations`;
  return `the customer has ${destinations}, and API_MAX_DESTINATIONS_PER_CUSTOMER is ${limit}: delete one first, or raise the limit`;
}
