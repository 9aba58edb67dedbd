import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** What deploy/monitoring holds, as far as tests look at it. */

export interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
  /** Of a row: it shows and asks for nothing until it is opened. */
  readonly collapsed?: boolean;
  readonly panels?: readonly Panel[];
}

export interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

export function pathOf(file: string): string {
  return fileURLToPath(new URL(`../../${file}`, import.meta.url));
}

export function readText(file: string): string {
  return readFileSync(pathOf(file), 'utf8');
}

export const rulesFile = 'deploy/monitoring/rules.yaml';
export const testsFile = 'deploy/monitoring/rules.test.yaml';

export function readRules(): readonly Rule[] {
  const { groups } = parse(readText(rulesFile)) as {
    groups: readonly { rules: readonly Rule[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

/** Sorted. */
export function alertNames(): string[] {
  return readRules()
    .flatMap(({ alert }) => alert ?? [])
    .sort();
}

export function readDashboard(): Dashboard {
  return JSON.parse(readText('deploy/monitoring/grafana/dashboards/postrider.json')) as Dashboard;
}

/** With those inside of collapsed rows. */
export function panelsOf({ panels }: Dashboard): readonly Panel[] {
  return panels.flatMap((panel) => [panel, ...(panel.panels ?? [])]);
}
