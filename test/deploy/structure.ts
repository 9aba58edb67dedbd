import assert from 'node:assert/strict';
import { createContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { readSettings } from '../../src/settings/read.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { environmentOf } from './environment.ts';
import {
  ourContainer,
  podOf,
  workloadsOf,
  type Container,
  type Manifest,
  type Volume,
  type Workload,
} from './manifest.ts';

/** What is referred to by name is there, in one namespace, and every folder that a pod uses is mounted. */
export function checkReferences(manifests: readonly Manifest[]): void {
  const [namespace, ...others] = manifests.filter(({ kind }) => kind === 'Namespace');
  assert.ok(namespace && others.length === 0);
  for (const { kind, metadata } of manifests) {
    assert.equal(typeof metadata.name, 'string', kind);
    if (kind !== 'Namespace') assert.equal(metadata.namespace, namespace.metadata.name, kind);
  }
  for (const workload of workloadsOf(manifests)) {
    const { spec } = podOf(workload);
    const { serviceAccountName, volumes = [], containers } = spec;
    if (serviceAccountName !== undefined)
      assertHas(manifests, 'ServiceAccount', serviceAccountName);
    for (const volume of volumes) checkVolume(manifests, volume, containers);
    for (const container of containers) {
      for (const { configMapRef, secretRef } of container.envFrom ?? []) {
        if (configMapRef !== undefined) assertHas(manifests, 'ConfigMap', configMapRef.name);
        assert.ok(configMapRef ?? secretRef);
      }
      for (const { name, mountPath } of container.volumeMounts ?? []) {
        assert.ok(
          volumes.some((volume) => volume.name === name),
          name,
        );
        assert.match(mountPath, /^\/[\w/-]+$/);
      }
    }
    if (isOurs(workload)) checkPaths(ourContainer(workload));
  }
}

function assertHas(manifests: readonly Manifest[], kind: string, name: string): void {
  const found = manifests.some((each) => each.kind === kind && each.metadata.name === name);
  assert.ok(found, `there is no ${kind} ${name}`);
}

function checkVolume(
  manifests: readonly Manifest[],
  { name, configMap, persistentVolumeClaim, secret, emptyDir }: Volume,
  containers: readonly Container[],
): void {
  const mounts = containers
    .flatMap(({ volumeMounts = [] }) => volumeMounts)
    .filter((mount) => mount.name === name);
  assert.equal(mounts.length, 1, name);
  const isWritten = emptyDir !== undefined || persistentVolumeClaim !== undefined;
  assert.equal(mounts[0]?.readOnly ?? false, !isWritten, name);
  if (name === 'tmp') assert.ok(emptyDir !== undefined && mounts[0]?.mountPath === '/tmp');
  if (configMap !== undefined) assertHas(manifests, 'ConfigMap', configMap.name);
  if (persistentVolumeClaim !== undefined)
    assertHas(manifests, 'PersistentVolumeClaim', persistentVolumeClaim.claimName);
  if (secret !== undefined) assert.match(secret.secretName, /^[a-z0-9-]+$/);
  assert.ok(isWritten || configMap !== undefined || secret !== undefined, name);
}

/** What arguments and variables name is in a volume. */
function checkPaths({ name, args = [], env = [], volumeMounts = [] }: Container): void {
  const paths = [...args, ...env.map(({ value = '' }) => value)].filter((text) =>
    text.startsWith('/'),
  );
  for (const path of paths)
    assert.ok(
      volumeMounts.some(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`)),
      `${name}: ${path}`,
    );
}

/** The broker of the development overlay is not. */
function isOurs({ metadata }: Manifest): boolean {
  return metadata.name !== 'kafka';
}

const settings = Object.values(settingsTable).flatMap(({ name, secret }) =>
  secret === true ? [name, `${name}_FILE`] : [name],
);
/** Read by Node.js itself, and by the C library. */
const notOurs = ['NODE_OPTIONS', 'MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_'];

/** Every variable is a setting, and the settings allow a start. */
export function checkSettings(manifests: readonly Manifest[]): void {
  const workloads = workloadsOf(manifests).filter(isOurs);
  assert.ok(workloads.length >= 5);
  for (const workload of workloads) {
    const environment = environmentOf(manifests, ourContainer(workload));
    const unknown = Object.keys(environment).filter(
      (name) => !settings.includes(name) && !notOurs.includes(name),
    );
    assert.deepEqual(unknown, [], workload.metadata.name);
    const { kafkaBrokers, opsPort } = readSettings(environment);
    assert.ok(kafkaBrokers !== undefined, workload.metadata.name);
    const ops = ourContainer(workload).ports?.find(({ name }) => name === 'ops');
    if (ops !== undefined) assert.equal(ops.containerPort, opsPort);
  }
}

/** Every argument is a command's. */
export function checkArguments(manifests: readonly Manifest[]): void {
  for (const workload of workloadsOf(manifests).filter(isOurs)) checkCommand(workload);
}

const program = await createProgram(createContext({}));

function checkCommand(workload: Workload): void {
  const { command, args = [] } = ourContainer(workload);
  // The toolbox waits for somebody to run one in it.
  if (command !== undefined) return;
  const [name = '', ...rest] = args;
  const known = program.commands.find((each) => each.name() === name);
  assert.ok(known, `there is no command ${name}`);
  for (const option of rest.filter((word) => word.startsWith('-')))
    assert.ok(
      known.options.some(({ long, short }) => option === long || option === short),
      `${name} has no option ${option}`,
    );
}
