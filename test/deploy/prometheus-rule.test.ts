import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { readManifests, type Manifest } from './manifest.ts';

interface PrometheusRule extends Manifest {
  readonly spec: { readonly groups: readonly unknown[] };
}

test('the Prometheus operator gets the same rules as a Prometheus without one', () => {
  const file = new URL('../../deploy/monitoring/rules.yaml', import.meta.url);
  const { groups } = parse(readFileSync(file, 'utf8')) as PrometheusRule['spec'];
  assert.ok(groups.length > 0);
  const [rule] = readManifests<PrometheusRule>('components/pod-monitor/prometheus-rule.yaml');
  assert.deepEqual(rule?.spec.groups, groups, 'run deploy/components/pod-monitor/make-rule.sh');
});
