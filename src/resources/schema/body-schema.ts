import { z } from 'zod';
import type { BodyChoice, BodyShape } from '../../event/body-shape.ts';
import type { Template } from '../../event/body-template.ts';
import { parseCallPath } from '../../event/call-path.ts';
import { parsePlaceholders, placeholdersOf, type Placeholder } from '../../event/placeholders.ts';
import { isDeeper } from '../../event/read-json.ts';
import { bodyPathProblem, callPathProblem } from './possible-paths.ts';
import { distinct, refuse } from './schema-parts.ts';

/** All limits are far above what people write. They keep one destination's shape from slowing others. */
const mostPaths = 100;
const mostPlaceholders = 100;
const mostTemplateCharacters = 16_384;
const deepestTemplate = 20;
/** A call has up to 64 KB with the fields of its batch, and a record in Kafka up to 1 MB. */
const mostRepetitions = 10;

const path = z.string().superRefine(refuse(pathProblem));
const paths = distinct(path).min(1, 'must name at least one path');

const shape = z
  .strictObject({
    omit: z.exactOptional(paths),
    pick: z.exactOptional(paths),
    rename: z.exactOptional(z.record(z.string(), path)),
    template: z.exactOptional(z.custom<Template>()),
  })
  .superRefine(({ template, ...chosen }, context) => {
    // Problems of its parts come first.
    if (context.issues.length > 0) return;
    const refuseAt: RefuseAt = (at, message) => {
      context.addIssue({ code: 'custom', path: [...at], message });
    };
    if (template === undefined) refuseChosen(chosen, refuseAt);
    else if (Object.keys(chosen).length === 0) refuseTemplate(template, refuseAt);
    else refuseAt(['template'], `must not stand beside ${Object.keys(chosen).join(' and ')}`);
  });

export const bodyShapeFields: readonly string[] = Object.keys(shape.shape);
export const bodyShape: z.ZodType<BodyShape> = shape;

/** Refuses paths that no body of the destination's payload can have. */
export function refuseImpossiblePaths(
  { payload, body }: BodyChoice,
  context: z.RefinementCtx,
): void {
  if (body === undefined || 'template' in body) return;
  const { omit = [], pick = [], rename = {} } = body;
  const check = (text: string, at: readonly PropertyKey[]): void => {
    const parsed = parseCallPath(text);
    const problem = 'problem' in parsed ? undefined : bodyPathProblem(parsed, payload);
    if (problem !== undefined)
      context.addIssue({ code: 'custom', path: ['body', ...at], message: problem });
  };
  omit.forEach((text, index) => {
    check(text, ['omit', index]);
  });
  pick.forEach((text, index) => {
    check(text, ['pick', index]);
  });
  for (const from of Object.keys(rename)) check(from, ['rename', from]);
}

type RefuseAt = (path: readonly PropertyKey[], message: string) => void;

interface Chosen {
  readonly omit?: readonly string[];
  readonly pick?: readonly string[];
  readonly rename?: Readonly<Record<string, string>>;
}

function refuseChosen({ omit = [], pick, rename = {} }: Chosen, refuseAt: RefuseAt): void {
  const renames = Object.entries(rename);
  if (omit.length === 0 && pick === undefined && renames.length === 0)
    refuseAt([], 'must have omit, pick, rename or template');
  if (omit.length > 0 && pick !== undefined)
    refuseAt(['pick'], 'must not stand beside omit; pick leaves out all else already');
  if (omit.length + (pick?.length ?? 0) + renames.length > mostPaths)
    refuseAt([], `must have at most ${mostPaths} paths`);
  const targets = new Set<string>();
  for (const [from, to] of renames) {
    const problem =
      pathProblem(from) ?? renameProblem(from, to, targets) ?? goneProblem(from, omit, pick);
    if (problem !== undefined) refuseAt(['rename', from], problem);
    targets.add(to);
  }
}

function renameProblem(from: string, to: string, earlier: ReadonlySet<string>): string | undefined {
  if (from === to) return 'has the same path as its new one';
  return earlier.has(to) ? `has the new path ${to}, as another path has` : undefined;
}

/** Why nothing is left at the path. */
function goneProblem(
  from: string,
  omit: readonly string[],
  pick: readonly string[] | undefined,
): string | undefined {
  const around = omit.find((each) => isIn(from, each));
  if (around !== undefined) return `is left out by omit, as ${around}`;
  if (pick === undefined || pick.some((each) => isIn(from, each) || isIn(each, from)))
    return undefined;
  return 'is left out, because pick does not have it';
}

/** One path is the other one, or leads into its value. */
function isIn(path: string, around: string): boolean {
  return path === around || path.startsWith(`${around}.`);
}

function refuseTemplate(template: unknown, refuseAt: RefuseAt): void {
  if (typeof template !== 'object' || template === null) {
    refuseAt(['template'], 'must be a mapping or a list');
    return;
  }
  if (isDeeper(template, deepestTemplate)) {
    refuseAt(['template'], `must not be nested deeper than ${deepestTemplate}`);
    return;
  }
  if (JSON.stringify(template).length > mostTemplateCharacters) {
    const most = mostTemplateCharacters.toLocaleString('en');
    refuseAt(['template'], `must have at most ${most} characters as JSON`);
    return;
  }
  const placeholders = [...findPlaceholders(template, ['template'], refuseAt)];
  if (placeholders.length > mostPlaceholders)
    refuseAt(['template'], `must have at most ${mostPlaceholders} placeholders`);
  const repeated = placeholders.find(
    ({ text }) => placeholders.filter((each) => isIn(text, each.text)).length > mostRepetitions,
  );
  if (repeated !== undefined)
    refuseAt(
      ['template'],
      `must not have ${repeated.text} more than ${mostRepetitions} times, by itself or in what is around it`,
    );
}

function* findPlaceholders(
  value: unknown,
  at: readonly PropertyKey[],
  refuseAt: RefuseAt,
): Generator<Placeholder> {
  if (typeof value === 'number' && !Number.isFinite(value))
    refuseAt(at, 'must be a number that JSON has');
  if (typeof value === 'string') yield* placeholdersIn(value, at, refuseAt);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const inside = [...at, Array.isArray(value) ? Number(key) : key];
    if (key.includes('{{')) refuseAt(inside, 'must not have a placeholder in its key');
    yield* findPlaceholders(inner, inside, refuseAt);
  }
}

function placeholdersIn(
  text: string,
  at: readonly PropertyKey[],
  refuseAt: RefuseAt,
): readonly Placeholder[] {
  const parts = parsePlaceholders(text);
  if ('problem' in parts) {
    refuseAt(at, parts.problem);
    return [];
  }
  const placeholders = placeholdersOf(parts);
  for (const placeholder of placeholders) {
    const problem = callPathProblem(placeholder.path);
    if (problem !== undefined) refuseAt(at, `has {{${placeholder.text}}}, which ${problem}`);
  }
  return placeholders;
}

function pathProblem(text: string): string | undefined {
  const parsed = parseCallPath(text);
  return 'problem' in parsed ? parsed.problem : undefined;
}
