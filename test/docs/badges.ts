import { readFileSync } from 'node:fs';
import { leastKafka, leastKubernetes } from '../deploy/least-versions.ts';
import { root } from './pages.ts';

/** The strip of facts on the first page: from the manifests, so that no other host is asked for them. */

export const badgesPath = 'docs/images/badges.svg';

interface Manifest {
  readonly license: string;
  readonly engines: { readonly node: string };
}

const charWidth = 6.4;
const padding = 7;
const gap = 6;
const height = 20;

export function badges(): string {
  const { license, engines } = JSON.parse(
    readFileSync(new URL('package.json', root), 'utf8'),
  ) as Manifest;
  const facts = [
    ['Node.js', engines.node.replace('>=', '≥ ')],
    ['Kafka', `≥ ${leastKafka}`],
    ['Kubernetes', `≥ ${leastKubernetes}`],
    ['license', license],
  ] as const;
  let x = 0;
  const drawn = facts.map(([name, value]) => {
    const [left, right] = [widthOf(name), widthOf(value)];
    const svg = [
      `<rect x="${x}" width="${left + right}" height="${height}" rx="3" fill="#1f4fd8"/>`,
      `<path d="M${x + left} 0H${x + 3}a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3H${x + left}z" fill="#4a5160"/>`,
      textAt(x + left / 2, name),
      textAt(x + left + right / 2, value),
    ].join('');
    x += left + right + gap;
    return svg;
  });
  const said = facts.map((fact) => fact.join(' ')).join(', ');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${x - gap}" height="${height}" font-family="Verdana,'DejaVu Sans',sans-serif" font-size="11" text-anchor="middle" fill="#fff">
<title>${said}</title>
${drawn.join('\n')}
</svg>
`;
}

function widthOf(text: string): number {
  return Math.ceil(text.length * charWidth + 2 * padding);
}

function textAt(x: number, text: string): string {
  return `<text x="${x}" y="14">${text}</text>`;
}
