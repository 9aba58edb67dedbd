import type { MetricObject } from 'prom-client';
import { rejectReasons } from '../../../src/event/rejection.ts';
import { everyMetric } from '../../harness/every-metric.ts';
import { code, generated, markCode } from './text.ts';

const stages: readonly (readonly [title: string, names: RegExp])[] = [
  ['Gateway', /^postrider_gateway_/],
  ['Router', /^postrider_router_/],
  ['Audiences', /^postrider_audience_/],
  ['All roles', /^postrider_(?:ready|build|config|kafka|heap)/],
  ['Delivery', /^postrider_/],
];
/** In the order of the flow. */
const order = ['Gateway', 'Router', 'Delivery', 'Audiences', 'All roles'];

export async function metricsPage(): Promise<string> {
  const metrics = everyMetric();
  const ours = metrics.getMetricsAsArray().filter(({ name }) => name.startsWith('postrider_'));
  const stageOf = ({ name }: MetricObject): string =>
    stages.find(([, names]) => names.test(name))?.[0] ?? '';
  const sections: string[] = [];
  for (const title of order) {
    sections.push(`## ${title}`);
    for (const metric of ours.filter((each) => stageOf(each) === title))
      sections.push(await entry(metric));
  }
  return [generated, intro, ...sections].join('\n\n');
}

const intro = `# Metrics

Every role serves \`/metrics\` for Prometheus on [\`OPS_PORT\`](settings.md#ops_port), together with \`/livez\` and \`/readyz\`. The standard metrics of Node.js processes are there too.

The [monitoring files](../../deploy/monitoring) hold Prometheus rules and a Grafana dashboard that use these metrics. The [runbook](../runbook.md) has a section for each alert.`;

type Registered = MetricObject & {
  readonly labelNames: readonly string[];
  readonly get: () => Promise<{ readonly values: readonly { labels: object }[] }>;
};

async function entry(metric: MetricObject): Promise<string> {
  const { name, help, type, labelNames } = metric as Registered;
  const kind = String(type).charAt(0).toUpperCase() + String(type).slice(1);
  const labels: string[] = [];
  for (const label of labelNames) {
    const values = await valuesOf(metric as Registered, label);
    labels.push(`- ${code(label)}${values === '' ? '' : `: ${values}`}`);
  }
  const labelled = labels.length === 0 ? [] : ['Labels:', labels.join('\n')];
  return [`### ${name}`, `${kind}. ${markCode(help)}`, ...labelled].join('\n\n');
}

/** Of counters, whose closed sets of values are there from the start; gauges would ask for the state. */
async function valuesOf(metric: Registered, label: string): Promise<string> {
  if (String(metric.type) !== 'counter') return '';
  const { values } = await metric.get();
  const known = values.map(({ labels }) => (labels as Record<string, string>)[label] ?? '');
  if (known.length === Object.keys(rejectReasons).length)
    return 'the [reasons of rejected calls](reasons.md#rejected-calls)';
  return known
    .filter((value) => value !== '')
    .map(code)
    .join(', ');
}
