import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { PostriderError } from '../../errors.ts';

/** The file that a setting names, in PEM. */
export interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

/** Certificates of authorities. */
export interface Authorities {
  readonly ca: Buffer;
  /**
   * The expiry of the authority that holds for longest: while authorities are replaced, the former
   * one is there too.
   */
  readonly expiresMs: number;
}

export interface KeyPair {
  /** With those above it. */
  readonly cert: Buffer;
  readonly key: Buffer;
  /** The expiry of the certificate that expires first. */
  readonly expiresMs: number;
}

/**
 * One or more certificates in a file, or all files `*.crt` and `*.pem` of a folder: Strimzi keeps an authority
 * that it has replaced beside the new one, in a file of its own, while brokers still show its certificates.
 * @throws PostriderError `setting-invalid`: Node would take anything, and trust nobody
 */
export function readAuthorities(file: NamedFile): Authorities {
  const found = filesOf(file).flatMap((each) => certificatesIn(each, read(each)));
  const ca = Buffer.from(found.join(''));
  return { ca, expiresMs: Math.max(...found.map(expiryOf)) };
}

/**
 * A certificate, with those above it, and its key.
 * @throws PostriderError `setting-invalid` with what is wrong; never with anything from the files
 */
export function readKeyPair(certFile: NamedFile, keyFile: NamedFile): KeyPair {
  const cert = read(certFile);
  const key = read(keyFile);
  const chain = certificatesIn(certFile, cert);
  if (chain[0]?.checkPrivateKey(privateKey(keyFile, key)) !== true)
    throw invalid(keyFile, `which is not the private key of ${certFile.setting}`);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    // Such as a key that is too short.
    throw invalid(certFile, `which OpenSSL refuses: ${(cause as Error).message}`, cause);
  }
  return { cert, key, expiresMs: Math.min(...chain.map(expiryOf)) };
}

function filesOf(file: NamedFile): NamedFile[] {
  const inside = unlessUnreadable(file, () =>
    statSync(file.path).isDirectory() ? readdirSync(file.path) : undefined,
  );
  if (inside === undefined) return [file];
  const names = inside.filter((name) => /\.(crt|pem)$/.test(name));
  if (names.length === 0) throw invalid(file, 'which is a folder without files *.crt or *.pem');
  return names.sort().map((name) => ({ ...file, path: join(file.path, name) }));
}

function read(file: NamedFile): Buffer {
  const bytes = unlessUnreadable(file, () => readFileSync(file.path));
  if (bytes.length === 0) throw invalid(file, 'which is empty');
  return bytes;
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'which does not exist',
  ENOTDIR: 'which does not exist',
  EISDIR: 'which is a folder; allowed: a file',
  EACCES: 'which cannot be read: permission denied',
};

/** Node's own error would say neither which setting names the file nor, for some calls, the path. */
function unlessUnreadable<T>(file: NamedFile, look: () => T): T {
  try {
    return look();
  } catch (cause) {
    const code = String((cause as NodeJS.ErrnoException).code);
    throw invalid(file, unreadable[code] ?? `which cannot be read (${code})`, cause);
  }
}

const begin = '-----BEGIN CERTIFICATE-----';
const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function certificatesIn(file: NamedFile, bytes: Buffer): X509Certificate[] {
  const text = bytes.toString('latin1');
  const found = text.match(certificate) ?? [];
  // The end is missing while the file is being written.
  if (found.length < text.split(begin).length - 1)
    throw invalid(file, 'which holds only a part of a certificate');
  if (found.length === 0) throw invalid(file, 'which holds no certificate in PEM');
  try {
    return found.map((each) => new X509Certificate(each));
  } catch {
    throw invalid(file, 'which holds no certificate in PEM');
  }
}

function expiryOf({ validTo }: X509Certificate): number {
  return Date.parse(validTo);
}

function privateKey(file: NamedFile, bytes: Buffer): KeyObject {
  try {
    return createPrivateKey(bytes);
  } catch {
    throw invalid(file, 'which holds no private key in PEM without a passphrase');
  }
}

function invalid({ setting, path }: NamedFile, reason: string, cause?: unknown): PostriderError {
  return new PostriderError('setting-invalid', `${setting} names "${path}", ${reason}`, { cause });
}
