import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  randomBytes,
  type KeyObject,
} from 'node:crypto';
import { PostriderError } from '../../errors.ts';

/** The keys that protect secrets in the `config` topic: one writes, both read. */
export interface SecretKeys {
  readonly current?: SecretKey;
  readonly previous?: SecretKey;
}

interface SecretKey {
  /** Part of every ciphertext, so that a reader can find the key that it needs. */
  readonly id: string;
  readonly key: KeyObject;
}

/** The place of a secret. A ciphertext can be decrypted only for its own place. */
export interface SecretPlace {
  readonly kind: string;
  readonly id: string;
  /** For people, e.g. `webhooks[0].headers.X-Token`. */
  readonly path: string;
  /**
   * Values that the secret must stay together with. For a header, that is its webhook's URL: somebody with
   * write access to the topic then cannot send a token elsewhere by changing the URL beside it.
   */
  readonly boundTo: readonly string[];
}

const format = 'v1';
const algorithm = 'aes-256-gcm';
/** Random 96-bit nonces are safe for 2^32 messages with one key (NIST SP 800-38D, 8.3). */
const nonceBytes = 12;
const tagBytes = 16;

/** `SECRET_KEY` and `SECRET_KEY_PREVIOUS`, 32 bytes each. */
export function createSecretKeys(
  current: Buffer | undefined,
  previous: Buffer | undefined,
): SecretKeys {
  return {
    ...(current === undefined ? undefined : { current: createKey(current) }),
    ...(previous === undefined ? undefined : { previous: createKey(previous) }),
  };
}

function createKey(bytes: Buffer): SecretKey {
  const id = createHash('sha256').update('postrider key id\n').update(bytes).digest('hex');
  return { id: id.slice(0, 8), key: createSecretKey(bytes) };
}

/** @throws PostriderError `secret-unreadable` without a `SECRET_KEY`. */
export function seal(secret: string, place: SecretPlace, keys: SecretKeys): string {
  if (keys.current === undefined)
    throw unreadable(
      place,
      'cannot be encrypted, because SECRET_KEY is not set; make one with `openssl rand -base64 32`',
    );
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, keys.current.key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(associatedData(place));
  const sealed = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return `${format}.${keys.current.id}.${Buffer.concat(sealed).toString('base64url')}`;
}

/** @throws PostriderError `secret-unreadable`, naming the resource and the setting to look at. */
export function unseal(sealed: string, place: SecretPlace, keys: SecretKeys): string {
  const [version, keyId, body] = sealed.split('.');
  if (version !== format || keyId === undefined || body === undefined)
    throw unreadable(place, 'is not encrypted in a way that this version knows');
  const key = [keys.current, keys.previous].find((each) => each?.id === keyId);
  if (key === undefined) throw unreadable(place, wrongKey(keys));

  const bytes = Buffer.from(body, 'base64url');
  try {
    const nonce = bytes.subarray(0, nonceBytes);
    const decipher = createDecipheriv(algorithm, key.key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(associatedData(place));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    const text = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch (cause) {
    throw unreadable(place, 'was altered in the config topic; apply the resource again', cause);
  }
}

/** Says whether a text was made by `seal`, in any version. */
export function isCiphertext(text: string): boolean {
  return /^v\d+\.[^./]+\.[^./]+$/.test(text);
}

/** False for what the previous key encrypted. A rotation is complete when nothing of it is left. */
export function isSealedWithCurrentKey(sealed: string, keys: SecretKeys): boolean {
  return keys.current !== undefined && sealed.startsWith(`${format}.${keys.current.id}.`);
}

function associatedData({ kind, id, boundTo }: SecretPlace): Buffer {
  return Buffer.from(JSON.stringify([format, kind, id, ...boundTo]));
}

function wrongKey({ current, previous }: SecretKeys): string {
  if (current === undefined && previous === undefined)
    return 'cannot be decrypted, because SECRET_KEY is not set';
  const tried = previous === undefined ? 'SECRET_KEY' : 'SECRET_KEY or SECRET_KEY_PREVIOUS';
  return `was encrypted with a key other than ${tried}; set SECRET_KEY_PREVIOUS to that key, or apply the resource again`;
}

function unreadable(place: SecretPlace, reason: string, cause?: unknown): PostriderError {
  const message = `${place.kind} ${place.id}: ${place.path} ${reason}`;
  return new PostriderError('secret-unreadable', message, { cause });
}
