import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDocuments } from '../../../src/resources/apply/document.ts';
import { settingNames } from '../../../src/settings/misspelt.ts';

const values = {
  TOKEN: 'token-zq1',
  CHAT_URL: 'https://chat.example.com/hooks/zq2',
  DATABASE_URL: 'postgres://reader:zq3@db.example.com/shop',
};

/** The fields that are refused, and why, in short. */
function refused(text: string, more: Readonly<Record<string, string>> = {}): readonly string[] {
  const environment = { ...values, SECRET_KEY: 'zq4', ...more };
  const variables = { environment, settings: settingNames };
  const { documents, problems } = parseDocuments('f.yaml', text, 'yaml', variables);
  const issues = documents.flatMap(({ parsed }) => ('issues' in parsed ? parsed.issues : []));
  const said = [
    ...problems.map(({ path, reason }) => `${path}: ${reason}`),
    ...issues.map(({ path, reason }) => `${path.join('.')}: ${reason}`),
  ];
  assert.doesNotMatch(said.join(), /zq\d/);
  return said.map((each) => each.replace(/[,;].*/s, ''));
}

const crm = 'kind: Destination\nid: crm\nname: CRM\nsources: [shop]\n';
const hook = 'kind: NoticeHook\nid: team\nname: Team\n';
const audience = 'kind: Audience\nid: big\nname: Big\nsource: shop\n';

test('the settings and the variables of the platform are not for resource files, set or not', () => {
  const names = [...settingNames, 'AWS_SECRET_ACCESS_KEY', 'GOOGLE_APPLICATION_CREDENTIALS'];
  names.push('AZURE_CLIENT_SECRET', 'KUBERNETES_SERVICE_HOST', 'KUBECONFIG', 'KAFKA_OPTS');
  names.push('PGPASSWORD', 'NODE_OPTIONS', 'GITHUB_TOKEN', 'HTTPS_PROXY', 'https_proxy');
  assert.ok(names.includes('SECRET_KEY') && names.includes('KAFKA_SASL_PASSWORD_FILE'));
  for (const name of names)
    assert.match(
      refused(
        `${crm}webhooks: [{ url: "https://x.example/", headers: { X: "\${${name}}" } }]`,
      )[0] ?? '',
      new RegExp(`^webhooks\\[0\\]\\.headers\\.X: \\$\\{${name}\\} is not for resource files`),
    );
});

test('a value that ends in a line break is refused, as a secret from a file may', () => {
  for (const ending of ['\n', '\r', '\r\n'])
    assert.deepEqual(
      refused(`${crm}webhooks: [{ url: "https://x.example/" }]\nsharedSecret: \${BROKEN}`, {
        BROKEN: `zq5${ending}`,
      }),
      ['sharedSecret: the environment variable BROKEN ends in a line break'],
    );
});

test('a variable may stand where its value is a secret', () => {
  assert.deepEqual(
    refused(
      [
        `${crm}sharedSecret: \${TOKEN}\nwebhooks: [{ url: "https://x.example/", headers: { X: "Bearer \${TOKEN}" } }]`,
        `${crm}secretUrl: true\nwebhooks: [{ url: "\${CHAT_URL}" }, { url: "https://x.example/\${TOKEN}" }]`,
        `${hook}url: \${CHAT_URL}\nheaders: { X: "\${TOKEN}" }\nsharedSecret: \${TOKEN}`,
        `${audience}members: { postgres: "\${DATABASE_URL}?sslmode=require", query: select 1 }`,
        `${audience}members: { postgres: "postgres://reader:\${TOKEN}@db/shop", query: select 1 }`,
      ].join('\n---\n'),
    ),
    [],
  );
});

test('a variable is refused in every field that is shown, also where it comes by an alias', () => {
  const rule = 'must not come from a variable';
  assert.deepEqual(
    refused(
      [
        'kind: Source\nid: shop\nname: ${TOKEN}\nwriteKeys: ["${TOKEN}"]',
        `${crm}webhooks: [{ url: "https://x.example/\${TOKEN}" }]`,
        'kind: Destination\nid: ${TOKEN}\nname: N\nsources: ["${TOKEN}"]\nwebhooks: [{ url: "https://x.example/" }]',
        'kind: NoticeHook\nid: team\nsharedSecret: &s ${TOKEN}\nname: *s\nurl: https://x.example/',
        `${audience}members: { postgres: "\${DATABASE_URL}", query: "select '\${TOKEN}'" }`,
      ].join('\n---\n'),
    ),
    [
      `name: ${rule}`,
      `writeKeys.0: ${rule}`,
      `webhooks.0.url: ${rule}`,
      `id: ${rule}`,
      `sources.0: ${rule}`,
      `name: ${rule}`,
      `members.query: ${rule}`,
    ],
  );
});

test('the host of a secret URL is shown, so no variable is in it', () => {
  const rule = 'must not have a variable in its host';
  const urls = ['https://${TOKEN}.example/', 'https://x.${TOKEN}/', 'https://${TOKEN}'];
  for (const url of urls) assert.deepEqual(refused(`${hook}url: ${url}`), [`url: ${rule}`], url);
  assert.deepEqual(
    refused(`${audience}members: { postgres: "postgres://a:b@\${TOKEN}/c", query: select 1 }`),
    [`members.postgres: ${rule}`],
  );
});
