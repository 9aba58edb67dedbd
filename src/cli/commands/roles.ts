import type { Command } from 'commander';
import { shutdownSignal } from '../../ops/process.ts';
import type { Context } from '../context.ts';
import type { RoleName } from '../../topology.ts';

const descriptions: Record<RoleName, string> = {
  gateway: 'run a gateway: it writes calls from its HTTP tracking API to Kafka',
  router: 'run a router: it turns calls into events for destinations',
  delivery: 'run a delivery worker: it sends events to endpoints',
  console: 'run the console: web pages and an HTTP API that show what happens',
  api: 'run the API: it adds, changes and removes sources and destinations',
};

/** `postrider gateway`, `router`, `delivery`, `console` and `api`: one role in a process of its own. */
export function registerRoles(program: Command, context: Context): void {
  for (const [name, description] of Object.entries(descriptions)) {
    program
      .command(name)
      .description(description)
      .action(() => run(context, name as RoleName));
  }
}

async function run(context: Context, name: RoleName): Promise<void> {
  // From the first moment on: a signal during a long start must be seen as well.
  const signalled = shutdownSignal();
  const { startRoles } = await import('../roles/start-roles.ts');
  const roles = await Promise.race([startRoles(context, [name]), signalled]);
  if (typeof roles === 'string') process.exit(0);
  const signal = await signalled;
  context.log.info({ signal }, 'stopping');
  await roles.stop();
  process.exit(0);
}
