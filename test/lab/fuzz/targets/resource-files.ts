import assert from 'node:assert/strict';
import { parseDocuments } from '../../../../src/resources/apply/document.ts';
import { parseDesired } from '../../../../src/resources/apply/desired.ts';
import { parseResource } from '../../../../src/resources/schema/schema.ts';
import { PreparedDestination } from '../../../../src/delivery/prepared-destination.ts';
import { exampleBounds } from '../../../resources/examples.ts';
import type { Target } from '../engine/target.ts';

const variables = {
  environment: { TOKEN: 't0ken: {"a"}', EMPTY: '' },
  settings: new Set(['SECRET_KEY']),
};
const bounds = { ...exampleBounds, deliveryMaxInFlight: 64, audienceFilesDir: '/data' };

/** The first byte: YAML or JSON. */
export const target: Target = {
  about:
    'resource files as people write them: problems with file, line and a reason, or resources that the schema takes again',
  seeds: [
    `Ykind: Source\nid: shop\nname: Web shop\nwriteKeys: [wk_shop]\n---\nkind: Destination\nid: crm\nname: CRM\nsources: [shop]\nsharedSecret: \${TOKEN}\nwebhooks:\n  - url: https://crm.example.com/a?b\n    headers: { X-Token: "\${TOKEN}" }\nrateLimit: 100/s\nretry: {on: [409, 410], giveUpOn: [503], window: 30m, timeout: 3s}\n`,
    'Y- &a {kind: Source, id: a, name: A, writeKeys: [k]}\n- <<: *a\n- *a\n',
    "Ykind: Audience\nid: a\nname: A\nsource: shop\nmembers:\n  sql: select id from '/data/a.csv'\nlimits: {maxRemoved: 5}\n",
    'Ykind: ComputedTrait\nid: ltv\nname: L\nsource: shop\nvalues: {file: ltv.parquet, userId: id, value: total}\n',
    'Ykind: NoticeHook\nid: n\nname: N\nurl: https://hooks.example.com\nformat: chat\n',
    'J[{"kind":"Source","id":"shop","name":"S","writeKeys":["a","a"]},{"kind":"Sorce"}]',
  ],
  words: [
    ...['kind: ', 'id: ', 'name: ', 'webhooks:', 'url: ', 'headers:', '---\n', '...\n', '- ', '  '],
    ...[
      '&a ',
      '*a',
      '<<: *a\n',
      '!!set ',
      '!!binary ',
      '!!timestamp ',
      '!!omap ',
      '!x ',
      '%YAML 1.1\n---\n',
    ],
    ...[
      '|\n',
      '>-\n',
      '? ',
      ': ',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      '#',
      '\t',
      '${TOKEN}',
      '${',
      '$${',
      '${EMPTY}',
      '${SECRET_KEY}',
    ],
    ...[
      'toString: 1',
      'valueOf',
      '__proto__: ',
      'constructor: ',
      'toJSON: ',
      '.inf',
      '.nan',
      '0x7f',
      '1e999',
      '~',
    ],
    ...['"kind":', '"id":', '\\u0000', '\ufeff', '\r\n', 'maxInFlight: ', 'topic: dedicated\n'],
  ],
  covers: ['/yaml/dist/'],
  mostBytes: 16_384,
  mostCpuMs: 2_000,
  check(input) {
    const syntax = input[0] === 0x4a ? 'json' : 'yaml';
    const text = input.toString('utf8', 1);
    const { documents, problems } = parseDocuments('a.yaml', text, syntax, variables);
    const lines = text.split(/\r\n|\r|\n/).length;
    const desired = parseDesired(documents, bounds);
    for (const { file, line = 1, reason } of [...problems, ...desired.problems]) {
      assert.equal(file, 'a.yaml');
      assert.ok(line >= 1 && line <= lines, `line ${line} of ${lines}`);
      assert.ok(reason.length > 0 && reason.length < 2_000 + text.length, 'a reason');
      assert.doesNotMatch(reason, /\bt0ken\b|\bundefined\b|\[object|call stack/);
    }
    if (documents.length > 0) assert.equal(documents.length >= desired.resources.length, true);
    for (const { resource } of desired.resources) {
      assert.ok(Object.isFrozen(resource));
      if (resource.kind === 'Destination')
        assert.ok(new PreparedDestination(resource).endpoints.length > 0);
      const json = JSON.parse(JSON.stringify(resource)) as { rateLimit?: unknown };
      // Rates are written as text and kept as numbers.
      if (json.rateLimit === undefined) assert.deepEqual(parseResource(json), { resource });
    }
  },
};
