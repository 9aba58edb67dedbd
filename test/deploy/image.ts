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
  /** With the Node.js that the project brings, which is the image's. */
  readonly path: string;
  /** The program and its first arguments. Nobody may write to what they name. */
  readonly entrypoint: readonly string[];
  readonly uid: number;
  readonly gid: number;
  remove(): void;
}

/** Runs the Dockerfile's own steps without an engine. The programs are this machine's. */
export function buildImage(): Image {
  const root = mkdtempSync(join(tmpdir(), 'postrider-image-'));
  chmodSync(root, 0o755);
  const path = bringNode(join(root, 'bin'));
  const stages = readStages();
  const folderOf = (stage: Stage): string => {
    return join(root, String(stages.indexOf(stage)), stage.workdir);
  };
  for (const stage of stages) {
    mkdirSync(folderOf(stage), { recursive: true });
    for (const step of stage.steps) {
      if ('run' in step) runStep(step.run, folderOf(stage), { PATH: path, ...stage.environment });
      else copyStep(step, folderOf(stage), stages, root);
    }
  }
  const image = stages.at(-1);
  if (image?.entrypoint === undefined) throw new Error('the image starts nothing');
  const [uid = 0, gid = 0] = (image.user ?? '0:0').split(':').map(Number);
  const folder = folderOf(image);
  permit(folder, (mode) => mode & 0o555);
  const { environment } = image;
  const entrypoint = image.entrypoint.map((word) =>
    word.startsWith('/') ? join(root, String(stages.length - 1), word) : word,
  );
  const remove = (): void => {
    permit(folder, (mode) => mode | 0o200);
    rmSync(root, { recursive: true });
  };
  return { environment, path, entrypoint, uid, gid, remove };
}

/** The image's user may be kept out of the project's folder, as of one in `/root`. */
function bringNode(bin: string): string {
  mkdirSync(bin);
  try {
    linkSync(process.execPath, join(bin, 'node'));
  } catch {
    // On another file system.
    copyFileSync(process.execPath, join(bin, 'node'));
  }
  return [bin, process.env['PATH'] ?? ''].join(delimiter);
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
  folder: string,
  stages: readonly Stage[],
  root: string,
): void {
  const stage = stages.findIndex(({ name }) => name === from);
  if (from !== undefined && stage < 0) throw new Error(`there is no stage ${from}`);
  for (const item of copy) {
    const source = from === undefined ? join(context, item) : join(root, String(stage), item);
    const target = to.endsWith('/') ? join(folder, to, basename(item)) : join(folder, to);
    cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  }
}

function permit(place: string, change: (mode: number) => number): void {
  const stat = lstatSync(place);
  if (stat.isSymbolicLink()) return;
  // Folders first, so that what is in them can be changed.
  chmodSync(place, change(stat.mode));
  if (stat.isDirectory()) for (const name of readdirSync(place)) permit(join(place, name), change);
}
