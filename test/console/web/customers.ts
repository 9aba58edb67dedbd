import type { Session } from '../../../src/console/api/answers/deployment.ts';
import { accentSheet } from '../../../src/console/brand/accent.ts';
import type { Brand } from '../../../src/console/brand/brand.ts';
import { pageFile } from '../../../src/console/page-file.ts';
import type { FakeConsole } from './fake-console.ts';
import type { FakeData } from './fake-data.ts';
import { failingOf } from './visiting.ts';

/** Somebody with a link by which the customer acme manages its endpoints. */
export const manager: Session = {
  user: 'acme',
  role: 'customer',
  customer: 'acme',
  manage: true,
  bodies: true,
  csrf: 'csrf-7',
  isOpen: false,
  until: '2026-02-07T12:00:00.000Z',
};

/** A path of such a link. */
export const linkPath = '/c/0123456789ab';

const logo = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="14" fill="#7a2e8f"/></svg>',
);

/** The vendor whose product these pages are a part of. */
export const vendor: Brand = {
  name: 'Harbor & Sons',
  logo: '/brand/logo.svg',
  accent: '/brand/accent.css',
  backUrl: 'https://app.harbor.example/settings',
  files: [
    pageFile('brand/logo.svg', logo),
    pageFile('brand/accent.css', Buffer.from(accentSheet('#7a2e8f'))),
  ],
};

/** One that fails, one that is paused and one that is well. */
export function ownOf(data: FakeData): ReadonlySet<string> {
  const inState = (state: string): string =>
    data.destinations.find((each) => each.state === state)?.id ?? '';
  return new Set([failingOf(data).id, inState('paused'), inState('ok')]);
}

/** The API knows them: the first is managed by it, and the others come from files. */
export function teach({ api, state: { data, own = new Set() } }: FakeConsole): void {
  for (const [index, id] of [...own].entries()) {
    const found = data.destinations.find((each) => each.id === id);
    const document = {
      kind: 'Destination',
      id,
      name: found?.name ?? id,
      managedBy: index === 0 ? 'api' : 'files',
      webhooks: found?.urls.map(({ url }) => ({ url, headers: { 'X-Token': '(secret)' } })) ?? [],
      ...(found?.notify === undefined ? {} : { notify: { url: found.notify } }),
      signature: 'standard',
      events: ['track', 'identify'],
      eventNames: ['Order Completed'],
    };
    api.destinations.set(id, { version: 1, document });
  }
}
