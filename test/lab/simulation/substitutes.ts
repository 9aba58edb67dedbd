/** @returns what puts it back */
export function replace(
  target: object,
  substitutes: Readonly<Record<string, unknown>>,
): () => void {
  const former = Object.keys(substitutes).map(
    (name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const,
  );
  for (const [name, value] of Object.entries(substitutes))
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
  return () => {
    for (const [name, descriptor] of former) {
      if (descriptor === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, descriptor);
    }
  };
}

/** A delay that a signal may end. */
export function abortable(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: unknown) => void) => { isCancelled: boolean },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const timer = begin((value) => {
      signal?.removeEventListener('abort', ended);
      resolve(value);
    });
    const ended = (): void => {
      timer.isCancelled = true;
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', ended, { once: true });
  });
}

/** As `AbortSignal.any`, whose signals Node.js keeps for ever if something listens to them, and all that it knows with it. */
export function anyOf(signals: Iterable<AbortSignal>): AbortSignal {
  const any = new AbortController();
  for (const signal of signals) {
    const end = (): void => {
      any.abort(signal.reason);
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  }
  return any.signal;
}

export function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => hex.slice(ends[index - 1] ?? 0, end))
    .join('-');
}

/** Whether a file whose name matches is among the nearest callers. Its stack is not made a text, which takes long. */
export function isCalledBy(files: RegExp, frames: number): boolean {
  const { stackTraceLimit } = Error;
  const former: unknown = Reflect.get(Error, 'prepareStackTrace');
  Error.stackTraceLimit = frames;
  Error.prepareStackTrace = (_error, sites) =>
    sites.some((site) => files.test(site.getFileName() ?? ''));
  const { stack: isCalled } = new Error() as { readonly stack?: unknown };
  Error.stackTraceLimit = stackTraceLimit;
  Reflect.set(Error, 'prepareStackTrace', former);
  return isCalled === true;
}
