import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

/** A Kubernetes object as far as every kind has the same fields. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
    readonly annotations?: Labels;
  };
}

export interface Workload extends Manifest {
  readonly kind: 'Deployment' | 'Job' | 'CronJob';
  readonly spec: {
    readonly minReadySeconds?: number;
    readonly replicas?: number;
    readonly strategy?: unknown;
    readonly schedule?: string;
    readonly concurrencyPolicy?: string;
    readonly startingDeadlineSeconds?: number;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly selector?: { readonly matchLabels: Labels };
    readonly template?: PodTemplate;
    readonly jobTemplate?: { readonly spec: JobSpec };
  } & Partial<Omit<JobSpec, 'template'>>;
}

export type Labels = Readonly<Record<string, string>>;

export interface JobSpec {
  readonly backoffLimit?: number;
  readonly activeDeadlineSeconds?: number;
  readonly ttlSecondsAfterFinished?: number;
  readonly template: PodTemplate;
}

export interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly restartPolicy?: string;
    readonly serviceAccountName?: string;
    readonly automountServiceAccountToken?: boolean;
    readonly enableServiceLinks?: boolean;
    readonly terminationGracePeriodSeconds?: number;
    readonly topologySpreadConstraints?: readonly {
      readonly maxSkew: number;
      readonly topologyKey: string;
      readonly whenUnsatisfiable: string;
      readonly labelSelector: { readonly matchLabels: Labels };
      readonly matchLabelKeys: readonly string[];
    }[];
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly Volume[];
  };
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly emptyDir?: object;
  readonly secret?: {
    readonly secretName: string;
    readonly items?: readonly { readonly key: string; readonly path: string }[];
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
    readonly secretRef?: { readonly name: string; readonly optional?: boolean };
  }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: {
    readonly requests: Labels;
    readonly limits: Labels;
  };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly terminationMessagePolicy?: string;
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly volumeMounts?: readonly Mount[];
}

export interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
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

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string };
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
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
