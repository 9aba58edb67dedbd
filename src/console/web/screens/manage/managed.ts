import type { Redrive, TestAnswer } from '../../../api/answers/actions.ts';
import { ask, post, type Versioned } from '../../api.ts';
import { encoded } from '../../navigation.ts';
import type { Fields, Managed } from './entries.ts';

/** Shown once: by the answer that made it. */
export interface MadeSecret {
  readonly sharedSecret: string;
  /** ISO 8601: until then the former secret signs as well. */
  readonly formerUntil?: string;
}

/** The console passes what is below `/manage` on to the API, which decides by itself. */
export function managedPath(id: string): string {
  return `/manage/destinations/${encoded(id)}`;
}

export function readManaged(id: string): Promise<Versioned<Managed>> {
  return ask<Managed>(managedPath(id), {});
}

/** @throws Problem 409 for an id that is taken */
export function create(id: string, csrf: string, fields: Fields): Promise<Versioned<MadeSecret>> {
  const headers = { 'if-none-match': '*' };
  return ask(managedPath(id), { method: 'PUT', csrf, headers, body: { ...fields, id } });
}

/** @throws Problem 412 if somebody else has changed it since `etag` */
export function change(
  id: string,
  csrf: string,
  etag: string | undefined,
  fields: Fields,
): Promise<Versioned<Managed>> {
  const headers = etag === undefined ? {} : { 'if-match': etag };
  return ask(managedPath(id), { method: 'PATCH', csrf, headers, body: fields });
}

export async function remove(id: string, csrf: string): Promise<void> {
  await ask(managedPath(id), { method: 'DELETE', csrf });
}

export async function sendTestTo(id: string, csrf: string): Promise<readonly TestAnswer[]> {
  const path = `${managedPath(id)}/test`;
  return (await post<{ readonly items: readonly TestAnswer[] }>(path, csrf)).items;
}

export function makeSecret(id: string, csrf: string): Promise<MadeSecret> {
  return post<MadeSecret>(`${managedPath(id)}/secret`, csrf);
}

/** The endpoints whose events are sent once more: one, or all that a customer has. */
export type Resent =
  { readonly endpoint: string; readonly customer?: undefined } | { readonly customer: string };

/** Starts sending events that were given up once more; with `dryRun`, they are only counted. */
export function sendAgain(whose: Resent, csrf: string, chosen: Fields): Promise<Redrive> {
  const path =
    whose.customer === undefined
      ? managedPath(whose.endpoint)
      : `/manage/customers/${encoded(whose.customer)}`;
  return post<Redrive>(`${path}/redrive`, csrf, chosen);
}

/** The place of such a run's progress. */
export function runPath(id: string): string {
  return `/manage/runs/${encoded(id)}`;
}
