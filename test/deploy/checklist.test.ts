import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { ourContainer, podOf, workloadsOf, type Manifest, type Workload } from './manifest.ts';
import { render } from './render.ts';

/** The rendered production overlay. */
class Production {
  readonly manifests: readonly Manifest[];
  readonly workloads: readonly Workload[];
  /** The roles that run for ever. */
  readonly deployments: readonly Workload[];

  constructor(manifests: readonly Manifest[]) {
    this.manifests = manifests;
    this.workloads = workloadsOf(manifests);
    this.deployments = this.workloads.filter(({ kind }) => kind === 'Deployment');
  }

  all<K extends keyof Specs>(kind: K): (Manifest & { readonly spec: Specs[K] })[] {
    return this.manifests.filter((each) => each.kind === kind) as (Manifest & { spec: Specs[K] })[];
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
    readonly selector: { readonly matchLabels: unknown };
  };
  readonly ScaledObject: ScaledObjectSpec;
  readonly NetworkPolicy: PolicySpec;
  readonly PodMonitor: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly podMetricsEndpoints: readonly { readonly port: string; readonly path: string }[];
  };
}

interface ScaledObjectSpec {
  readonly scaleTargetRef: { readonly name: string };
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly advanced: {
    readonly horizontalPodAutoscalerConfig: {
      readonly behavior: { readonly scaleDown: ScaleDown };
    };
  };
  readonly triggers: readonly { readonly metadata: Readonly<Record<string, string>> }[];
}

interface ScaleDown {
  readonly stabilizationWindowSeconds: number;
  readonly policies: readonly { readonly type: string; readonly value: number }[];
}

interface PolicySpec {
  readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly policyTypes: readonly string[];
  readonly ingress?: unknown;
  readonly egress?: unknown;
}

/** An attempt may take 5 s, the drain around it 15 s, and the producer's as much. */
const longestStopSeconds = 35;

function mebibytes(quantity: string | undefined): number {
  const [, digits = '', unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity ?? '') ?? [];
  return Number(digits) * (unit === 'Gi' ? 1024 : 1);
}

function each<T>(items: readonly T[], check: (item: T) => void): void {
  assert.ok(items.length > 0, 'nothing to look at');
  items.forEach(check);
}

