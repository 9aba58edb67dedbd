import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { SyncMetrics } from '../../src/audience/metrics.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type RunningRole } from '../harness/postrider.ts';
import { programs } from '../harness/programs.ts';
import { panelsOf, readDashboard, readRules } from './monitoring-files.ts';
import { startPrometheus, type Prometheus } from './prometheus.ts';

const rules = readRules();
const dashboard = readDashboard();
const panelQueries = panelsOf(dashboard)
  .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  .map((expr) => expr.replaceAll('$namespace', '.*').replaceAll('$__rate_interval', '5m'));

testNeeding(
  [programs.prometheus],
  'a Prometheus that scrapes the roles finds what rules and dashboard ask for',
  async (program) => {
    const receiver = await serve(() => '');
    const outside = await serve(fromElsewhere);
    const roles = await startRoles(receiver);
    const prometheus = await startPrometheus(program, {
      postrider: roles.map(({ url }) => new URL(url).host),
      outside: [new URL(urlOf(outside)).host],
    });
    try {
      await everyTargetIsUp(prometheus);
      await everyRuleEvaluates(prometheus);
      await everySelectorFindsItsSeries(prometheus);
      await everyPanelShowsSomething(prometheus);
      await noAlertIsDue(prometheus);
      await anAbsentRoleIsNoticed(prometheus, roles);
    } finally {
      await prometheus.stop();
      await Promise.all(roles.map((role) => role.kill('SIGKILL')));
      for (const server of [receiver, outside]) server.close();
    }
  },
);

/** All three, after they have delivered an event to each of two endpoints; a third one is not there. */
async function startRoles(receiver: Server): Promise<RunningRole[]> {
  const postrider = await install();
  await postrider.run(['topics', '--create']);
  const destination = (id: string, topic: string): object => ({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    topic,
    webhooks: [{ url: urlOf(receiver) }],
  });
  const nowhere = {
    ...destination('nowhere', 'shared'),
    sources: ['test'],
    webhooks: [{ url: 'http://127.0.0.1:9/' }],
  };
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    { kind: 'Source', id: 'test', name: 'Test', writeKeys: ['test'] },
    nowhere,
    destination('crm', 'shared'),
    destination('dwh', 'dedicated'),
  ];
  const stdin = resources.map((each) => JSON.stringify(each)).join('\n---\n');
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], { stdin });
  assert.equal(code, 0, stderr);
  const names = ['gateway', 'router', 'delivery', 'api'] as const;
  const roles = await Promise.all(names.map((name) => postrider.start(name)));
  const [gateway, , delivery] = roles;
  const call = { type: 'track', userId: 'u', event: 'E' };
  const failing = Array.from({ length: 5 }, (_, user) => ({ ...call, userId: `u${user}` }));
  for (const [writeKey, batch] of Object.entries({ wk: [call], test: failing })) {
    const sent = await fetch(`${gateway?.gatewayUrl}/v1/batch`, {
      method: 'POST',
      body: JSON.stringify({ writeKey, batch }),
    });
    assert.equal(sent.status, 200);
  }
  await eventually(async () => {
    const metrics = await (await fetch(`${delivery?.url}/metrics`)).text();
    assert.match(metrics, /^postrider_delivered_total 2$/m);
  });
  return roles;
}

/** What no role exposes: the sync job's file for a textfile collector, and kube-state-metrics. */
async function fromElsewhere(): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const sync = new SyncMetrics(new Registry());
  sync.show('big-spenders', {
    told: [],
    syncs: [
      {
        sync: 'one',
        action: 'sync',
        source: 'shop',
        trait: 'big_spenders',
        outcome: 'done',
        members: 2,
        added: 1,
        removed: 0,
        changed: 0,
        baseline: 0,
        forgotten: 0,
        startedAt: new Date().toISOString(),
        durationMs: 12_000,
      },
    ],
  });
  sync.sent('big-spenders', 1);
  const job = `condition="true",job_name="postrider-audience-sync-1"`;
  const pod = 'namespace="postrider",pod="postrider-router-1",container="postrider"';
  const ofScaler = 'namespace="postrider",horizontalpodautoscaler="keda-hpa-postrider-router"';
  const scaler = `{${ofScaler}}`;
  const cronjob = '{namespace="postrider",cronjob="audience-sync"}';
  return [
    await sync.text(),
    `kube_cronjob_status_last_successful_time${cronjob} ${now}`,
    `kube_cronjob_created${cronjob} ${now}`,
    `kube_cronjob_spec_suspend${cronjob} 0`,
    `kube_job_failed{namespace="postrider",${job}} 1`,
    `kube_job_status_start_time{namespace="postrider",job_name="postrider-audience-sync-1"} ${now - 60}`,
    `kube_pod_container_status_waiting_reason{${pod},reason="CrashLoopBackOff"} 0`,
    `kube_pod_container_status_restarts_total{${pod}} 1`,
    `kube_pod_container_status_last_terminated_reason{${pod},reason="OOMKilled"} 1`,
    `kube_horizontalpodautoscaler_status_desired_replicas${scaler} 11`,
    `kube_horizontalpodautoscaler_spec_max_replicas${scaler} 12`,
    `kube_horizontalpodautoscaler_spec_min_replicas${scaler} 2`,
    `kube_horizontalpodautoscaler_status_condition{${ofScaler},condition="ScalingActive",status="false"} 0`,
    'kube_deployment_spec_replicas{namespace="postrider",deployment="postrider-router"} 2',
    `postrider_certificate_expires_timestamp_seconds{certificate="gateway"} ${now + 30 * 86_400}`,
    `postrider_client_certificate_expires_timestamp_seconds{destination="crm"} ${now + 30 * 86_400}`,
    '',
  ].join('\n');
}

