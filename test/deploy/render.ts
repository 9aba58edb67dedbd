import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseManifests, type Manifest } from './manifest.ts';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));

/** The overlays that users apply, and `everything`: production with all components. */
export const variants = ['dev', 'production', 'everything'] as const;

export type Variant = (typeof variants)[number];

const rendered = new Map<Variant, readonly Manifest[]>();

/** Everything that `kubectl apply -k` would send. */
export function render(kustomize: string, variant: Variant): readonly Manifest[] {
  const manifests =
    rendered.get(variant) ??
    (variant === 'everything'
      ? renderEdited(kustomize, [takeAllIn])
      : build(kustomize, join(deploy, 'overlays', variant)));
  rendered.set(variant, manifests);
  return manifests;
}

/** What somebody changes in a file of `deploy`. */
export interface Edit {
  readonly file: string;
  readonly from: RegExp;
  readonly to: string;
}

/** Takes the components in that the production overlay leaves out. */
export const takeAllIn: Edit = {
  file: 'overlays/production/kustomization.yaml',
  from: /^ {2}# - (\.\.\/\.\.\/components\/)/gm,
  to: '  - $1',
};

/** The production overlay after edits. @throws where an edit changes nothing */
export function renderEdited(kustomize: string, edits: readonly Edit[]): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-deploy-'));
  try {
    cpSync(deploy, folder, { recursive: true });
    for (const { file, from, to } of edits) {
      const path = join(folder, file);
      const text = readFileSync(path, 'utf8');
      const edited = text.replace(from, to);
      if (edited === text) throw new Error(`nothing in ${file} is like ${String(from)}`);
      writeFileSync(path, edited);
    }
    return build(kustomize, join(folder, 'overlays/production'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function build(kustomize: string, overlay: string): Manifest[] {
  return parseManifests(execFileSync(kustomize, ['build', overlay], { encoding: 'utf8' }));
}
