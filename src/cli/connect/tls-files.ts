import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { PostriderError } from '../../errors.ts';

/** What a setting names, in PEM. */
interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

interface MaybeNamedFile {
  readonly setting: string;
  readonly path: string | undefined;
}

/**
 * One or more certificates.
 * @throws PostriderError `setting-invalid`: Node would take anything, and trust nobody
 */
export function readCertificates(file: NamedFile): Buffer {
  const bytes = read(file);
  firstCertificate(file, bytes);
  return bytes;
}

/**
 * A certificate, with those above it, and its key; undefined unless both are named.
 * @throws PostriderError `setting-invalid` with what is wrong; never with anything from the files
 */
export function readKeyPair(
  certFile: MaybeNamedFile,
  keyFile: MaybeNamedFile,
): { readonly cert: Buffer; readonly key: Buffer } | undefined {
  const { path: certPath } = certFile;
  const { path: keyPath } = keyFile;
  if (certPath === undefined || keyPath === undefined) return undefined;
  const namedCert = { ...certFile, path: certPath };
  const namedKey = { ...keyFile, path: keyPath };
  const cert = read(namedCert);
  const key = read(namedKey);
  if (!firstCertificate(namedCert, cert).checkPrivateKey(privateKey(namedKey, key))) {
    throw invalid(namedKey, `which is not the private key of ${certFile.setting}`);
  }
  return { cert, key };
}

function read(file: NamedFile): Buffer {
  try {
    return readFileSync(file.path);
  } catch (cause) {
    throw invalid(file, 'which cannot be read', cause);
  }
}

function firstCertificate(file: NamedFile, bytes: Buffer): X509Certificate {
  try {
    return new X509Certificate(bytes);
  } catch {
    throw invalid(file, 'which holds no certificate in PEM');
  }
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
