import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readStages, type Stage, type Step } from './dockerfile.ts';

const context = fileURLToPath(new URL('../..', import.meta.url));

/** What the Dockerfile makes, in a folder. */
export interface Image {
  readonly environment: Readonly<Record<string, string>>;
  /** With the Node.js that the image has, which is the project's. */
  readonly path: string;
  /** The program and its first arguments. Nobody may write to what they name. */
  readonly entrypoint: readonly string[];
  readonly uid: number;
  readonly gid: number;
  /** Bytes of what the image adds to its base. */
  readonly addedBytes: number;
  remove(): void;
}

/** Runs the Dockerfile's own steps without an engine. The programs are this machine's. */
export function buildImage(): Image {
  const root = mkdtempSync(join(tmpdir(), 'postrider-image-'));
  chmodSync(root, 0o755);
  const stages = readStages();
  const rootOf = (stage: Stage): string => join(root, String(stages.indexOf(stage)));
  const folderOf = (stage: Stage): string => join(rootOf(stage), stage.workdir);
  const pathOf = (stage: Stage): string =>
    [join(rootOf(stage), 'usr/local/bin'), process.env['PATH'] ?? ''].join(delimiter);
  for (const stage of stages) {
    mkdirSync(folderOf(stage), { recursive: true });
    if (stage.image.startsWith('node:')) bringNode(join(rootOf(stage), 'usr/local/bin'));
    const environment = { PATH: pathOf(stage), ...stage.environment };
    for (const step of stage.steps) {
      if ('run' in step) runStep(step.run, folderOf(stage), environment);
      else copyStep(step, stage, stages, root);
    }
  }
  const image = stages.at(-1);
  if (image?.entrypoint === undefined) throw new Error('the image starts nothing');
  const [uid = 0, gid = 0] = (image.user ?? '0:0').split(':').map(Number);
  const folder = folderOf(image);
  const addedBytes = bytesOf(rootOf(image));
  permit(folder, (mode) => mode & 0o555);
  const { environment } = image;
  const entrypoint = image.entrypoint.map((word) =>
    word.startsWith('/') ? join(rootOf(image), word) : word,
  );
  const remove = (): void => {
    permit(folder, (mode) => mode | 0o200);
    rmSync(root, { recursive: true });
  };
  return { environment, path: pathOf(image), entrypoint, uid, gid, addedBytes, remove };
}

/** The image's user may be kept out of the project's folder, as of one in `/root`. */
function bringNode(bin: string): void {
  mkdirSync(bin, { recursive: true });
  try {
    linkSync(process.execPath, join(bin, 'node'));
  } catch {
    // On another file system.
    copyFileSync(process.execPath, join(bin, 'node'));
  }
}

function runStep(command: string, cwd: string, env: Readonly<Record<string, string>>): void {
  // The stage that builds gets all packages, which are there: installing the project brought them.
  if (command.startsWith('npm ci') && !command.includes('--omit=dev')) {
    symlinkSync(join(context, 'node_modules'), join(cwd, 'node_modules'));
    return;
  }
  const home = process.env['HOME'] ?? '';
  // Of the test's own variables, those of `npm test` would change what npm does. What installing the
  // project has fetched is not fetched again.
  execFileSync('sh', ['-c', command], {
    cwd,
    env: { HOME: home, npm_config_prefer_offline: 'true', ...env },
    stdio: 'pipe',
  });
}

function copyStep(
  { copy, to, from }: Extract<Step, { copy: unknown }>,
  into: Stage,
  stages: readonly Stage[],
  root: string,
): void {
  const stage = stages.findIndex(({ name }) => name === from);
  const target = to.startsWith('/') ? to : join(into.workdir, to);
  if (from !== undefined && stage < 0) throw new Error(`there is no stage ${from}`);
  for (const item of copy) {
    const source = from === undefined ? join(context, item) : join(root, String(stage), item);
    const place = join(root, String(stages.indexOf(into)), target);
    const copied = to.endsWith('/') ? join(place, basename(item)) : place;
    cpSync(source, copied, { recursive: true, verbatimSymlinks: true });
  }
}

function bytesOf(place: string): number {
  const stat = lstatSync(place);
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(place).reduce((bytes, name) => bytes + bytesOf(join(place, name)), 0);
}

function permit(place: string, change: (mode: number) => number): void {
  const stat = lstatSync(place);
  if (stat.isSymbolicLink()) return;
  // Folders first, so that what is in them can be changed.
  chmodSync(place, change(stat.mode));
  if (stat.isDirectory()) for (const name of readdirSync(place)) permit(join(place, name), change);
}
