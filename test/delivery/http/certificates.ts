import forge from 'node-forge';

/** Made when the tests run. `cert` is what a server shows: the certificate, and maybe those above it. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Issuer {
  readonly name: string;
  readonly keys: forge.pki.rsa.KeyPair;
  readonly cert: string;
}

interface Wanted {
  readonly name?: string;
  /** Signed by itself without one. */
  readonly by?: Issuer;
  readonly hosts?: readonly string[];
  readonly isAuthority?: boolean;
  /** Days from now. */
  readonly validDays?: readonly [from: number, to: number];
}

const dayMs = 86_400_000;
let serial = 1;

function issue(keys: forge.pki.rsa.KeyPair, wanted: Wanted): string {
  const { name = 'endpoint', by, hosts = [], isAuthority = false, validDays = [-1, 1] } = wanted;
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = keys.publicKey;
  serial += 1;
  certificate.serialNumber = (0x10_00_00 + serial).toString(16);
  certificate.validity.notBefore = new Date(Date.now() + validDays[0] * dayMs);
  certificate.validity.notAfter = new Date(Date.now() + validDays[1] * dayMs);
  certificate.setSubject([{ name: 'commonName', value: name }]);
  certificate.setIssuer([{ name: 'commonName', value: by?.name ?? name }]);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: isAuthority },
    ...(hosts.length === 0 ? [] : [{ name: 'subjectAltName', altNames: hosts.map(altName) }]),
  ]);
  certificate.sign((by?.keys ?? keys).privateKey, forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate);
}

/** As X.509 numbers them: 2 is a DNS name, 7 an address. */
function altName(host: string): object {
  return /^[\d.]+$/.test(host) ? { type: 7, ip: host } : { type: 2, value: host };
}

export function makeAuthority(name: string, wanted: Omit<Wanted, 'name'> = {}): Issuer {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  return { name, keys, cert: issue(keys, { isAuthority: true, ...wanted, name }) };
}

const endpointKeys = forge.pki.rsa.generateKeyPair(2048);
const endpointKey = forge.pki.privateKeyToPem(endpointKeys.privateKey);

/** An endpoint's certificate; for 127.0.0.1 and crm.example unless `hosts` says otherwise. */
export function makeCertificate(wanted: Wanted = {}, ...above: readonly Issuer[]): Certificate {
  const own = issue(endpointKeys, { hosts: ['127.0.0.1', 'crm.example'], ...wanted });
  return { cert: [own, ...above.map(({ cert }) => cert)].join(''), key: endpointKey };
}

/** The endpoint as somebody who signs for others, which its certificate does not say. */
export function asIssuer(name: string, by: Issuer): Issuer {
  return { name, keys: endpointKeys, cert: issue(endpointKeys, { name, by }) };
}
