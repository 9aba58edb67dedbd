import { readFileSync } from 'node:fs';

/** One build stage, as far as this project's Dockerfile uses the language. */
export interface Stage {
  readonly name: string | undefined;
  readonly image: string;
  readonly steps: readonly Step[];
  readonly workdir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly entrypoint: readonly string[] | undefined;
}

export type Step =
  | { readonly run: string }
  /** `from`: another stage; undefined: the build context. */
  | { readonly copy: readonly string[]; readonly to: string; readonly from: string | undefined };

export const dockerfile: URL = new URL('../../deploy/Dockerfile', import.meta.url);

/** Throws for an instruction that it does not know, so that none is left out in silence. */
export function readStages(text: string = readFileSync(dockerfile, 'utf8')): Stage[] {
  const stages: Stage[] = [];
  for (const line of text.split('\n')) {
    const [, instruction = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (line === '' || line.startsWith('#')) continue;
    if (instruction === 'FROM') stages.push(begin(rest));
    else stages.push(follow(stages.pop(), instruction, rest));
  }
  return stages;
}

function begin(rest: string): Stage {
  const [image = '', name] = rest.split(' AS ');
  const unset = { user: undefined, entrypoint: undefined };
  return { image, name, steps: [], workdir: '/', environment: {}, ...unset };
}

function follow(stage: Stage | undefined, instruction: string, rest: string): Stage {
  if (stage === undefined) throw new Error(`${instruction} stands before FROM`);
  const words = rest.split(' ');
  switch (instruction) {
    case 'WORKDIR':
      return { ...stage, workdir: rest };
    case 'RUN':
      return { ...stage, steps: [...stage.steps, { run: rest }] };
    case 'COPY': {
      const from = words[0]?.startsWith('--from=') === true ? words.shift()?.slice(7) : undefined;
      const to = words.pop() ?? '';
      return { ...stage, steps: [...stage.steps, { copy: words, to, from }] };
    }
    case 'ENV': {
      // A value with spaces stands in quotation marks, which are not part of it.
      const added = [...rest.matchAll(/(\w+)=(?:"([^"]*)"|(\S+))/g)].map(
        ([, name = '', quoted, plain = '']) => [name, quoted ?? plain] as const,
      );
      return { ...stage, environment: { ...stage.environment, ...Object.fromEntries(added) } };
    }
    case 'USER':
      return { ...stage, user: rest };
    case 'ENTRYPOINT':
      return { ...stage, entrypoint: JSON.parse(rest) as string[] };
    case 'EXPOSE':
      return stage;
    default:
      throw new Error(`the tests do not know what ${instruction} does`);
  }
}
