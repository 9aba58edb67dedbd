import { sign as signWithKey } from 'node:crypto';
import type { Destination } from '../resources/resource.ts';
import { signingSecret } from '../resources/signing-secret.ts';
import { hmac, hmacKey, type HmacKey } from './hmac.ts';

/** The `v1` or `v1a` signature of a text and the body behind it. */
type StandardSignature = (text: string, body: Buffer) => string;

interface FormerSignature {
  readonly signatureOf: StandardSignature;
  readonly untilMs: number;
}

type Signing = Pick<Destination, 'signature' | 'sharedSecret' | 'formerSecrets'>;

/** Signs the requests of one version of a destination. */
export class Signer {
  readonly #segment: HmacKey | undefined;
  readonly #standard: StandardSignature | undefined;
  /** Newest first. */
  readonly #former: readonly FormerSignature[];

  constructor({ signature, sharedSecret, formerSecrets = [] }: Signing) {
    const isSigned = sharedSecret !== undefined && sharedSecret !== '';
    this.#segment =
      isSigned && signature !== 'standard'
        ? hmacKey('sha1', Buffer.from(sharedSecret, 'utf8'))
        : undefined;
    this.#standard =
      isSigned && signature !== undefined ? standardSignature(sharedSecret) : undefined;
    this.#former = formerSecrets.map(({ secret, untilMs }) => ({
      signatureOf: standardSignature(secret),
      untilMs,
    }));
  }

  /**
   * Appends the headers of one attempt, names and values in turn: `X-Signature`, lower-case hex HMAC-SHA1 of the
   * body's exact bytes, and those of Standard Webhooks, which sign the id and the attempt's time as well, with former
   * secrets too until their time is over.
   * @param webhookId as the header can carry it
   */
  addHeaders(headers: string[], webhookId: string, body: Buffer, nowMs: number): void {
    if (this.#segment !== undefined)
      headers.push('X-Signature', hmac(this.#segment, '', body, 'hex'));
    if (this.#standard === undefined) return;
    const timestamp = String(Math.floor(nowMs / 1_000));
    const text = `${webhookId}.${timestamp}.`;
    let signatures = this.#standard(text, body);
    for (const { signatureOf, untilMs } of this.#former)
      if (nowMs < untilMs) signatures += ` ${signatureOf(text, body)}`;
    headers.push('webhook-id', webhookId, 'webhook-timestamp', timestamp);
    headers.push('webhook-signature', signatures);
  }
}

function standardSignature(secret: string): StandardSignature {
  const read = signingSecret(secret);
  if (read.kind === 'symmetric') {
    const key = hmacKey('sha256', read.key);
    return (text, body) => `v1,${hmac(key, text, body, 'base64')}`;
  }
  const { privateKey } = read;
  return (text, body) => {
    const signed = Buffer.concat([Buffer.from(text, 'latin1'), body]);
    return `v1a,${signWithKey(null, signed, privateKey).toString('base64')}`;
  };
}
