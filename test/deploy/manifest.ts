import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

/** A Kubernetes object as far as every kind has the same fields. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

export interface Workload extends Manifest {
  readonly kind: 'Deployment' | 'Job' | 'CronJob';
  readonly spec: {
    readonly minReadySeconds?: number;
    readonly replicas?: number;
    readonly strategy?: unknown;
    readonly concurrencyPolicy?: string;
    readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: { readonly template: PodTemplate } };
  };
}

export interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly serviceAccountName?: string;
    readonly automountServiceAccountToken?: boolean;
    readonly enableServiceLinks?: boolean;
    readonly terminationGracePeriodSeconds?: number;
    readonly topologySpreadConstraints?: readonly { readonly topologyKey: string }[];
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly Readonly<Record<string, unknown>>[];
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string };
    readonly secretRef?: { readonly name: string };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: {
    readonly requests: Readonly<Record<string, string>>;
    readonly limits: Readonly<Record<string, string>>;
  };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: {
      readonly name: string;
      readonly key: string;
      readonly optional?: boolean;
    };
  };
}

interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
}

export interface ConfigMap extends Manifest {
  readonly data: Readonly<Record<string, string>>;
}

/** A file below `deploy`, not rendered. */
export function readManifests<M extends Manifest>(file: string): M[] {
  const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
  return parseManifests(text) as M[];
}

export function parseManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

const kinds = ['Deployment', 'Job', 'CronJob'];

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests.filter(({ kind }) => kinds.includes(kind)) as Workload[];
}

export function podOf({ metadata, spec }: Workload): PodTemplate {
  const template = spec.template ?? spec.jobTemplate?.spec.template;
  if (template === undefined) throw new Error(`${metadata.name} has no pod`);
  return template;
}

/** Of the container that runs a command of this project. */
export function ourContainer(workload: Workload): Container {
  const found = podOf(workload).spec.containers.find(({ name }) => name === 'postrider');
  if (found === undefined) throw new Error(`${workload.metadata.name} has no such container`);
  return found;
}
