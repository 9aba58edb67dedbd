import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { maxInFlightBytes } from '../../src/gateway/gateway.ts';
import { settingsTable } from '../../src/settings/table.ts';
import { readStages } from './dockerfile.ts';
import {
  ourContainer,
  podOf,
  type Container,
  type Labels,
  type Probe,
  type Workload,
} from './manifest.ts';
import type { Production } from './production.ts';
import { checkTraffic } from './traffic-checks.ts';

/** An attempt may take 5 s, the drain around it 15 s, and the producer's as much. */
const longestStopSeconds = 35;
const partOf = { 'app.kubernetes.io/part-of': 'postrider' };
const nameLabel = 'app.kubernetes.io/name';

function mebibytes(quantity: string | undefined): number {
  const [, digits = '', unit = ''] = /^(\d+)(Mi|Gi)$/.exec(quantity ?? '') ?? [];
  return Number(digits) * (unit === 'Gi' ? 1024 : 1);
}

function each<T>(items: readonly T[], check: (item: T) => void): void {
  assert.ok(items.length > 0, 'nothing to look at');
  items.forEach(check);
}

function isBetween(value: unknown, least: number, most: number, what: string): void {
  const given = Number(value);
  assert.ok(given >= least && given <= most, `${what}: ${String(value)}`);
}

/** How long a probe may fail before something is done. */
function patienceSeconds({ periodSeconds = 10, failureThreshold = 3 }: Probe = {}): number {
  return periodSeconds * failureThreshold;
}

function variable({ env = [] }: Container, name: string): string | undefined {
  return env.find((each) => each.name === name)?.value;
}

/** In megabytes: its own, or else that of the image. */
function heapOf(workload: Workload): string | undefined {
  const ofImage = readStages().at(-1)?.environment['NODE_OPTIONS'];
  const options = variable(ourContainer(workload), 'NODE_OPTIONS') ?? ofImage;
  return /--max-old-space-size=(\d+)/.exec(options ?? '')?.[1];
}

function isKind(kind: Workload['kind']): (workload: Workload) => boolean {
  return (workload) => workload.kind === kind;
}

