import assert from 'node:assert/strict';
import { ourContainer, podOf, type Labels, type PodTemplate } from './manifest.ts';
import type { Production } from './production.ts';
import { edges, specialNetworks, Traffic, type Other, type Target } from './traffic.ts';

const pod = (namespace: string, labels: Labels): Other => ({ namespace, labels });
const tcp = (port: number): Target => ({ protocol: 'TCP', port });
const udp = (port: number): Target => ({ protocol: 'UDP', port });

const dns = pod('kube-system', { 'k8s-app': 'kube-dns' });
const localDns = pod('kube-system', { 'k8s-app': 'node-local-dns' });
const openShiftDns = pod('openshift-dns', { 'dns.operator.openshift.io/daemonset-dns': 'default' });
const brokers = { 'strimzi.io/cluster': 'kafka', 'strimzi.io/kind': 'Kafka' };
const registry = pod('schemas', { 'app.kubernetes.io/name': 'schema-registry' });

interface Row {
  readonly who: readonly string[] | 'all';
  readonly other: Other;
  readonly targets: readonly Target[];
}

const askers = {
  registry: ['postrider-router', 'postrider-toolbox', 'postrider-console'],
  databases: ['postrider-audience-sync', 'postrider-toolbox'],
  internet: ['postrider-delivery', 'postrider-console', 'postrider-api', 'postrider-toolbox'],
};

/** Who may open a connection to what; nobody else may. */
const out: readonly Row[] = [
  { who: 'all', other: dns, targets: [udp(53), tcp(53)] },
  { who: 'all', other: localDns, targets: [udp(53), tcp(53)] },
  { who: 'all', other: { address: '169.254.20.10' }, targets: [udp(53), tcp(53)] },
  { who: 'all', other: { address: '169.254.169.254' }, targets: [udp(53), tcp(53)] },
  { who: 'all', other: openShiftDns, targets: [udp(5353), tcp(5353)] },
  { who: 'all', other: pod('postrider', brokers), targets: [tcp(9093)] },
  { who: 'all', other: pod('kafka', brokers), targets: [tcp(9093)] },
  { who: askers.registry, other: registry, targets: [tcp(8081)] },
  { who: askers.databases, other: pod('databases', {}), targets: [tcp(5432)] },
  { who: askers.internet, other: { address: '93.184.216.34' }, targets: [tcp(80), tcp(443)] },
  { who: askers.internet, other: { address: '2606:4700::1111' }, targets: [tcp(80), tcp(443)] },
  // Nobody.
  { who: [], other: { address: '93.184.216.34' }, targets: [tcp(25), udp(443), udp(53)] },
  { who: [], other: { address: '169.254.20.10' }, targets: [tcp(80)] },
  { who: [], other: dns, targets: [tcp(443), udp(443), tcp(9153), udp(5353)] },
  { who: [], other: openShiftDns, targets: [tcp(443), udp(443), udp(53)] },
  { who: [], other: pod('kube-system', { 'k8s-app': 'other' }), targets: [udp(53), tcp(443)] },
  { who: [], other: pod('other', { 'k8s-app': 'kube-dns' }), targets: [udp(53)] },
  { who: [], other: pod('other', { 'k8s-app': 'node-local-dns' }), targets: [udp(53)] },
  { who: [], other: pod('openshift-dns', {}), targets: [tcp(5353)] },
  {
    who: [],
    other: pod('other', { 'dns.operator.openshift.io/daemonset-dns': 'default' }),
    targets: [udp(5353)],
  },
  { who: [], other: pod('kafka', brokers), targets: [tcp(9092), udp(9093)] },
  {
    who: [],
    other: pod('kafka', { ...brokers, 'strimzi.io/cluster': 'another' }),
    targets: [tcp(9093)],
  },
  {
    who: [],
    other: pod('kafka', { ...brokers, 'strimzi.io/kind': 'KafkaConnect' }),
    targets: [tcp(9093)],
  },
  { who: [], other: registry, targets: [tcp(80), udp(8081)] },
  { who: [], other: pod('schemas', {}), targets: [tcp(8081)] },
  { who: [], other: pod('databases', {}), targets: [tcp(22), udp(5432)] },
  { who: [], other: pod('other', {}), targets: [tcp(5432), tcp(80), tcp(443)] },
  ...specialNetworks.flatMap(edges).map((address) => {
    return { who: [], other: { address }, targets: [tcp(80), tcp(443)] };
  }),
];

/** Every pod of the production overlay, towards everything that it may and may not talk to. */
export function checkTraffic(production: Production): void {
  const traffic = new Traffic(production.all('NetworkPolicy'));
  const all = production.workloads.map((workload) => {
    return { name: workload.metadata.name, template: podOf(workload) };
  });
  for (const { name, template } of all) {
    for (const { who, other, targets } of out)
      for (const target of targets) {
        const should = who === 'all' || who.includes(name);
        if (traffic.mayReach(template, other, target) === should) continue;
        const what = `${JSON.stringify(other)} ${target.protocol} ${target.port}`;
        assert.fail(`${name} must ${should ? '' : 'not '}reach ${what}`);
      }
  }
  for (const workload of production.workloads) {
    const { ports = [] } = ourContainer(workload);
    for (const { name, containerPort } of ports)
      checkIngress(traffic, podOf(workload), name, containerPort);
    const closed = [tcp(22), udp(9464)];
    for (const target of closed)
      for (const other of [anyone, ...prometheus])
        assert.ok(!traffic.mayBeReached(podOf(workload), other, target));
  }
  // Other pods of the namespace are none of these policies' business.
  const stranger = { metadata: { labels: { app: 'other' } }, spec: { containers: [] } };
  const template = stranger as unknown as PodTemplate;
  assert.ok(traffic.mayReach(template, anyone, tcp(1)));
  assert.ok(traffic.mayBeReached(template, anyone, tcp(1)));
  // A pod that no other policy selects may do nothing.
  const deny = production
    .all('NetworkPolicy')
    .find(({ spec }) => spec.ingress === undefined && spec.egress === undefined);
  assert.deepEqual(deny?.spec, {
    podSelector: { matchLabels: { 'app.kubernetes.io/part-of': 'postrider' } },
    policyTypes: ['Ingress', 'Egress'],
  });
  const open = production.workloads.flatMap((workload) =>
    (ourContainer(workload).ports ?? []).map(({ name }) => `${workload.metadata.name} ${name}`),
  );
  assert.deepEqual(open.filter((port) => port.endsWith(' http')).sort(), [
    'postrider-api http',
    'postrider-console http',
    'postrider-gateway http',
  ]);
}

const anyone = pod('ingress-nginx', {});
const prometheus = [pod('monitoring', {}), pod('openshift-user-workload-monitoring', {})];

function checkIngress(traffic: Traffic, template: PodTemplate, name: string, port: number): void {
  const reaches = (other: Other): boolean => traffic.mayBeReached(template, other, tcp(port));
  assert.ok(['http', 'ops'].includes(name), name);
  for (const other of [anyone, { address: '93.184.216.34' }, pod('postrider', {})])
    assert.equal(reaches(other), name === 'http', `${name} from ${JSON.stringify(other)}`);
  for (const other of prometheus) assert.ok(reaches(other), name);
}
