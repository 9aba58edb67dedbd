import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { Clock } from '../../ops/clock.ts';

/** Somebody waits for it. */
const timeoutMs = 5_000;
/** The documents of large providers have some tens of kilobytes. */
const mostBytes = 512 * 1024;
/** However many requests come while the provider is away, it is asked once in a while. */
const failedForMs = 5_000;
/** A key that the provider has taken away is believed for so long. */
const keysForMs = 10 * 60_000;
/** A token of an unknown key, which anybody can make, has the keys fetched no more often. */
const unknownKeyMs = 30_000;

const metadata = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** The keys with which an identity provider signs, fetched when they are needed first, and when an unknown one is. */
export class ProviderKeys {
  readonly #issuer: string;
  readonly #clock: Clock;
  #found: Promise<JWTVerifyGetKey> | undefined;
  #failed: { readonly error: unknown; readonly atMs: number } | undefined;

  constructor(issuer: string, clock: Clock) {
    this.#issuer = issuer;
    this.#clock = clock;
  }

  /** The key of a token's header. Rejects with an error of `jose`, or another one where the provider does not answer. */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    this.#found ??= this.#find();
    const keys = await this.#found.catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    return keys(header, token);
  };

  async #find(): Promise<JWTVerifyGetKey> {
    const address = `${this.#issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const response = await this.#fetch(address, AbortSignal.timeout(timeoutMs));
    const { issuer, jwks_uri: keysUrl } = metadata.parse(await response.json());
    if (issuer !== this.#issuer) throw new Error(`${address} is of the issuer ${issuer}`);
    // What is said in the clear can be changed on the way; the settings allow it on loopback only.
    if (new URL(keysUrl).protocol !== new URL(issuer).protocol)
      throw new Error(`${address} names keys at ${keysUrl}`);
    return createRemoteJWKSet(new URL(keysUrl), {
      timeoutDuration: timeoutMs,
      cooldownDuration: unknownKeyMs,
      cacheMaxAge: keysForMs,
      [customFetch]: (url, { signal }) => this.#fetch(url, signal),
    });
  }

  async #fetch(url: string, signal: AbortSignal): Promise<Response> {
    const nowMs = this.#clock.now();
    if (this.#failed !== undefined && Math.abs(nowMs - this.#failed.atMs) < failedForMs)
      throw this.#failed.error;
    try {
      const response = await fetch(url, { signal, redirect: 'error' });
      if (response.status !== 200) throw new Error(`${url} answers ${response.status}`);
      const body = await bounded(response, url);
      this.#failed = undefined;
      return new Response(body);
    } catch (error) {
      this.#failed = { error, atMs: nowMs };
      throw error;
    }
  }
}

async function bounded({ body }: Response, url: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > mostBytes) throw new Error(`${url} answers with more than ${mostBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
