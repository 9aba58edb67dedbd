import assert from 'node:assert/strict';
import {
  ourContainer,
  podOf,
  workloadsOf,
  type Container,
  type Labels,
  type Manifest,
  type PodTemplate,
  type Workload,
} from './manifest.ts';
import type { NetworkPolicy } from './traffic.ts';

/** A rendered production overlay, as far as the checklist looks at it. */
export class Production {
  readonly manifests: readonly Manifest[];
  readonly workloads: readonly Workload[];
  /** What events flow through. */
  readonly roles: readonly Workload[];

  constructor(manifests: readonly Manifest[]) {
    this.manifests = manifests;
    this.workloads = workloadsOf(manifests);
    const names = ['postrider-gateway', 'postrider-router', 'postrider-delivery'];
    this.roles = this.workloads.filter(({ metadata }) => names.includes(metadata.name));
    assert.equal(this.roles.length, names.length);
  }

  all<K extends keyof Specs>(kind: K): (Manifest & { readonly spec: Specs[K] })[] {
    return this.manifests.filter((each) => each.kind === kind) as (Manifest & { spec: Specs[K] })[];
  }

  named(name: string): Workload {
    const found = this.workloads.find(({ metadata }) => metadata.name === name);
    assert.ok(found, name);
    return found;
  }

  get pods(): readonly PodTemplate[] {
    return this.workloads.map(podOf);
  }

  get containers(): readonly Container[] {
    return this.workloads.map(ourContainer);
  }

  get settings(): Labels {
    const [found, ...others] = this.all('ConfigMap').filter(({ metadata }) =>
      metadata.name.startsWith('postrider-settings'),
    );
    assert.ok(found && others.length === 0, 'one ConfigMap of settings');
    return (found as unknown as { data: Labels }).data;
  }
}

/** As far as they are looked at here. */
interface Specs {
  readonly Namespace: unknown;
  readonly ServiceAccount: unknown;
  readonly Secret: unknown;
  readonly ConfigMap: unknown;
  readonly KafkaUser: unknown;
  readonly KafkaTopic: {
    readonly partitions: number;
    readonly replicas: number;
    readonly config: Readonly<Record<string, unknown>>;
  };
  readonly PodDisruptionBudget: {
    readonly maxUnavailable: number;
    readonly unhealthyPodEvictionPolicy: string;
    readonly selector: { readonly matchLabels: Labels };
  };
  readonly Service: {
    readonly selector: Labels;
    readonly ports: readonly unknown[];
  };
  readonly ScaledObject: {
    readonly scaleTargetRef: { readonly name: string };
    readonly minReplicaCount: number;
    readonly maxReplicaCount: number;
    readonly pollingInterval: number;
    readonly advanced: {
      readonly horizontalPodAutoscalerConfig: {
        readonly behavior: { readonly scaleUp: Scaling; readonly scaleDown: Scaling };
      };
    };
    readonly triggers: readonly {
      readonly type: string;
      readonly metricType?: string;
      readonly authenticationRef?: { readonly name: string };
      readonly metadata: Labels;
    }[];
  };
  readonly TriggerAuthentication: {
    readonly env: readonly { parameter: string; name: string; containerName: string }[];
    readonly secretTargetRef: readonly { parameter: string; name: string; key: string }[];
  };
  readonly NetworkPolicy: NetworkPolicy['spec'];
  readonly PodMonitor: {
    readonly selector: { readonly matchLabels: Labels };
    readonly podMetricsEndpoints: readonly {
      readonly port: string;
      readonly path: string;
      readonly interval: string;
    }[];
    readonly podTargetLabels: readonly string[];
  };
}

interface Scaling {
  readonly stabilizationWindowSeconds: number;
  readonly policies: readonly {
    readonly type: string;
    readonly value: number;
    readonly periodSeconds: number;
  }[];
}
