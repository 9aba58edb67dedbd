import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

/** A Kubernetes object as far as every kind has the same fields. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

/** A file below `deploy`, not rendered. */
export function readManifests<M extends Manifest>(file: string): M[] {
  return parseManifests<M>(readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8'));
}

export function parseManifests<M extends Manifest>(text: string): M[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as M;
  });
}
