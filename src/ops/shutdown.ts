/**
 * Resolves at the first SIGINT or SIGTERM; the caller then drains and returns. A second signal ends the
 * process at once.
 */
export async function shutdownSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first = true;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (!first) process.exit(1);
      first = false;
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
