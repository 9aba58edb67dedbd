import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import { compileFunction } from 'node:vm';
import { findKafkajs, networkOf, type KafkajsNetwork } from './network.ts';
import { producingCheaply, type LookUpCodec } from './produce-request.ts';
import {
  connectingAfresh,
  frameRequest,
  parsingSeeds,
  queueingCheaply,
  tolerateLeaderless,
} from './replacements.ts';

/** A module of the private copy of kafkajs, in which some are replaced. */
interface Loaded {
  exports: unknown;
}

const require = findKafkajs();
const root = dirname(require.resolve('kafkajs')) + sep;

const modules = new Map<string, Loaded>();
const substitutes = new Map<string, (original: never) => unknown>();

/** From now on, loading this module of the copy gives the substitute. */
function replaceModule<T>(path: string, substitute: (original: T) => T): void {
  const file = fileOf(path);
  if (modules.has(file)) throw new Error(`kafkajs/${path} has been loaded already`);
  substitutes.set(file, substitute);
}

/** A module of the copy, such as `src/protocol/encoder`. */
export function requireOwn(path: string): unknown {
  return load(fileOf(path)).exports;
}

function fileOf(path: string): string {
  return require.resolve(`kafkajs/${path}`);
}

function load(file: string): Loaded {
  const known = modules.get(file);
  if (known !== undefined) return known;
  const module: Loaded = { exports: {} };
  // Registered before it runs, because some modules need one another.
  modules.set(file, module);
  const run = compileFunction(readFileSync(file, 'utf8'), ['exports', 'require', 'module'], {
    filename: file,
  }) as (exports: unknown, require: (path: string) => unknown, module: Loaded) => void;
  run(module.exports, requireFrom(file), module);
  const substitute = substitutes.get(file);
  if (substitute !== undefined) module.exports = substitute(module.exports as never);
  return module;
}

/** kafkajs calls it for every request that it sends. */
function requireFrom(file: string): (path: string) => unknown {
  const requireTheirs = createRequire(file);
  const found = new Map<string, Loaded>();
  return (path) => {
    let module = found.get(path);
    if (module === undefined) {
      const resolved = requireTheirs.resolve(path);
      const isOwn = resolved.startsWith(root) && resolved.endsWith('.js');
      module = isOwn ? load(resolved) : { exports: requireTheirs(path) };
      found.set(path, module);
    }
    return module.exports;
  };
}

const { lookupCodec } = requireOwn('src/protocol/message/compression') as {
  readonly lookupCodec: LookUpCodec;
};
replaceModule('src/cluster/connectionPoolBuilder', parsingSeeds);
replaceModule('src/network/connectionPool', connectingAfresh);
replaceModule('src/network/requestQueue', queueingCheaply);
replaceModule('src/protocol/request', () => frameRequest);
replaceModule('src/protocol/requests/produce/v3/request', producingCheaply(lookupCodec));
replaceModule('src/protocol/requests/metadata/v0/response', tolerateLeaderless);

/**
 * kafkajs with these replaced modules, for admin requests and transactions. Records are read and written
 * without it.
 */
export const kafkajs = requireOwn('index') as typeof import('kafkajs');

/** The parts of connections, as they are here. */
export const network: KafkajsNetwork = networkOf(requireOwn);
