import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { generateKeyPairSync } from 'node:crypto';
import { parseDesired } from '../../src/resources/apply/desired.ts';
import { parseDocuments } from '../../src/resources/apply/document.ts';
import { compareFields } from '../../src/resources/apply/field-changes.ts';
import { decodeResource, encodeResource, maskResource } from '../../src/resources/config/stored.ts';
import { formatProblem } from '../../src/resources/problem.ts';
import { presentOne } from '../../src/resources/present.ts';
import { settingNames } from '../../src/settings/misspelt.ts';
import { makeCertificate } from '../delivery/http/certificates.ts';
import { exampleBounds, exampleDestination, exampleKeys } from './examples.ts';

const { cert, key } = makeCertificate({ name: 'postrider' });
const strange = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const strangeKey = strange.export({ format: 'pem', type: 'pkcs8' }).toString();
const lockedKey = strange
  .export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'zq1' })
  .toString();

/** What `apply` says of a webhook with this certificate, from variables as a shell or a Secret gives them. */
function problemsOf(
  variables: Readonly<Record<string, string>>,
  url = 'https://crm.example/',
): string[] {
  const fields = Object.keys(variables).map((name) => `${name}: \${${name}}`);
  const text = `kind: Destination\nid: crm\nname: CRM\nsources: []\nwebhooks:\n  - url: ${url}\n    clientCertificate: { ${fields.join(', ')} }\n`;
  const parsed = parseDocuments('crm.yaml', text, 'yaml', {
    environment: variables,
    settings: settingNames,
  });
  const { problems } = parseDesired(parsed.documents, exampleBounds);
  return [...parsed.problems, ...problems].map(formatProblem);
}

describe('clientCertificate of a webhook', () => {
  test('may come from variables that end in a line break, as texts in PEM do', () => {
    assert.deepEqual(problemsOf({ certificate: cert, privateKey: key }), []);
    const trimmed = { certificate: cert.trimEnd(), privateKey: key.trimEnd() };
    assert.deepEqual(problemsOf(trimmed), []);
  });

  const at = 'crm.yaml:7: webhooks[0].clientCertificate';
  const expired = makeCertificate({ validDays: [-9, -8] }).cert;
  const future = makeCertificate({ validDays: [8, 9] }).cert;
  for (const [what, variables, expected] of [
    ['without its key', { certificate: cert }, /^\.privateKey: is missing$/],
    [
      'of another key',
      { certificate: cert, privateKey: strangeKey },
      /^\.privateKey: is not the key of the certificate$/,
    ],
    [
      'with a key that is locked',
      { certificate: cert, privateKey: lockedKey },
      /^\.privateKey: is protected by a passphrase; give it without one$/,
    ],
    [
      'with a key that is none',
      { certificate: cert, privateKey: 'zq2' },
      /^\.privateKey: must be a private key in PEM/,
    ],
    [
      'that is none',
      { certificate: 'zq3', privateKey: key },
      /^\.certificate: must be a certificate in PEM/,
    ],
    [
      'that has expired',
      { certificate: expired, privateKey: key },
      /^\.certificate: expired at \d{4}-/,
    ],
    [
      'that is not valid yet',
      { certificate: future, privateKey: key },
      /^\.certificate: is not valid before \d{4}-/,
    ],
  ] as const)
    test(`is refused ${what}, with one sentence`, () => {
      const [problem = '', ...others] = problemsOf(variables);
      assert.deepEqual(others, []);
      assert.ok(problem.startsWith(at), problem);
      assert.match(problem.slice(at.length), expected);
      assert.doesNotMatch(problem, /zq\d/);
    });

  test('is refused where no TLS shows it', () => {
    assert.deepEqual(problemsOf({ certificate: cert, privateKey: key }, 'http://crm.example/'), [
      `${at}: needs a URL that starts with https://`,
    ]);
  });

  test('has its key encrypted, and shown by nothing', () => {
    const url = 'https://crm.example/';
    const shown = { certificate: cert, privateKey: key };
    const before = exampleDestination({ webhooks: [{ url, clientCertificate: shown }] });
    const value = encodeResource(before, exampleKeys);
    assert.doesNotMatch(value, /PRIVATE KEY/);
    const sealed = decodeResource({ kind: 'Destination', id: 'crm' }, value);
    assert.doesNotMatch(presentOne(maskResource(sealed), 'yaml'), /PRIVATE KEY/);
    const renewed = makeCertificate({ name: 'postrider', validDays: [-1, 9] });
    const clientCertificate = { certificate: renewed.cert, privateKey: strangeKey };
    const after = exampleDestination({ webhooks: [{ url, clientCertificate }] });
    const [certificate, privateKey, ...others] = compareFields(before, after);
    assert.deepEqual(others, []);
    assert.deepEqual(privateKey, {
      path: 'webhooks[0].clientCertificate.privateKey',
      isSecret: true,
    });
    assert.match(
      String(certificate?.values?.before),
      /^CN=postrider, until \d{4}-.*, SHA-256 [0-9a-f]{16}…$/,
    );
    assert.notEqual(certificate?.values?.before, certificate?.values?.after);
  });

  test('stays readable where it is stored after it has expired', () => {
    const clientCertificate = { certificate: expired, privateKey: key };
    const destination = exampleDestination({
      webhooks: [{ url: 'https://crm.example/', clientCertificate }],
    });
    const value = encodeResource(destination, exampleKeys);
    assert.ok(decodeResource({ kind: 'Destination', id: 'crm' }, value));
  });
});