/** The sentences of the docs' checklist, each with what must hold for it. */
export const checklist: Readonly<Record<string, (production: Production) => void>> = {
  'Liveness probes ask the process alone, so an outage of Kafka restarts nothing, and a process has a minute to answer. Readiness probes wait for Kafka and the consumer group.':
    (production) => {
      const others = ['postrider-console', 'postrider-api'].map((name) => production.named(name));
      each([...production.roles, ...others], (workload) => {
        const { startupProbe, livenessProbe, readinessProbe } = ourContainer(workload);
        assert.deepEqual(startupProbe?.httpGet, { path: '/livez', port: 'ops' });
        assert.deepEqual(livenessProbe?.httpGet, { path: '/livez', port: 'ops' });
        assert.deepEqual(readinessProbe?.httpGet, { path: '/readyz', port: 'ops' });
        isBetween(patienceSeconds(startupProbe), 60, 120, 'startup');
        isBetween(patienceSeconds(livenessProbe), 60, 120, 'liveness');
        isBetween(livenessProbe.failureThreshold, 3, 10, 'liveness');
        isBetween(livenessProbe.timeoutSeconds, 5, livenessProbe.periodSeconds ?? 10, 'liveness');
        isBetween(patienceSeconds(readinessProbe), 10, 12, 'readiness');
        isBetween(readinessProbe.timeoutSeconds, 5, readinessProbe.periodSeconds ?? 10, 'ready');
      });
    },
  'The grace period is longer than an attempt, the last commit and leaving the group together.': (
    production,
  ) => {
    const { roles } = production;
    const others = ['postrider-console', 'postrider-api', 'postrider-audience-sync'].map((name) =>
      production.named(name),
    );
    each(roles, (role) => {
      const { terminationGracePeriodSeconds = 30 } = podOf(role).spec;
      const sleep = ourContainer(role).lifecycle?.preStop?.sleep?.seconds ?? 0;
      isBetween(terminationGracePeriodSeconds - sleep, longestStopSeconds + 5, 120, 'grace');
    });
    each(others, (workload) => {
      isBetween(podOf(workload).spec.terminationGracePeriodSeconds, 40, 120, 'grace');
    });
  },
  'The gateway keeps answering while its Service still sends it requests.': (production) => {
    const gateway = production.named('postrider-gateway');
    isBetween(ourContainer(gateway).lifecycle?.preStop?.sleep?.seconds, 5, 15, 'sleep');
    const services = production.all('Service');
    assert.deepEqual(
      services.map(({ metadata }) => metadata.name),
      ['postrider-api', 'postrider-console', 'postrider-gateway'],
    );
    each(services, ({ metadata, spec }) => {
      const workload = production.named(metadata.name);
      assert.deepEqual(spec.selector, selectorOf(workload, spec.selector));
      assert.deepEqual(spec.ports, [{ name: 'http', port: 80, targetPort: 'http' }]);
      const http = ourContainer(workload).ports?.find(({ name }) => name === 'http');
      const { settings } = production;
      const ports: Readonly<Record<string, unknown>> = {
        'postrider-gateway': settings['GATEWAY_PORT'],
        'postrider-console': settings['CONSOLE_PORT'] ?? settingsTable.consolePort.fallback,
        'postrider-api': settings['API_PORT'] ?? settingsTable.apiPort.fallback,
      };
      assert.equal(http?.containerPort, Number(ports[metadata.name]), metadata.name);
    });
  },
  'A rollout replaces one pod at a time, and continues only after the new pod has been ready for a while.':
    ({ roles }) => {
      each(roles, ({ spec }) => {
        const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
        assert.deepEqual(spec.strategy, { type: 'RollingUpdate', rollingUpdate });
        isBetween(spec.minReadySeconds, 10, 60, 'minReadySeconds');
      });
    },
  'A drained node takes one pod of a role at a time, and pods that are not ready never block it.': (
    production,
  ) => {
    const budgets = production.all('PodDisruptionBudget');
    each(production.roles, ({ spec }) => {
      const own = budgets.filter(({ spec: { selector } }) =>
        isDeepStrictEqual(selector.matchLabels, spec.selector?.matchLabels),
      );
      assert.deepEqual(
        own.map((budget) => [budget.spec.maxUnavailable, budget.spec.unhealthyPodEvictionPolicy]),
        [[1, 'AlwaysAllow']],
      );
    });
    each(production.workloads.filter(isKind('Deployment')), (workload) => {
      const selector = workload.spec.selector?.matchLabels;
      assert.deepEqual(selector, selectorOf(workload, selector));
    });
  },
  'The pods of a role are spread over zones and nodes.': ({ roles }) => {
    each(roles, (role) => {
      const { metadata, spec } = podOf(role);
      assert.deepEqual(
        spec.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey),
        ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'],
      );
      each(spec.topologySpreadConstraints, (constraint) => {
        assert.equal(constraint.maxSkew, 1);
        assert.equal(constraint.whenUnsatisfiable, 'ScheduleAnyway');
        // A selector that fits no pod spreads nothing, and says nothing.
        const wanted = constraint.labelSelector.matchLabels;
        assert.deepEqual(wanted, partOf);
        each(Object.entries(wanted), ([name, value]) => {
          assert.equal(metadata.labels[name], value);
        });
        assert.deepEqual(constraint.matchLabelKeys, [nameLabel, 'pod-template-hash']);
        assert.equal(metadata.labels[nameLabel], role.metadata.name);
      });
    });
  },
  'Memory is requested as it is limited, and the heap leaves a third of it for buffers.': (
    production,
  ) => {
    each(production.workloads, (workload) => {
      const { resources } = ourContainer(workload);
      const { requests, limits } = resources;
      isBetween(mebibytes(limits['memory']), 256, 4096, 'memory');
      assert.equal(requests['memory'], limits['memory']);
      const name = workload.metadata.name;
      isBetween(heapOf(workload), 200, (mebibytes(limits['memory']) * 2) / 3, `heap of ${name}`);
    });
    const tuned = [...production.roles, production.named('postrider-toolbox')];
    each(tuned.map(ourContainer), (container) => {
      const options = variable(container, 'NODE_OPTIONS')?.split(' ');
      assert.equal(options?.length, 3);
      assert.match(options.join(' '), /^--max-old-space-size=\d+ --max-semi.* --v8-pool-size=1$/);
    });
  },
  'CPU time is requested and not limited: a throttled consumer is late for its heartbeats.': ({
    containers,
  }) => {
    each(containers, ({ resources: { requests, limits } }) => {
      assert.match(String(requests['cpu']), /^(1|[1-9]\d\dm)$/);
      assert.deepEqual(Object.keys(limits), ['memory']);
    });
  },
  'Pods meet the `restricted` pod security standard, which their namespace enforces.': (
    production,
  ) => {
    each(production.all('Namespace'), ({ metadata }) => {
      for (const mode of ['enforce', 'warn', 'audit'])
        assert.equal(metadata.labels?.[`pod-security.kubernetes.io/${mode}`], 'restricted');
    });
    each(production.pods, ({ spec: { securityContext, initContainers, containers } }) => {
      assert.deepEqual(securityContext, {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        fsGroupChangePolicy: 'OnRootMismatch',
        seccompProfile: { type: 'RuntimeDefault' },
      });
      each([...containers, ...(initContainers ?? [])], (container) => {
        assert.equal(container.securityContext['allowPrivilegeEscalation'], false);
        assert.deepEqual(container.securityContext['capabilities'], { drop: ['ALL'] });
      });
    });
  },
  'The root file system is read-only.': ({ pods }) => {
    each(pods, ({ spec }) => {
      each(spec.containers, ({ securityContext }) => {
        assert.equal(securityContext['readOnlyRootFilesystem'], true);
      });
    });
  },
  'Every role has a service account of its own, and none has a token.': (production) => {
    const accounts = production.all('ServiceAccount');
    const names = production.workloads.map((workload) => {
      const { serviceAccountName, automountServiceAccountToken } = podOf(workload).spec;
      assert.equal(automountServiceAccountToken, false);
      assert.equal(serviceAccountName, workload.metadata.name);
      return serviceAccountName;
    });
    assert.deepEqual(accounts.map(({ metadata }) => metadata.name).sort(), names.toSorted());
    each(accounts, (account) => {
      assert.equal((account as unknown as Labels)['automountServiceAccountToken'], false);
    });
  },
  'Secrets come by reference: no manifest holds one.': (production) => {
    assert.deepEqual(production.all('Secret'), []);
    each(production.containers, ({ env = [], envFrom = [] }) => {
      for (const { name, value, valueFrom } of env) {
        if (/KEY$|PASSWORD$|SECRET$/.test(name)) assert.equal(value, undefined, name);
        if (value !== undefined) continue;
        const { optional, ...reference } = valueFrom?.secretKeyRef ?? {};
        assert.deepEqual(reference, secretOf(name));
        const isOptional = /^SECRET_KEY_PREVIOUS|^SCHEMA_REGISTRY/.test(name);
        assert.equal(optional ?? false, isOptional, name);
      }
      for (const { secretRef } of envFrom)
        if (secretRef !== undefined) assert.equal(secretRef.name, 'postrider-resource-secrets');
    });
    each(production.workloads, (workload) => {
      const role = workload.metadata.name.replace('postrider-', '');
      const { env = [] } = ourContainer(workload);
      const has = (name: string): boolean => env.some((each) => each.name === name);
      if (['delivery', 'resources', 'audience-sync', 'console', 'api', 'toolbox'].includes(role))
        assert.ok(has('SECRET_KEY'), role);
      // Whoever decrypts reads what the former key has encrypted, too.
      assert.equal(has('SECRET_KEY'), has('SECRET_KEY_PREVIOUS'), role);
    });
    // Both apply files, in which ${NAME} stands for a secret.
    const [job, toolbox] = ['postrider-resources', 'postrider-toolbox'].map((name) =>
      ourContainer(production.named(name)).envFrom?.map(({ secretRef }) => secretRef?.optional),
    );
    assert.deepEqual(
      [job, toolbox].map((from) => from?.length),
      [2, 2],
    );
    assert.deepEqual([job?.[1] ?? false, toolbox?.[1]], [false, true]);
  },
  'A changed setting starts the pods anew, because the name of its ConfigMap changes with it.': ({
    containers,
  }) => {
    each(containers, ({ envFrom }) => {
      assert.match(envFrom?.[0]?.configMapRef?.name ?? '', /^postrider-settings-[a-z0-9]{10}$/);
    });
  },
  'Services set no variables in the pods, which could pass for settings.': ({ pods }) => {
    each(pods, ({ spec }) => {
      assert.equal(spec.enableServiceLinks, false);
    });
  },
  'The image has a version, which all roles share.': ({ containers }) => {
    each(containers, ({ image }) => {
      assert.match(image, /(:(?!latest)[\w.-]+|@sha256:[0-9a-f]{64})$/);
      assert.equal(image, containers[0]?.image);
    });
  },
  'A pod that failed says why in its status. A Job that failed stays, with its log, and no controller creates it again until it differs.':
    (production) => {
      const { workloads } = production;
      each(
        workloads.filter(({ metadata }) => metadata.name !== 'postrider-toolbox'),
        (workload) => {
          const { terminationMessagePolicy } = ourContainer(workload);
          assert.equal(terminationMessagePolicy, 'FallbackToLogsOnError');
        },
      );
      const jobs = workloads.filter(isKind('Job'));
      const cronJobs = workloads.filter(isKind('CronJob'));
      each([...jobs, ...cronJobs], (job) => {
        assert.equal(podOf(job).spec.restartPolicy, 'Never');
        const spec = job.spec.jobTemplate?.spec ?? job.spec;
        assert.equal(spec.ttlSecondsAfterFinished, undefined);
        isBetween(spec.backoffLimit, 2, 6, 'backoffLimit');
        isBetween(spec.activeDeadlineSeconds, 1_800, 10_800, 'activeDeadlineSeconds');
      });
      each(jobs, ({ metadata, spec }) => {
        // Topics and Kafka may come ten minutes after the Job: 10 s and twice as long each time.
        isBetween(spec.backoffLimit, 6, 6, 'backoffLimit');
        assert.deepEqual(metadata.annotations, {
          'argocd.argoproj.io/hook': 'Sync',
          'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
          'kustomize.toolkit.fluxcd.io/force': 'enabled',
        });
      });
      // Nobody can be asked there.
      const argumentsOf = (name: string): string =>
        (ourContainer(production.named(`postrider-${name}`)).args ?? []).join(' ');
      assert.equal(argumentsOf('topics'), 'topics --check');
      assert.equal(argumentsOf('resources'), 'apply --file /etc/postrider/resources');
      assert.equal(
        argumentsOf('audience-sync'),
        'audience-sync --yes --checkpoint-dir /var/lib/postrider --serve-metrics',
      );
      each(cronJobs, ({ spec }) => {
        assert.equal(spec.successfulJobsHistoryLimit, 1);
        isBetween(spec.failedJobsHistoryLimit, 2, 10, 'history');
      });
    },
  'Routers and delivery workers scale by the lag on their own topics, never on retry topics; gateways scale by what they hold and by CPU time. No role scales to zero, and no pod is without a partition.':
    (production) => {
      const scaled = production.all('ScaledObject');
      const names = scaled.map(({ spec }) => spec.scaleTargetRef.name);
      assert.deepEqual(names.toSorted(), production.roles.map((r) => r.metadata.name).toSorted());
      const topics = production.all('KafkaTopic');
      each(scaled, ({ metadata: { name }, spec }) => {
        assert.equal(name, spec.scaleTargetRef.name);
        isBetween(spec.minReplicaCount, 2, 3, 'minReplicaCount');
        isBetween(spec.maxReplicaCount, 8, 12, 'maxReplicaCount');
        isBetween(spec.pollingInterval, 10, 30, 'pollingInterval');
        const role = spec.scaleTargetRef.name;
        each(spec.triggers, ({ type, metricType, authenticationRef, metadata }) => {
          if (role === 'postrider-gateway') {
            assert.equal(authenticationRef, undefined);
            assert.equal(metricType, type === 'cpu' ? 'Utilization' : undefined);
            if (type === 'cpu') isBetween(metadata['value'], 50, 80, 'CPU time');
            else {
              isBetween(metadata['threshold'], maxInFlightBytes / 16, maxInFlightBytes / 4, type);
              assert.match(metadata['serverAddress'] ?? '', /^http:\/\/[\w.-]+:9090$/);
              assert.equal(metadata['query'], heldBytes(production));
            }
            return;
          }
          assert.equal(authenticationRef?.name, role);
          const topic = topics.find((each) => each.metadata.name === metadata['topic']);
          assert.ok(topic && !topic.metadata.name.includes('.retry.'), metadata['topic']);
          assert.ok(spec.maxReplicaCount <= topic.spec.partitions);
          // From a few seconds' to some minutes' work of one process.
          isBetween(metadata['lagThreshold'], 10_000, 2_000_000, 'lagThreshold');
          assert.equal(metadata['bootstrapServersFromEnv'], 'KAFKA_BROKERS');
          assert.equal(metadata['consumerGroup'], role.replace('-', '.'));
          assert.equal(metadata['offsetResetPolicy'], 'earliest');
          assert.equal(metadata['tls'], 'enable');
          assert.equal(metadata['sasl'], 'scram_sha512');
          assert.match(metadata['version'] ?? '', /^[34]\.\d+\.0$/);
        });
      });
      assert.deepEqual(
        scaled.map(({ spec }) => spec.triggers.map(({ type }) => type)),
        scaled.map(({ spec: { scaleTargetRef } }) =>
          scaleTargetRef.name === 'postrider-gateway'
            ? ['prometheus', 'cpu']
            : scaleTargetRef.name === 'postrider-router'
              ? ['kafka', 'kafka']
              : ['kafka'],
        ),
      );
      each(production.all('TriggerAuthentication'), ({ metadata, spec }) => {
        assert.deepEqual(spec.env, [
          { parameter: 'username', name: 'KAFKA_SASL_USERNAME', containerName: 'postrider' },
        ]);
        assert.deepEqual(spec.secretTargetRef, [
          { parameter: 'password', name: metadata.name, key: 'password' },
          { parameter: 'ca', name: 'kafka-cluster-ca-cert', key: 'ca.crt' },
        ]);
      });
      assert.equal(production.all('TriggerAuthentication').length, 2);
      each(production.roles, ({ spec }) => {
        assert.equal(spec.replicas, undefined, 'applying again would undo the scaling');
      });
    },
  'Scaling up is quick. Scaling down is slow, because each step is a rebalance.': (production) => {
    each(production.all('ScaledObject'), ({ spec }) => {
      const { scaleUp, scaleDown } = spec.advanced.horizontalPodAutoscalerConfig.behavior;
      assert.equal(scaleUp.stabilizationWindowSeconds, 0);
      each(scaleUp.policies, ({ type, value, periodSeconds }) => {
        isBetween(value, type === 'Percent' ? 50 : 2, type === 'Percent' ? 100 : 4, 'up');
        assert.ok(['Percent', 'Pods'].includes(type), type);
        isBetween(periodSeconds, 15, 60, 'up');
      });
      isBetween(scaleDown.stabilizationWindowSeconds, 300, 1_800, 'down');
      each(scaleDown.policies, ({ type, value, periodSeconds }) => {
        assert.deepEqual({ type, value }, { type: 'Pods', value: 1 });
        isBetween(periodSeconds, 60, 600, 'down');
      });
    });
  },
  'Traffic is denied unless a policy names it. In: calls to the gateway, people to the console, applications to the API, scrapes of metrics. Out: names, Kafka, the registry and databases for those that ask them, and public addresses for delivery, console, API and toolbox.':
    checkTraffic,
  'Every role has a Kafka user of its own with the least rights, over TLS. Its password and the certificate are files, which are followed when they change.':
    (production) => {
      const users = production.all('KafkaUser').map(({ metadata }) => metadata.name);
      const logins = production.workloads.map((workload) => {
        const container = ourContainer(workload);
        const user = variable(container, 'KAFKA_SASL_USERNAME') ?? '';
        const file = variable(container, 'KAFKA_SASL_PASSWORD_FILE');
        assert.deepEqual(mountedSecret(workload, file), { secretName: user });
        // Whole, so that a former authority is there too while Strimzi replaces it.
        assert.deepEqual(mountedSecret(workload, production.settings['KAFKA_SSL_CA_FILE']), {
          secretName: 'kafka-cluster-ca-cert',
        });
        assert.ok(users.includes(user), user);
        const { name } = workload.metadata;
        assert.equal(user, name === 'postrider-toolbox' ? 'postrider-operator' : name);
        return user;
      });
      assert.equal(new Set(logins).size, logins.length);
      const { settings } = production;
      assert.equal(settings['KAFKA_SSL'], 'true');
      assert.equal(settings['KAFKA_SASL_MECHANISM'], 'scram-sha-512');
      // KEDA looks it up from its own namespace, where a Service's short name leads nowhere.
      const [namespace] = production.all('Namespace');
      const bootstrap = `kafka-kafka-bootstrap.${namespace?.metadata.name ?? ''}.svc:9093`;
      assert.equal(settings['KAFKA_BROKERS'], bootstrap);
    },
  'Every topic has three replicas, of which two must have a record before it counts.': (
    production,
  ) => {
    each(production.all('KafkaTopic'), ({ spec }) => {
      assert.equal(spec.replicas, 3);
      assert.equal(Number(spec.config['min.insync.replicas']), 2);
    });
    assert.equal(production.settings['TOPIC_REPLICATION_FACTOR'], '3');
  },
  'Two audience syncs never run at the same time.': ({ workloads }) => {
    const syncs = workloads.filter(isKind('CronJob'));
    assert.deepEqual(
      syncs.map(({ spec }) => [spec.concurrencyPolicy, spec.schedule]),
      [['Forbid', '0 * * * *']],
    );
    isBetween(syncs[0]?.spec.startingDeadlineSeconds, 60, 3_600, 'startingDeadlineSeconds');
  },
  'Commands that an operator runs have a pod of their own, which runs only while it is needed, and no secret in their arguments.':
    (production) => {
      const toolbox = production.named('postrider-toolbox');
      assert.equal(toolbox.spec.replicas, 0);
      const { command, args, ports } = ourContainer(toolbox);
      assert.deepEqual([command, args, ports], [['sleep', 'infinity'], undefined, undefined]);
      isBetween(podOf(toolbox).spec.terminationGracePeriodSeconds, 2, 10, 'grace');
      // As much as the largest command takes.
      const { resources } = ourContainer(production.named('postrider-audience-sync'));
      assert.deepEqual(ourContainer(toolbox).resources.limits, resources.limits);
      // `apply` of thousands of destinations takes it as heap.
      isBetween(heapOf(toolbox), 1000, 1024, 'heap');
    },
  'Every role is scraped.': (production) => {
    const monitors = production.all('PodMonitor');
    assert.equal(monitors.length, 1);
    each(monitors, ({ spec }) => {
      assert.deepEqual(spec.selector.matchLabels, partOf);
      assert.deepEqual(spec.podTargetLabels, [nameLabel]);
      each(spec.podMetricsEndpoints, ({ port, path, interval }) => {
        assert.deepEqual({ port, path }, { port: 'ops', path: '/metrics' });
        isBetween(interval.replace(/s$/, ''), 10, 30, 'interval');
      });
    });
    const scraped = production.workloads.filter(({ kind, metadata }) => {
      return kind !== 'Job' && metadata.name !== 'postrider-toolbox';
    });
    each(scraped, (workload) => {
      const found = ourContainer(workload).ports?.find(({ name }) => name === 'ops');
      assert.equal(found?.containerPort, Number(production.settings['OPS_PORT']));
    });
    each(production.workloads, (workload) => {
      assert.equal(podOf(workload).metadata.labels['app.kubernetes.io/part-of'], 'postrider');
      assert.equal(podOf(workload).metadata.labels[nameLabel], workload.metadata.name);
    });
  },
};