/** The sentences of docs/operations.md, each with what must hold for it. */
const checklist: Readonly<Record<string, (production: Production) => void>> = {
  'Liveness asks the process alone, never Kafka: an outage of Kafka restarts nothing. Readiness waits for Kafka and the consumer group.':
    ({ deployments }) => {
      each(deployments.map(ourContainer), ({ startupProbe, livenessProbe, readinessProbe }) => {
        assert.deepEqual(startupProbe?.httpGet, { path: '/livez', port: 'ops' });
        assert.deepEqual(livenessProbe?.httpGet, { path: '/livez', port: 'ops' });
        assert.deepEqual(readinessProbe?.httpGet, { path: '/readyz', port: 'ops' });
      });
    },
  'The grace period is longer than an attempt, the last commit and leaving the group together.': ({
    deployments,
  }) => {
    each(deployments, (deployment) => {
      const { terminationGracePeriodSeconds = 30 } = podOf(deployment).spec;
      const sleep = ourContainer(deployment).lifecycle?.preStop?.sleep?.seconds ?? 0;
      assert.ok(terminationGracePeriodSeconds - sleep > longestStopSeconds);
    });
  },
  'The gateway goes on answering for as long as its Service still sends it requests.': ({
    deployments,
  }) => {
    const gateway = deployments.find(({ metadata }) => metadata.name === 'postrider-gateway');
    assert.ok(gateway && (ourContainer(gateway).lifecycle?.preStop?.sleep?.seconds ?? 0) >= 5);
  },
  'A rollout replaces one pod at a time, and goes on only once the new one has been ready for a while.':
    ({ deployments }) => {
      each(deployments, ({ spec }) => {
        const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
        assert.deepEqual(spec.strategy, { type: 'RollingUpdate', rollingUpdate });
        assert.ok((spec.minReadySeconds ?? 0) >= 10);
      });
    },
  'A drained node takes one pod of a role at a time (PodDisruptionBudget).': (production) => {
    const budgets = production.all('PodDisruptionBudget');
    each(production.deployments, ({ spec }) => {
      const budget = budgets.find(({ spec: { selector } }) =>
        isDeepStrictEqual(selector.matchLabels, spec.selector?.matchLabels),
      );
      assert.equal(budget?.spec.maxUnavailable, 1);
    });
  },
  'The pods of a role are spread over zones and nodes.': ({ deployments }) => {
    each(deployments, (deployment) => {
      const keys = podOf(deployment).spec.topologySpreadConstraints?.map((c) => c.topologyKey);
      assert.deepEqual(keys, ['topology.kubernetes.io/zone', 'kubernetes.io/hostname']);
    });
  },
  'Memory is requested as it is limited, and the heap leaves a third of it for buffers.': ({
    workloads,
  }) => {
    each(workloads.map(ourContainer), ({ resources, env }) => {
      const { requests, limits } = resources;
      assert.ok(mebibytes(limits['memory']) > 0);
      assert.equal(requests['memory'], limits['memory']);
      const options = env?.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
      const heap = /--max-old-space-size=(\d+)/.exec(options)?.[1];
      if (heap !== undefined) assert.ok(Number(heap) <= (mebibytes(limits['memory']) * 2) / 3);
    });
    each(workloads.filter(({ kind }) => kind === 'Deployment').map(ourContainer), ({ env }) => {
      assert.ok(env?.some(({ value }) => value?.includes('--max-old-space-size=')));
    });
  },
  'CPU time is requested and not limited: throttled, a consumer is late for its heartbeats.': ({
    workloads,
  }) => {
    each(workloads.map(ourContainer), ({ resources: { requests, limits } }) => {
      assert.ok(requests['cpu'] !== undefined);
      assert.equal(limits['cpu'], undefined);
    });
  },
  'Pods meet the `restricted` pod security standard, which their namespace enforces.': (
    production,
  ) => {
    each(production.all('Namespace'), ({ metadata }) => {
      assert.equal(metadata.labels?.['pod-security.kubernetes.io/enforce'], 'restricted');
    });
    each(production.workloads, (workload) => {
      const { securityContext, initContainers, containers } = podOf(workload).spec;
      assert.equal(securityContext['runAsNonRoot'], true);
      assert.ok(Number(securityContext['runAsUser']) > 0);
      assert.deepEqual(securityContext['seccompProfile'], { type: 'RuntimeDefault' });
      each([...containers, ...(initContainers ?? [])], (container) => {
        assert.equal(container.securityContext['allowPrivilegeEscalation'], false);
        assert.deepEqual(container.securityContext['capabilities'], { drop: ['ALL'] });
      });
    });
  },
  'The root file system is read-only.': ({ workloads }) => {
    each(workloads, (workload) => {
      each(podOf(workload).spec.containers, ({ securityContext }) => {
        assert.equal(securityContext['readOnlyRootFilesystem'], true);
      });
    });
  },
  'Every role has a service account of its own, and none has a token.': (production) => {
    const accounts = production.all('ServiceAccount');
    const names = production.workloads.map((workload) => {
      const { serviceAccountName, automountServiceAccountToken } = podOf(workload).spec;
      assert.equal(automountServiceAccountToken, false);
      return serviceAccountName;
    });
    assert.equal(new Set(names).size, names.length);
    assert.deepEqual(accounts.map(({ metadata }) => metadata.name).sort(), names.toSorted());
    each(accounts, (account) => {
      assert.equal('automountServiceAccountToken' in account, true);
      assert.equal(account['automountServiceAccountToken' as keyof typeof account], false);
    });
  },
  'Secrets come by reference: no manifest holds one.': (production) => {
    assert.deepEqual(production.all('Secret'), []);
    each(production.workloads.map(ourContainer), ({ env = [] }) => {
      for (const { name, value } of env)
        if (/KEY|PASSWORD|SECRET/.test(name)) assert.equal(value, undefined, name);
    });
  },
  'A changed setting starts the pods anew: the name of its ConfigMap changes with it.': ({
    workloads,
  }) => {
    each(workloads.map(ourContainer), ({ envFrom }) => {
      assert.match(envFrom?.[0]?.configMapRef?.name ?? '', /^postrider-settings-[a-z0-9]{10}$/);
    });
  },
  'Services set no variables in the pods, which could pass for settings.': ({ workloads }) => {
    each(workloads, (workload) => {
      assert.equal(podOf(workload).spec.enableServiceLinks, false);
    });
  },
  'The image has a version.': ({ workloads }) => {
    each(workloads.map(ourContainer), ({ image }) => {
      assert.match(image, /(:(?!latest)[\w.-]+|@sha256:[0-9a-f]{64})$/);
    });
  },
  'Router and delivery scale by the lag on their own topics, never on retry topics, gateways by what they hold; none to none, and no pod is without a partition.':
    (production) => {
      const scaled = production.all('ScaledObject');
      const names = scaled.map(({ spec }) => spec.scaleTargetRef.name);
      const readers = ['postrider-delivery', 'postrider-router'];
      assert.deepEqual(names.sort(), [
        'postrider-delivery',
        'postrider-gateway',
        'postrider-router',
      ]);
      const topics = production.all('KafkaTopic');
      each(scaled, ({ spec }) => {
        assert.ok(spec.minReplicaCount >= 2);
        if (!readers.includes(spec.scaleTargetRef.name)) return;
        each(spec.triggers, ({ metadata }) => {
          const topic = topics.find((each) => each.metadata.name === metadata['topic']);
          assert.ok(topic && !topic.metadata.name.includes('.retry.'), metadata['topic']);
          assert.ok(spec.maxReplicaCount <= topic.spec.partitions);
          assert.ok(Number(metadata['lagThreshold']) > 0);
        });
      });
      each(
        production.deployments.filter(({ metadata }) => names.includes(metadata.name)),
        ({ spec }) => {
          assert.equal(spec.replicas, undefined, 'applying again would undo the scaling');
        },
      );
    },
  'Scaling down is slow, because each step is a rebalance.': (production) => {
    each(production.all('ScaledObject'), ({ spec }) => {
      const { scaleDown } = spec.advanced.horizontalPodAutoscalerConfig.behavior;
      assert.ok(scaleDown.stabilizationWindowSeconds >= 300);
      each(scaleDown.policies, ({ type, value }) => {
        assert.deepEqual({ type, value }, { type: 'Pods', value: 1 });
      });
    });
  },
  'Traffic is denied unless a policy names it: in, calls to the gateway and scrapes of metrics; out, names, Kafka, the registry, and public addresses for delivery alone.':
    (production) => {
      const policies = production.all('NetworkPolicy');
      const everyPod = { 'app.kubernetes.io/part-of': 'postrider' };
      const deny = policies.find(
        ({ spec }) => spec.ingress === undefined && spec.egress === undefined,
      );
      assert.deepEqual(deny?.spec, {
        podSelector: { matchLabels: everyPod },
        policyTypes: ['Ingress', 'Egress'],
      });
      each(production.workloads, (workload) => {
        assert.equal(podOf(workload).metadata.labels['app.kubernetes.io/part-of'], 'postrider');
      });
      const open = policies.filter(({ spec }) => JSON.stringify(spec).includes('ipBlock'));
      assert.deepEqual(
        open.map(({ spec }) => spec.podSelector.matchLabels),
        [{ 'app.kubernetes.io/name': 'postrider-delivery' }],
      );
    },
  'Every role has a Kafka user of its own with the least rights, over TLS.': (production) => {
    const users = production.all('KafkaUser').map(({ metadata }) => metadata.name);
    const logins = production.workloads.map((workload) => {
      const { env = [] } = ourContainer(workload);
      const user = env.find(({ name }) => name === 'KAFKA_SASL_USERNAME')?.value ?? '';
      const password = env.find(({ name }) => name === 'KAFKA_SASL_PASSWORD')?.valueFrom;
      assert.deepEqual(password?.secretKeyRef, { name: user, key: 'password' });
      assert.ok(users.includes(user), user);
      assert.equal(user, podOf(workload).spec.serviceAccountName);
      return user;
    });
    assert.equal(new Set(logins).size, logins.length);
    each(production.all('ConfigMap').filter(isSettings), (settings) => {
      const { data } = settings as unknown as { data: Readonly<Record<string, string>> };
      assert.equal(data['KAFKA_SSL'], 'true');
    });
  },
  'Every topic has three replicas, of which two must have a record before it counts.': (
    production,
  ) => {
    each(production.all('KafkaTopic'), ({ spec }) => {
      assert.equal(spec.replicas, 3);
      assert.equal(Number(spec.config['min.insync.replicas']), 2);
    });
  },
  'Two audience syncs never run at the same time.': ({ workloads }) => {
    const syncs = workloads.filter(({ kind }) => kind === 'CronJob');
    assert.deepEqual(
      syncs.map(({ spec }) => spec.concurrencyPolicy),
      ['Forbid'],
    );
  },
  'Every role is scraped.': (production) => {
    const monitors = production.all('PodMonitor');
    assert.equal(monitors.length, 1);
    each(monitors, ({ spec }) => {
      assert.deepEqual(spec.selector.matchLabels, { 'app.kubernetes.io/part-of': 'postrider' });
      each(spec.podMetricsEndpoints, ({ port, path }) => {
        assert.deepEqual({ port, path }, { port: 'ops', path: '/metrics' });
      });
    });
    each(production.deployments.map(ourContainer), ({ ports }) => {
      assert.ok(ports?.some(({ name }) => name === 'ops'));
    });
  },
};

function isSettings({ metadata }: Manifest): boolean {
  return metadata.name.startsWith('postrider-settings-');
}

test('docs/operations.md has exactly the checklist that is asserted here', () => {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const section = page.split('\n## Checklist\n')[1]?.split('\n## ')[0] ?? '';
  const sentences = [...section.matchAll(/^- (.+)$/gm)].map(([, sentence]) => sentence);
  assert.deepEqual(sentences, Object.keys(checklist));
});

for (const [sentence, check] of Object.entries(checklist)) {
  testNeeding([programs.kustomize], sentence, (kustomize) => {
    check(new Production(render(kustomize, 'production')));
  });
}
