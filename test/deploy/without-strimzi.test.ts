import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { parseManifests } from './manifest.ts';

const overlay = fileURLToPath(new URL('../../deploy/overlays/production', import.meta.url));
const page = readFileSync(new URL('../../docs/production.md', import.meta.url), 'utf8');

/** What the page tells people without Strimzi to write into their overlay. */
function patchesOfPage(): unknown {
  const section = page.split('\n### Kafka without Strimzi\n')[1]?.split('\n## ')[0] ?? '';
  const [, block = ''] = /```yaml\n([^]*?)```/.exec(section) ?? [];
  return (parse(block) as { readonly patches: unknown }).patches;
}

testNeeding(
  [programs.kustomize],
  'the patches for a Kafka without Strimzi drop its resources, and keep TLS and the logins',
  (kustomize) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-overlay-')));
    const kustomization = { resources: [relative(folder, overlay)], patches: patchesOfPage() };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const text = execFileSync(kustomize, ['build', folder], { encoding: 'utf8' });
    const manifests = parseManifests(text);
    assert.ok(!manifests.some(({ apiVersion }) => apiVersion.startsWith('kafka.strimzi.io')));
    const settings = manifests.find(({ metadata }) =>
      metadata.name.startsWith('postrider-settings-'),
    ) as unknown as { readonly data: Readonly<Record<string, string>> };
    assert.equal(settings.data['KAFKA_BROKERS'], 'kafka-1:9093,kafka-2:9093,kafka-3:9093');
    assert.equal(settings.data['KAFKA_SSL'], 'true');
    // The Secrets that the page has people make.
    for (const secret of ['postrider-gateway', 'postrider-delivery', 'kafka-cluster-ca-cert'])
      assert.match(text, new RegExp(`(secretName|name): ${secret}\\b`), secret);
  },
);