/** What finds the pods of a workload; kustomize may add the label that all have. */
function selectorOf({ metadata }: Workload, labels: Labels = {}): Labels {
  return {
    [nameLabel]: metadata.name,
    ...('app.kubernetes.io/part-of' in labels ? partOf : {}),
  };
}

/** What the gateways of this namespace hold. */
function heldBytes(production: Production): string {
  const [namespace] = production.all('Namespace');
  const selector = `{namespace="${namespace?.metadata.name ?? ''}"}`;
  return `sum(max_over_time(postrider_gateway_in_flight_bytes${selector}[1m]))`;
}

/** Where the value of a variable comes from. */
function secretOf(variable: string): { readonly name: string; readonly key: string } {
  if (variable.startsWith('CONSOLE')) return { name: 'postrider-console-login', key: variable };
  const [, ofRegistry] = /^SCHEMA_REGISTRY_(\w+)$/.exec(variable) ?? [];
  return ofRegistry === undefined
    ? { name: 'postrider-secrets', key: variable }
    : { name: 'postrider-schema-registry', key: ofRegistry.toLowerCase() };
}

/** Of the Secret's volume that has a file in a pod. */
function mountedSecret(workload: Workload, file: string | undefined): unknown {
  const mounts = ourContainer(workload).volumeMounts ?? [];
  const mount = mounts.find(
    ({ mountPath, readOnly }) =>
      readOnly === true && (file === mountPath || file?.startsWith(`${mountPath}/`)),
  );
  assert.ok(mount && file, `${workload.metadata.name} has no ${file ?? 'file'}`);
  assert.match(file.slice(mount.mountPath.length), /^(\/password|\/ca\.crt|)$/);
  return podOf(workload).spec.volumes?.find(({ name }) => name === mount.name)?.secret;
}