async function everyTargetIsUp(prometheus: Prometheus): Promise<void> {
  await eventually(async () => {
    const { activeTargets } = (await prometheus.ask('targets')) as {
      activeTargets: readonly { health: string; lastError: string }[];
    };
    const health = activeTargets.map((each) => [each.health, each.lastError]);
    assert.deepEqual(health, Array(5).fill(['up', '']));
  });
}

async function everyRuleEvaluates(prometheus: Prometheus): Promise<void> {
  await eventually(async () => {
    const { groups } = (await prometheus.ask('rules')) as {
      groups: readonly { rules: readonly { name: string; health: string; lastError?: string }[] }[];
    };
    const seen = groups.flatMap((group) => group.rules);
    assert.equal(seen.length, rules.length);
    const unwell = seen.filter(({ health }) => health !== 'ok');
    assert.deepEqual(unwell, []);
  });
}

/** Series that nothing has while all is well; `rules.test.yaml` has them by these names. */
const onlyInTrouble = new Set(['postrider_kafka_unwritable_partitions']);

/** With the labels that it is selected by: a misspelt value would never be missed. */
async function everySelectorFindsItsSeries(prometheus: Prometheus): Promise<void> {
  const selectors = new Set(
    [...rules.map(({ expr }) => expr), ...panelQueries].flatMap(
      (expr) => expr.match(/\b(postrider[_:]|kube_|process_|nodejs_)[\w:]+(\{[^}]*\})?/g) ?? [],
    ),
  );
  assert.ok(selectors.size > 60, `saw ${selectors.size} selectors`);
  await eventually(async () => {
    const expected = [...selectors].filter((selector) => !onlyInTrouble.has(selector));
    const missing = await which(expected, async (selector) => {
      return (await prometheus.query(selector)).length === 0;
    });
    assert.deepEqual(missing, []);
  });
}

async function everyPanelShowsSomething(prometheus: Prometheus): Promise<void> {
  assert.ok(panelQueries.length > 50, `saw ${panelQueries.length} queries`);
  await eventually(async () => {
    const empty = await which(panelQueries, async (expr) => {
      return (await prometheus.query(expr)).length === 0;
    });
    assert.deepEqual(empty, []);
  });
}

async function noAlertIsDue(prometheus: Prometheus): Promise<void> {
  const conditions = rules.filter(({ alert }) => alert !== undefined).map(({ expr }) => expr);
  await eventually(async () => {
    const due = await which(conditions, async (expr) => (await prometheus.query(expr)).length > 0);
    assert.deepEqual(due, []);
  });
}

async function anAbsentRoleIsNoticed(
  prometheus: Prometheus,
  roles: readonly RunningRole[],
): Promise<void> {
  await roles[1]?.kill('SIGTERM');
  const condition = rules.find(({ alert }) => alert === 'PostriderRoleDown')?.expr ?? '';
  await eventually(async () => {
    const down = await prometheus.query(condition);
    assert.deepEqual(
      down.map(({ metric }) => metric),
      [{ role: 'router' }],
    );
  });
}

async function which<T>(all: readonly T[], is: (each: T) => Promise<boolean>): Promise<T[]> {
  const answers = await Promise.all(all.map(is));
  return all.filter((_, index) => answers[index]);
}

async function serve(text: () => string | Promise<string>): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      void Promise.resolve(text()).then((answer) => response.end(answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
