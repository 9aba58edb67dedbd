import { isIP } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { RefusedAddress } from '../../api/refused-addresses.ts';
import {
  AddressGuard,
  AddressRefusedError,
  NameRefusedError,
} from '../../delivery/http/address-guard.ts';
import { guardedLookup, isLocalhost, refusal } from '../../delivery/http/guarded-lookup.ts';
import { CachingResolver } from '../../delivery/http/name-resolver.ts';
import type { SteadyClock } from '../../ops/clock.ts';
import type { Settings } from '../../settings/table.ts';

/** A name server that is slow keeps nobody from making a destination: workers look again at every connection. */
const patienceMs = 2_000;

/** Delivery's own guard, for the API: the composition root joins the two, because stages never import one another. */
export function addressCheck(
  { deliveryAllowNetworks = [], deliveryProxy }: Settings,
  clock: SteadyClock,
): RefusedAddress {
  const guard = new AddressGuard(deliveryAllowNetworks);
  const lookup = guardedLookup(guard, new CachingResolver(clock));
  return async (url) => {
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0) return guard.allows(host) ? undefined : refusal(host, host).message;
    // A proxy resolves names by itself.
    if (deliveryProxy !== undefined && !isLocalhost(host)) return undefined;
    const looked = new Promise<string | undefined>((resolve) => {
      lookup(host, { all: true }, (error) => {
        const isRefused = error instanceof AddressRefusedError || error instanceof NameRefusedError;
        resolve(isRefused ? error.message : undefined);
      });
    });
    return Promise.race([looked, delay(patienceMs, undefined, { ref: false })]);
  };
}
