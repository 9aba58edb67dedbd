import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { parseManifests, type Manifest } from './manifest.ts';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));

/** What users apply, and what they may add to it. */
export const variants = {
  dev: { overlay: 'dev', components: [] },
  production: { overlay: 'production', components: [] },
  'production with shards of audiences': {
    overlay: 'production',
    components: ['audience-shards'],
  },
} as const;

export type Variant = keyof typeof variants;

const rendered = new Map<Variant, readonly Manifest[]>();

/** Everything that `kubectl apply -k` would send. */
export function render(kustomize: string, variant: Variant): readonly Manifest[] {
  const manifests = rendered.get(variant) ?? build(kustomize, variant);
  rendered.set(variant, manifests);
  return manifests;
}

function build(kustomize: string, variant: Variant): Manifest[] {
  const { overlay, components } = variants[variant];
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-render-')));
  const from = (path: string): string => relative(folder, join(deploy, path));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [from(`overlays/${overlay}`)],
    components: components.map((name) => from(`components/${name}`)),
  };
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization));
  try {
    return parseManifests(execFileSync(kustomize, ['build', folder], { encoding: 'utf8' }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
