import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseManifests, type Manifest } from './manifest.ts';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));

/** The overlays that users apply. */
export const variants = ['dev', 'production'] as const;

type Variant = (typeof variants)[number];

const rendered = new Map<Variant, readonly Manifest[]>();

/** Everything that `kubectl apply -k` would send. */
export function render(kustomize: string, variant: Variant): readonly Manifest[] {
  const manifests = rendered.get(variant) ?? build(kustomize, join(deploy, 'overlays', variant));
  rendered.set(variant, manifests);
  return manifests;
}

/** The same with a component that the overlay leaves out. */
export function renderWith(kustomize: string, variant: Variant, component: string): Manifest[] {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'postrider-overlay-')));
  const from = (...path: readonly string[]): string => relative(folder, join(deploy, ...path));
  const kustomization = {
    namespace: 'postrider',
    resources: [from('overlays', variant)],
    components: [from('components', component)],
  };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
  return build(kustomize, folder);
}

function build(kustomize: string, overlay: string): Manifest[] {
  return parseManifests(execFileSync(kustomize, ['build', overlay], { encoding: 'utf8' }));
}
