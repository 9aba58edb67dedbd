import ipaddr from 'ipaddr.js';
import type { Labels, Manifest, PodTemplate } from './manifest.ts';

export interface NetworkPolicy extends Manifest {
  readonly spec: {
    readonly podSelector: Selector;
    readonly policyTypes: readonly ('Ingress' | 'Egress')[];
    readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: Ports }[];
    readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: Ports }[];
  };
}

interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

interface Peer {
  readonly namespaceSelector?: Selector;
  readonly podSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

type Ports = readonly { readonly protocol?: string; readonly port?: number | string }[];

/** Whom a pod of ours talks to: a pod, or an address that is no pod's. */
export type Other =
  { readonly namespace: string; readonly labels: Labels } | { readonly address: string };

export interface Target {
  readonly protocol: 'TCP' | 'UDP';
  readonly port: number;
}

/** Decides as a network plugin does: a pod that a policy selects may do what some policy names. */
export class Traffic {
  readonly #policies: readonly NetworkPolicy[];

  constructor(policies: readonly NetworkPolicy[]) {
    this.#policies = policies;
  }

  /** Whether a pod of ours may open a connection. */
  mayReach({ metadata: { labels } }: PodTemplate, other: Other, target: Target): boolean {
    const { isClosed, specs } = this.#about(labels, 'Egress');
    const rules = specs.flatMap(({ egress = [] }) => egress);
    return (
      !isClosed || rules.some(({ to, ports }) => names(to, other) && opens(ports, target, () => -1))
    );
  }

  /** Whether `other` may open a connection to a port of a pod of ours. */
  mayBeReached({ metadata, spec }: PodTemplate, other: Other, target: Target): boolean {
    const { isClosed, specs } = this.#about(metadata.labels, 'Ingress');
    const rules = specs.flatMap(({ ingress = [] }) => ingress);
    const numberOf = (name: string): number =>
      spec.containers.flatMap(({ ports = [] }) => ports).find((port) => port.name === name)
        ?.containerPort ?? -1;
    return (
      !isClosed ||
      rules.some(({ from, ports }) => names(from, other) && opens(ports, target, numberOf))
    );
  }

  #about(
    labels: Labels,
    type: 'Ingress' | 'Egress',
  ): { readonly isClosed: boolean; readonly specs: readonly NetworkPolicy['spec'][] } {
    const specs = this.#policies
      .map(({ spec }) => spec)
      .filter(
        ({ podSelector, policyTypes }) =>
          policyTypes.includes(type) && selects(podSelector, labels),
      );
    return { isClosed: specs.length > 0, specs };
  }
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`the tests do not know the operator ${operator}`);
      return values.includes(labels[key] ?? '');
    })
  );
}

/** Nobody named is everybody. */
function names(peers: readonly Peer[] | undefined, other: Other): boolean {
  if (peers === undefined || peers.length === 0) return true;
  return peers.some(({ ipBlock, namespaceSelector, podSelector }) => {
    if ('address' in other) return ipBlock !== undefined && isWithin(ipBlock, other.address);
    if (ipBlock !== undefined) return false;
    const ofNamespace = { 'kubernetes.io/metadata.name': other.namespace };
    return (
      (namespaceSelector === undefined
        ? other.namespace === 'postrider'
        : selects(namespaceSelector, ofNamespace)) && selects(podSelector ?? {}, other.labels)
    );
  });
}

function isWithin({ cidr, except = [] }: NonNullable<Peer['ipBlock']>, address: string): boolean {
  return isIn(cidr, address) && !except.some((block) => isIn(block, address));
}

const known = new Map<string, boolean>();

/** Thousands of changed manifests ask the same. */
function isIn(block: string, address: string): boolean {
  const question = `${block} ${address}`;
  const answer = known.get(question) ?? hasAddress(block, address);
  known.set(question, answer);
  return answer;
}

/** False for what is no network. */
function hasAddress(block: string, address: string): boolean {
  if (!ipaddr.isValidCIDR(block)) return false;
  const parsed = ipaddr.parse(address);
  const [network, bits] = ipaddr.parseCIDR(block);
  return network.kind() === parsed.kind() && parsed.match([network, bits]);
}

function opens(
  ports: Ports | undefined,
  { protocol, port }: Target,
  numberOf: (name: string) => number,
): boolean {
  if (ports === undefined || ports.length === 0) return true;
  return ports.some(
    (open) =>
      (open.protocol ?? 'TCP') === protocol &&
      (open.port === undefined ||
        (typeof open.port === 'string' ? numberOf(open.port) : open.port) === port),
  );
}

/** The first and the last address of a network. */
export function edges(cidr: string): string[] {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const first = network.toByteArray();
  const last = first.map((byte, i) => byte | (0xff >> Math.min(8, Math.max(0, bits - i * 8))));
  return [first, last].map((bytes) => ipaddr.fromByteArray(bytes).toString());
}

/** IANA's special-purpose registries, multicast, what lies outside 2000::/3, and Azure's host. */
export const specialNetworks: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '4000::/2',
  '8000::/1',
];
