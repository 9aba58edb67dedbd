import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DuckDBConnection, DuckDBInstance, DuckDBResult } from '@duckdb/node-api';
import { replace } from './substitutes.ts';
import type { VirtualTime } from './virtual-time.ts';

type Method = (this: unknown, ...args: unknown[]) => unknown;

const fileWork = ['copyFile', 'mkdir', 'mkdtemp', 'readdir', 'rename', 'rm', 'stat'] as const;

/**
 * Time stands still while files and DuckDB are at work, which are real: how long they take, and when they are done,
 * makes no difference then. A process is never killed meanwhile.
 * @returns ends that, and closes the databases that killed processes have left open
 */
export function standStillForRealWork(time: VirtualTime): () => void {
  const undo: (() => void)[] = [];
  const open = new Set<DuckDBInstance>();
  const watch = (target: object, name: string, done?: (result: unknown) => void): void => {
    const former: unknown = Reflect.get(target, name);
    if (typeof former !== 'function') return;
    const watched: Method = function (this: unknown, ...args) {
      const result: unknown = (former as Method).apply(this, args);
      if (!(result instanceof Promise)) return result;
      return time.standStill(result).then((value: unknown) => {
        done?.(value);
        return value;
      });
    };
    undo.push(replace(target, { [name]: watched }));
  };
  for (const name of fileWork) watch(fs, name);
  watch(DuckDBInstance, 'create', (made) => open.add(made as DuckDBInstance));
  for (const prototype of [
    DuckDBConnection.prototype,
    DuckDBInstance.prototype,
    DuckDBResult.prototype,
  ])
    for (const name of Object.getOwnPropertyNames(prototype))
      if (name !== 'constructor' && isMethod(prototype, name)) watch(prototype, name);
  const former: () => void = Reflect.get(DuckDBInstance.prototype, 'closeSync');
  const closeSync = function (this: DuckDBInstance): void {
    open.delete(this);
    former.call(this);
  };
  undo.push(replace(DuckDBInstance.prototype, { closeSync }));
  syncBuiltinESMExports();
  return () => {
    // What was replaced twice is put back in steps.
    for (const back of undo.reverse()) back();
    syncBuiltinESMExports();
    for (const instance of open) instance.closeSync();
  };
}

function isMethod(prototype: object, name: string): boolean {
  return typeof Object.getOwnPropertyDescriptor(prototype, name)?.value === 'function';
}
