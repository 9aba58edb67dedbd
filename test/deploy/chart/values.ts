/** What somebody who installs the chart decides. Values, schema and README are made from this table. */

export interface Value {
  /** For example `image.repository`. */
  readonly path: string;
  readonly fallback: string | number | boolean | Readonly<Record<string, never>>;
  readonly is: string;
}

/** The components of deploy/components in the order in which they are applied; `dev` is the overlay. */
export const components: Readonly<Record<string, string>> = {
  toolbox: 'a pod for commands, scaled to zero until you need it',
  audiences: 'a CronJob that syncs audiences every hour',
  console: 'the console',
  api: 'the API, in two pods',
  'schema-registry': "the schema registry's URL and login",
  'schema-registry-tls': 'its certificate; needs `schemaRegistry`',
  keda: 'autoscaling by KEDA, with `strimzi`',
  'pod-monitor': 'scrapes and alerts, for the Prometheus operator',
  'network-policy': 'closes everything but what the roles need',
  strimzi: 'topics, users, logins and certificates of a Strimzi cluster',
};

/** Environment variables that differ from cluster to cluster, and the values that they are taken from. */
export const variables: Readonly<Record<string, string>> = {
  CONSOLE_URL: 'console.url',
  CONSOLE_TRUSTED_PROXIES: 'console.trustedProxies',
  CONSOLE_OIDC_ISSUER: 'console.oidc.issuer',
  CONSOLE_OIDC_CLIENT_ID: 'console.oidc.clientId',
  CONSOLE_OIDC_OPERATORS: 'console.oidc.operators',
  CONSOLE_OIDC_VIEWERS: 'console.oidc.viewers',
  SCHEMA_REGISTRY_URL: 'schemaRegistry.url',
};

export const scaledRoles: readonly string[] = ['gateway', 'router', 'delivery'];

/** @param components those that are on unless somebody says otherwise, by their names in values */
export function valuesOf(
  componentNames: readonly (readonly [name: string, is: string])[],
): Value[] {
  return [
    {
      path: 'image.repository',
      fallback: 'registry.example.com/postrider',
      is: 'where the image is',
    },
    { path: 'image.tag', fallback: '', is: "its tag; empty: the chart's version" },
    {
      path: 'settings',
      fallback: {},
      is: 'settings of all roles by their names, such as `KAFKA_BROKERS` and `TOPIC_REPLICATION_FACTOR`',
    },
    {
      path: 'resources',
      fallback: {},
      is: 'sources and destinations to apply: file names and their texts, for example by `--set-file resources.shop\\.yaml=shop.yaml`',
    },
    ...scaledRoles.map((role) => ({
      path: `${role}.replicas`,
      fallback: 2,
      is: 'pods of the role, without `components.keda`',
    })),
    ...componentNames.map(([name, is]) => ({ path: `components.${name}`, fallback: false, is })),
    { path: 'strimzi.cluster', fallback: 'kafka', is: 'the name of the Strimzi cluster' },
    {
      path: 'strimzi.namespace',
      fallback: 'postrider',
      is: 'the namespace of the Strimzi cluster',
    },
    {
      path: 'schemaRegistry.url',
      fallback: 'http://schema-registry:8081',
      is: 'where the schema registry is',
    },
    {
      path: 'prometheus.url',
      fallback: 'http://prometheus-operated.monitoring:9090',
      is: 'where KEDA asks how much gateways hold',
    },
    {
      path: 'console.url',
      fallback: 'https://postrider.example.com',
      is: 'where people reach the console',
    },
    {
      path: 'console.trustedProxies',
      fallback: '10.0.0.0/8',
      is: "the network of your ingress controller's pods",
    },
    {
      path: 'console.oidc.issuer',
      fallback: 'https://login.example.com',
      is: 'your provider of logins',
    },
    { path: 'console.oidc.clientId', fallback: 'postrider', is: 'as what it knows the console' },
    {
      path: 'console.oidc.operators',
      fallback: 'postrider-operators',
      is: 'its role of operators',
    },
    { path: 'console.oidc.viewers', fallback: 'postrider-viewers', is: 'its role of viewers' },
  ];
}

type Tree = { [name: string]: Tree | Value };

function treeOf(values: readonly Value[]): Tree {
  const tree: Tree = {};
  for (const value of values) {
    const names = value.path.split('.');
    let place = tree;
    for (const name of names.slice(0, -1)) place = (place[name] ??= {}) as Tree;
    place[names.at(-1) ?? ''] = value;
  }
  return tree;
}

function isValue(node: Tree | Value): node is Value {
  return typeof node['is'] === 'string';
}

export function valuesYaml(values: readonly Value[]): string {
  const lines = (tree: Tree, indent: string): string[] =>
    Object.entries(tree).flatMap(([name, node]) =>
      isValue(node)
        ? [`${indent}# ${node.is}`, `${indent}${name}: ${JSON.stringify(node.fallback)}`]
        : [`${indent}${name}:`, ...lines(node, `${indent}  `)],
    );
  return `${['# Made by `npm run deploy:chart`.', ...lines(treeOf(values), '')].join('\n')}\n`;
}

/** A misspelt value is refused instead of ignored. */
export function schemaOf(values: readonly Value[]): object {
  const nodeSchema = (node: Tree | Value): object => {
    if (!isValue(node))
      return {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(
          Object.entries(node).map(([name, each]) => [name, nodeSchema(each)]),
        ),
      };
    const description = node.is;
    if (typeof node.fallback === 'number') return { description, type: 'integer', minimum: 0 };
    if (typeof node.fallback === 'object')
      return {
        description,
        type: 'object',
        additionalProperties: { type: ['string', 'number', 'boolean'] },
      };
    return { description, type: typeof node.fallback };
  };
  const { properties, ...rest } = nodeSchema(treeOf(values)) as { properties: object };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...rest,
    // Charts that bring this one pass their own values on.
    properties: { ...properties, global: { type: 'object' } },
  };
}
