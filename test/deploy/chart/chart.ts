import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseManifests, type Manifest } from '../manifest.ts';
import { camelCase, merge, templateLines, type Variant } from './merge.ts';
import { components, scaledRoles, schemaOf, valuesOf, valuesYaml, variables } from './values.ts';

/**
 * The Helm chart, made from what kustomize renders: with each component alone, and with all but one, it shows
 * which of them decides about each field.
 */

const deploy: string = fileURLToPath(new URL('../..', import.meta.url)).replace(
  /test\/$/,
  'deploy',
);
const componentNames: readonly string[] = Object.keys(components);
/** What a component needs beside it, or has no sense without. */
const needs: Readonly<Record<string, readonly string[]>> = {
  'schema-registry-tls': ['schema-registry'],
  keda: ['strimzi'],
};

/** The production overlay with these components alone, or the overlay for development. */
export function renderWith(kustomize: string, wanted: ReadonlySet<string>): Manifest[] {
  if (wanted.has('dev')) return build(kustomize, join(deploy, 'overlays/dev'));
  const folder = mkdtempSync(join(tmpdir(), 'postrider-chart-'));
  try {
    cpSync(deploy, folder, { recursive: true });
    const overlay = join(folder, 'overlays/production');
    const file = join(overlay, 'kustomization.yaml');
    const listed = componentNames.filter((name) => wanted.has(name));
    const lines = listed.map((name) => `  - ../../components/${name}\n`).join('');
    const text = readFileSync(file, 'utf8').replace(
      /^components:\n(?: .*\n)+/m,
      lines === '' ? '' : `components:\n${lines}`,
    );
    writeFileSync(file, text);
    return build(kustomize, overlay);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function build(kustomize: string, overlay: string): Manifest[] {
  return parseManifests(execFileSync(kustomize, ['build', overlay], { encoding: 'utf8' }));
}

/** The sets of components that show what each of them does. */
function shownSets(): Set<string>[] {
  const all = new Set(componentNames);
  const alone = componentNames.map((name) => new Set([name, ...(needs[name] ?? [])]));
  const without = componentNames.map(
    (name) =>
      new Set(
        componentNames.filter((each) => each !== name && needs[each]?.includes(name) !== true),
      ),
  );
  return [new Set<string>(), all, ...alone, ...without, new Set(['dev'])];
}

/** A value of the chart, in a text or as the whole of a field. */
function valueOf(expression: string): string {
  return `⟦${expression}⟧`;
}

/** Kustomize appends a hash to the names of what it generates. */
const generatedName = /^(postrider-(?:settings|resources|secrets|resource-secrets))-[a-z\d]{10}$/;

/** A manifest in which what differs from cluster to cluster is a value. */
export function generalized(manifest: Manifest): Manifest | undefined {
  const { kind, metadata } = manifest;
  if (kind === 'Namespace') return undefined;
  const visit = (value: unknown, path: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((each) => visit(each, [...path, '*']));
    if (typeof value === 'object' && value !== null) {
      const { name } = value as { readonly name?: string };
      const variable = variables[name ?? ''];
      if (variable !== undefined && 'value' in value)
        return { name, value: valueOf(`.Values.${variable}`) };
      return Object.fromEntries(
        Object.entries(value)
          .filter(([key]) => !(key === 'namespace' && path.join('.') === 'metadata'))
          .map(([key, each]) => [key, visit(each, [...path, key])]),
      );
    }
    return typeof value === 'string' ? textOf(value, path) : value;
  };
  const general = visit(manifest, []) as Manifest & {
    spec?: { replicas?: unknown };
    data?: unknown;
  };
  const role = metadata.name.replace('postrider-', '');
  if (kind === 'Deployment' && scaledRoles.includes(role) && general.spec?.replicas !== undefined)
    general.spec.replicas = valueOf(`.Values.${role}.replicas`);
  // Kubernetes changes no Job, so each revision has its own.
  if (kind === 'Job')
    return {
      ...general,
      metadata: { ...general.metadata, name: `${metadata.name}-${valueOf('.Release.Revision')}` },
    };
  return general;
}

function textOf(text: string, path: readonly string[]): string {
  const field = path.at(-1);
  if (field === 'image' && /(?:^|\/)postrider:/.test(text))
    return valueOf('include "postrider.image" .');
  const [, generated] = generatedName.exec(text) ?? [];
  if (generated === 'postrider-settings' || generated === 'postrider-resources')
    return `${generated}-${valueOf(`include "${generated}.hash" .`)}`;
  if (generated !== undefined) return generated;
  const cluster = valueOf('.Values.strimzi.cluster');
  if (field === 'strimzi.io/cluster') return cluster;
  if (path.join('.') === 'data.name') return cluster;
  if (path.join('.') === 'data.namespace') return valueOf('.Values.strimzi.namespace');
  if (field === 'serverAddress') return valueOf('.Values.prometheus.url');
  return text
    .replaceAll('namespace="postrider"', `namespace="${valueOf('.Release.Namespace')}"`)
    .replace(/^kafka-cluster-ca-cert$/, `${cluster}-cluster-ca-cert`)
    .replace(
      /^kafka-kafka-bootstrap\.postrider\.svc/,
      `${cluster}-kafka-bootstrap.${valueOf('.Values.strimzi.namespace')}.svc`,
    );
}

/** Two fields of the same component, one after the other. */
const sameCondition =
  /^(\{\{- if ([^}]+) \}\}\n(?:(?!\{\{-).*\n)+)\{\{- end \}\}\n\{\{- if \2 \}\}\n/gm;

function template(lines: readonly string[]): string {
  let text = lines
    .join('\n')
    .replaceAll(/^( *)-\n\1 {2}/gm, '$1- ')
    .replaceAll(/^( *(?:- )?)"([A-Za-z][\w./-]*)":/gm, '$1$2:');
  for (let before = ''; before !== text;) {
    before = text;
    text = text.replaceAll(sameCondition, '$1');
  }
  // A value that is the whole of a field keeps its type.
  const replicas = /"⟦(\.Values\.\w+\.replicas)⟧"/g;
  return text.replaceAll(replicas, '{{ $1 }}').replaceAll(/⟦([^⟧]+)⟧/g, (_, expression: string) => {
    return `{{ ${expression.replaceAll('\\"', '"')} }}`;
  });
}

const helpers = (
  defaults: readonly string[],
): string => `{{- /* Made by \`npm run deploy:chart\`. */ -}}
{{- define "postrider.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "postrider.defaults" -}}
${template(defaults)}
{{- end }}

{{- define "postrider.settings" -}}
{{- $settings := fromYaml (include "postrider.defaults" .) -}}
{{- range $name, $value := .Values.settings }}{{ $_ := set $settings $name (toString $value) }}{{ end -}}
{{- if not (hasKey $settings "KAFKA_BROKERS") }}
{{- fail "settings.KAFKA_BROKERS is missing: set it, or components.strimzi" }}
{{- end }}
{{- toYaml $settings }}
{{- end }}

{{- define "postrider-settings.hash" -}}
{{ include "postrider.settings" . | sha256sum | trunc 10 }}
{{- end }}

{{- define "postrider-resources.hash" -}}
{{ toYaml .Values.resources | sha256sum | trunc 10 }}
{{- end }}
`;

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`;
}

/** The chart's files, by their paths in it. */
export function chartFiles(kustomize: string, version: string): Map<string, string> {
  const rendered = shownSets().map((set) => {
    const manifests = renderWith(kustomize, set).flatMap((each) => generalized(each) ?? []);
    return { components: set, manifests: new Map(manifests.map((each) => [keyOf(each), each])) };
  });
  const keys = [...new Set(rendered.flatMap(({ manifests }) => [...manifests.keys()]))];
  const files = new Map<string, string>();
  let defaults: string[] = [];
  for (const key of keys) {
    const variants = rendered.map(({ components: set, manifests }) => ({
      components: set,
      value: manifests.get(key) as Variant['value'],
    }));
    const isSettings = key.startsWith('ConfigMap postrider-settings-');
    const isResources = /^(?:ConfigMap|Job) postrider-resources-/.test(key);
    if (isSettings || key.startsWith('ConfigMap postrider-resources-')) {
      if (isSettings) defaults = fieldLines(dataOf(variants), key);
      for (const variant of variants)
        if (variant.value !== undefined) (variant.value as unknown as { data: string }).data = '⟦⟧';
    }
    const lines = documentLines(variants, key);
    const data = isSettings
      ? 'include "postrider.settings" . | nindent 2'
      : 'toYaml .Values.resources | nindent 2';
    const whole = lines.map((line) => line.replace(': "⟦⟧"', `: {{- ${data} }}`));
    const [kind = ''] = key.split(' ');
    const file = `templates/${kind.toLowerCase()}.yaml`;
    const text = template(
      isResources ? ['{{- if .Values.resources }}', ...whole, '{{- end }}'] : whole,
    );
    files.set(file, `${files.get(file) ?? ''}${text}\n`);
  }
  const values = valuesOf([
    ...Object.entries(components).map(([name, is]) => [camelCase(name), is] as const),
    [
      'dev',
      'a broker without persistent storage and an endpoint, with none of the other components',
    ],
  ]);
  return files
    .set('templates/_helpers.tpl', helpers(defaults))
    .set('Chart.yaml', chartYaml(version))
    .set('values.yaml', valuesYaml(values))
    .set('values.schema.json', `${JSON.stringify(schemaOf(values), null, 2)}\n`)
    .set('README.md', readme(values));
}

function dataOf(variants: readonly Variant[]): Variant[] {
  return variants.map(({ components: set, value }) => ({
    components: set,
    value: (value as { data?: Variant['value'] } | undefined)?.data,
  }));
}

/** The fields of a map that all variants have, each with its condition. */
function fieldLines(variants: readonly Variant[], path: string): string[] {
  // Without what stands before the map, and two spaces less.
  return templateLines(merge(variants, path), '', '')
    .slice(1)
    .map((line) => line.replace(/^ {2}/, ''));
}

/** A manifest, with a condition around it if only some variants have it. */
function documentLines(variants: readonly Variant[], path: string): string[] {
  const lines = templateLines(merge(variants, path), '', '');
  const at = lines.indexOf('');
  return [
    ...lines.slice(0, at),
    '---',
    ...lines.slice(at + 1).map((line) => line.replace(/^ {2}/, '')),
  ];
}

function chartYaml(version: string): string {
  return `# Made by \`npm run deploy:chart\`.
apiVersion: v2
name: postrider
description: Events from Kafka to your customers' HTTP endpoints, as signed webhooks
type: application
version: ${version}
appVersion: ${version}
kubeVersion: '>=1.30.0-0'
`;
}

function readme(values: ReturnType<typeof valuesOf>): string {
  const rows = values.map(
    ({ path, fallback, is }) => `| \`${path}\` | \`${JSON.stringify(fallback)}\` | ${is} |`,
  );
  return `<!-- Made by \`npm run deploy:chart\`. -->

# postrider

Postrider on Kubernetes 1.30 or newer. The chart is made from the manifests in \`deploy\`, and a test holds both equal.

On a development cluster, with a broker without persistent storage:

\`\`\`
helm install postrider ./deploy/chart --namespace postrider --create-namespace --set components.dev=true --set-file 'resources.shop\\.yaml=deploy/overlays/dev/resources/shop.yaml'
\`\`\`

In production, create the Secret \`postrider-secrets\` first, as docs/production.md says, write a values file, and install:

\`\`\`
helm install postrider ./deploy/chart --namespace postrider --values values.yaml
\`\`\`

The namespace, its pod security labels and Secrets are yours to make. All objects have fixed names, so a namespace holds one release.

## Values

| value | default | what it is |
| --- | --- | --- |
${rows.join('\n')}
`;
}
