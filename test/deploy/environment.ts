import assert from 'node:assert/strict';
import type { Environment } from '../../src/environment.ts';
import { settingsTable } from '../../src/settings/table.ts';
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
    const secret = secretInFile(name);
    if (secret !== undefined) return [secret, secretFor(secret)];
    if (valueFrom === undefined) return [name, value];
    assert.ok(valueFrom.secretKeyRef, name);
    return [name, valueFrom.secretKeyRef.optional === true ? undefined : secretFor(name)];
  });
  return Object.fromEntries([...shared, ...own]) as Environment;
}

/** The secret setting whose file `name` names: the file is mounted, so it is not there now. */
function secretInFile(name: string): string | undefined {
  return Object.values(settingsTable).find(
    (setting) => setting.secret === true && name === `${setting.name}_FILE`,
  )?.name;
}

function secretFor(name: string): string {
  return /(^SECRET|_SESSION)_KEY/.test(name) ? Buffer.alloc(32, 7).toString('base64') : 'a secret';
}
