import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { PostriderError } from '../../errors.ts';
import { sslModeOf } from '../../resources/schema/texts.ts';

/** The access that `pg` is given instead of a URL, whose `sslmode` it reads in its own way. */
export interface PostgresAccess {
  /** Without the parameters of TLS, which would count more than `ssl`. */
  readonly connectionString: string;
  /** Undefined: what `pg` reads in the URL and in the environment, because the URL has no `sslmode`. */
  readonly ssl: ConnectionOptions | false | undefined;
}

/**
 * Reads the parameters of TLS in a URL as PostgreSQL's own clients do.
 * @throws PostriderError `input-invalid`: a file that the URL names cannot be read
 */
export function accessOf(url: string): PostgresAccess {
  const mode = sslModeOf(url);
  if (mode === undefined) return { connectionString: url, ssl: undefined };
  const [address = '', query = ''] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  const take = (name: string): string | undefined => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  take('sslmode');
  const authority = take('sslrootcert');
  const [cert, key] = [take('sslcert'), take('sslkey')];
  const connectionString = parameters.size === 0 ? address : `${address}?${parameters.toString()}`;
  if (mode === 'disable') return { connectionString, ssl: false };
  const ssl: ConnectionOptions = {};
  // For libpq too, an authority turns `require` into `verify-ca`.
  if (mode === 'require' && authority === undefined) ssl.rejectUnauthorized = false;
  if (mode !== 'verify-full') ssl.checkServerIdentity = anyName;
  // The system's authorities, which Node uses without any.
  if (authority !== undefined && authority !== 'system')
    ssl.ca = contentOf('sslrootcert', authority);
  if (cert !== undefined) ssl.cert = contentOf('sslcert', cert);
  if (key !== undefined) ssl.key = contentOf('sslkey', key);
  return { connectionString, ssl };
}

const anyName = (): undefined => undefined;

function contentOf(name: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new PostriderError('input-invalid', `the file of ${name} cannot be read (${code})`);
  }
}
