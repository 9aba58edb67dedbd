import assert from 'node:assert/strict';
import type { Environment } from '../../src/environment.ts';
import type { ConfigMap, Container, Manifest } from './manifest.ts';

/**
 * What a container's process would see of its own variables; secrets are made up. The Secret of
 * `postrider-resources` is left out: what is in it are the users' own names.
 */
export function environmentOf(
  manifests: readonly Manifest[],
  { env = [], envFrom = [] }: Container,
): Environment {
  const shared = envFrom.flatMap(({ configMapRef }) => {
    if (configMapRef === undefined) return [];
    const found = manifests.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === configMapRef.name,
    );
    assert.ok(found, configMapRef.name);
    return Object.entries((found as ConfigMap).data);
  });
  const own = env.map(({ name, value, valueFrom }) => {
    if (valueFrom === undefined) return [name, value];
    assert.ok(valueFrom.secretKeyRef, name);
    return [name, valueFrom.secretKeyRef.optional === true ? undefined : secretFor(name)];
  });
  return Object.fromEntries([...shared, ...own]) as Environment;
}

function secretFor(name: string): string {
  return name.startsWith('SECRET_KEY') ? Buffer.alloc(32, 7).toString('base64') : 'a secret';
}
