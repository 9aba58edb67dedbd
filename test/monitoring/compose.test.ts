import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { pathOf, readText } from './monitoring-files.ts';

interface Service {
  readonly volumes: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

const { services } = parse(readText('docker-compose.yml'), { merge: true }) as {
  services: Readonly<Record<'prometheus' | 'grafana', Service>>;
};

/** What a container has of the project, by the path that it sees. */
function mountsOf({ volumes }: Service): ReadonlyMap<string, string> {
  return new Map(
    volumes.map((volume) => {
      const [from = '', to = ''] = volume.split(':');
      return [to, from];
    }),
  );
}

test('Prometheus and Grafana get what they are told of', () => {
  const prometheus = mountsOf(services.prometheus);
  const grafana = mountsOf(services.grafana);
  for (const [, from] of [...prometheus, ...grafana]) assert.ok(existsSync(pathOf(from)), from);

  const { rule_files: ruleFiles } = parse(readText('deploy/monitoring/prometheus.yml')) as {
    rule_files: readonly string[];
  };
  for (const file of ruleFiles) assert.ok(prometheus.has(`/etc/prometheus/${file}`), file);

  const provisioning = grafana.get('/etc/grafana/provisioning') ?? '';
  const { providers } = parse(readText(`${provisioning}/dashboards/postrider.yaml`)) as {
    providers: readonly { options: { path: string } }[];
  };
  const folder = providers[0]?.options.path ?? '';
  const home = services.grafana.environment['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
  assert.ok(home.startsWith(`${folder}/`), home);
  assert.ok(existsSync(pathOf(home.replace(folder, grafana.get(folder) ?? ''))), home);

  const { datasources } = parse(readText(`${provisioning}/datasources/prometheus.yaml`)) as {
    datasources: readonly { url: string }[];
  };
  for (const { url } of datasources) assert.ok(new URL(url).hostname in services, url);
});

test('Prometheus looks for every role of docker-compose.yml where its metrics are', () => {
  const { scrape_configs: jobs } = parse(readText('deploy/monitoring/prometheus.yml')) as {
    scrape_configs: readonly { dns_sd_configs: readonly { names: string[]; port: number }[] }[];
  };
  const asked = jobs.flatMap((job) => job.dns_sd_configs);
  assert.deepEqual(
    asked.map(({ port }) => port),
    [9464],
  );
  assert.deepEqual(
    asked.flatMap(({ names }) => names),
    Object.keys(services).filter((name) => ['gateway', 'router', 'delivery'].includes(name)),
  );
});
