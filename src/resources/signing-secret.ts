import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';

/**
 * The key that a `sharedSecret` stands for in a signature by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
 */
export type SigningSecret =
  | { readonly kind: 'symmetric'; readonly key: Buffer }
  | { readonly kind: 'ed25519'; readonly privateKey: KeyObject };

const symmetricPrefix = 'whsec_';
const privatePrefix = 'whsk_';
const publicPrefix = 'whpk_';
const leastKeyBytes = 24;
const mostKeyBytes = 64;
const freshKeyBytes = 32;
const seedBytes = 32;
/** PKCS #8 of an ed25519 key (RFC 8410) up to its seed. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A fresh symmetric secret. */
export function newSigningSecret(): string {
  return symmetricPrefix + randomBytes(freshKeyBytes).toString('base64');
}

/** A fresh ed25519 secret. */
export function newSigningKey(): string {
  return privatePrefix + randomBytes(seedBytes).toString('base64');
}

/** Why a secret cannot sign by Standard Webhooks; undefined if it can. Never repeats the secret. */
export function signingSecretProblem(secret: string): string | undefined {
  if (secret.startsWith(symmetricPrefix)) {
    const key = decoded(secret, symmetricPrefix);
    if (key === undefined) return `must be base64 after ${symmetricPrefix}`;
    return key.length >= leastKeyBytes && key.length <= mostKeyBytes
      ? undefined
      : `must stand for ${leastKeyBytes} to ${mostKeyBytes} bytes after ${symmetricPrefix}, and these are ${key.length}`;
  }
  if (secret.startsWith(publicPrefix))
    return `is a public key; signing needs the private one, ${privatePrefix}…`;
  if (!secret.startsWith(privatePrefix)) return undefined;
  const key = decoded(secret, privatePrefix);
  if (key === undefined) return `must be base64 after ${privatePrefix}`;
  if (key.length === seedBytes) return undefined;
  if (key.length !== 2 * seedBytes)
    return `must stand for an ed25519 key of 32 bytes, or of 64 with its public half, after ${privatePrefix}, and these are ${key.length}`;
  return key.subarray(seedBytes).equals(rawPublicKey(privateKeyOf(key)))
    ? undefined
    : `must end in the public half of its own key after ${privatePrefix}`;
}

/** Why nothing can be verified with a secret; undefined if it can. */
export function verifyingSecretProblem(secret: string): string | undefined {
  if (secret.startsWith(publicPrefix))
    return decoded(secret, publicPrefix)?.length === seedBytes
      ? undefined
      : `must be base64 of 32 bytes after ${publicPrefix}`;
  return secret.startsWith(privatePrefix)
    ? `is a private key; receivers verify with the public one, ${publicPrefix}…`
    : signingSecretProblem(secret);
}

/** @param secret one without a `signingSecretProblem` */
export function signingSecret(secret: string): SigningSecret {
  if (secret.startsWith(symmetricPrefix))
    return { kind: 'symmetric', key: Buffer.from(secret.slice(symmetricPrefix.length), 'base64') };
  if (!secret.startsWith(privatePrefix))
    return { kind: 'symmetric', key: Buffer.from(secret, 'utf8') };
  const key = Buffer.from(secret.slice(privatePrefix.length), 'base64');
  return { kind: 'ed25519', privateKey: privateKeyOf(key) };
}

/** `whpk_…`, with which receivers verify; undefined for a symmetric secret. */
export function publicKeyOf(secret: string): string | undefined {
  const read = signingSecret(secret);
  if (read.kind === 'symmetric') return undefined;
  return publicPrefix + rawPublicKey(read.privateKey).toString('base64');
}

function privateKeyOf(key: Buffer): KeyObject {
  const der = Buffer.concat([pkcs8Head, key.subarray(0, seedBytes)]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

function rawPublicKey(privateKey: KeyObject): Buffer {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url');
}

/** Undefined if it is no base64: Node.js would decode what it can of it. */
function decoded(secret: string, prefix: string): Buffer | undefined {
  const text = secret.slice(prefix.length);
  const bytes = Buffer.from(text, 'base64');
  const written = bytes.toString('base64');
  return text === written || text === written.replaceAll('=', '') ? bytes : undefined;
}
