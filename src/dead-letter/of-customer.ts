import { PostriderError } from '../errors.ts';
import { isOf } from '../event/uid.ts';
import { hintAt } from '../near.ts';
import { printable } from '../printable.ts';
import { readableOfKind, type StoredResources } from '../resources/config/stored-resources.ts';
import type { Destination } from '../resources/resource.ts';
import type { DeadLetter } from './dead-letter.ts';

/** The dead letters of one customer: those of the destinations that they have now. */
export interface CustomersLetters {
  readonly destinations: ReadonlySet<string>;
  /**
   * Says no to a letter of an earlier destination whose id one of theirs has now, because that one may have been
   * another customer's. The same holds for a letter whose identity cannot be read.
   */
  has(letter: Pick<DeadLetter, 'destinationId' | 'envelope'>): boolean;
}

/** @throws PostriderError `not-found` for a customer without destinations */
export function lettersOfCustomer(stored: StoredResources, customer: string): CustomersLetters {
  const own = new Map<string, Destination>();
  for (const { sealed } of stored.values()) {
    const resource = sealed?.sealed;
    if (resource?.kind === 'Destination' && resource.customer === customer)
      own.set(resource.id, resource);
  }
  if (own.size === 0) {
    const all = readableOfKind(stored, 'Destination');
    const hint = hintAt(customer, new Set(all.flatMap((each) => each.customer ?? [])));
    const sentence = `no destination is of customer ${printable(customer)}${hint}`;
    throw new PostriderError('not-found', sentence);
  }
  return {
    destinations: new Set(own.keys()),
    has: ({ destinationId, envelope }) => {
      const destination = own.get(destinationId);
      return destination !== undefined && envelope !== undefined && isOf(destination, envelope);
    },
  };
}
