import assert from 'node:assert/strict';
import { createContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { readSettings } from '../../src/settings/read.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { ourContainer, workloadsOf, type Manifest } from './manifest.ts';
import { environmentOf } from './environment.ts';
import { render, variants } from './render.ts';

const settings = Object.values(settingsTable).flatMap(({ name, secret }) =>
  secret === true ? [name, `${name}_FILE`] : [name],
);
/** Read by Node.js itself. */
const ofNode = ['NODE_OPTIONS'];

for (const variant of variants) {
  testNeeding([programs.kustomize], `${variant}: every variable is a setting`, (kustomize) => {
    const manifests = render(kustomize, variant);
    for (const workload of ours(manifests)) {
      const environment = environmentOf(manifests, ourContainer(workload));
      const unknown = Object.keys(environment).filter(
        (name) => !settings.includes(name) && !ofNode.includes(name),
      );
      assert.deepEqual(unknown, [], workload.metadata.name);
    }
  });

  testNeeding([programs.kustomize], `${variant}: the settings allow a start`, (kustomize) => {
    const manifests = render(kustomize, variant);
    for (const workload of ours(manifests)) {
      const { kafkaBrokers, opsPort } = readSettings(
        environmentOf(manifests, ourContainer(workload)),
      );
      assert.ok(kafkaBrokers !== undefined, workload.metadata.name);
      const ops = ourContainer(workload).ports?.find(({ name }) => name === 'ops');
      if (ops !== undefined) assert.equal(ops.containerPort, opsPort);
    }
  });

  testNeeding([programs.kustomize], `${variant}: every argument is a command's`, (kustomize) => {
    for (const workload of ours(render(kustomize, variant)))
      assertCommand(ourContainer(workload).args ?? []);
  });
}

function ours(manifests: readonly Manifest[]): ReturnType<typeof workloadsOf> {
  const found = workloadsOf(manifests).filter(({ metadata }) => metadata.name !== 'kafka');
  assert.ok(found.length >= 6);
  return found;
}

function assertCommand([name = '', ...rest]: readonly string[]): void {
  const command = createProgram(createContext({})).commands.find((each) => each.name() === name);
  assert.ok(command, `there is no command ${name}`);
  for (const option of rest.filter((word) => word.startsWith('-')))
    assert.ok(
      command.options.some(({ long, short }) => option === long || option === short),
      `${name} has no option ${option}`,
    );
}
