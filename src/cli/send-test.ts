import type { Command } from 'commander';
import type { TestAnswer } from '../delivery/send-test.ts';
import { PostriderError } from '../errors.ts';
import { systemClock } from '../ops/clock.ts';
import { startConfig } from '../resources/config/config-store.ts';
import type { Destination } from '../resources/resource.ts';
import { createSecretKeys } from '../resources/config/secrets.ts';
import type { Context } from './context.ts';

/** `postrider send-test`: does an endpoint take what we send? */
export function registerSendTest(program: Command, context: Context): void {
  program
    .command('send-test')
    .description('send one signed test event to each URL of a destination and print the answers')
    .argument('<destination>', 'its id')
    .action((id: string) => sendTest(context, id));
}

async function sendTest(context: Context, id: string): Promise<void> {
  const { settings } = context;
  const { sendTestEvent } = await import('../delivery/send-test.ts');
  const answers = await sendTestEvent(await destinationOf(context, id), {
    clock: systemClock,
    timeoutMs: settings.deliveryTimeoutMs,
    allowNetworks: settings.deliveryAllowNetworks ?? [],
  });
  for (const answer of answers) context.print(describe(answer));
  if (answers.some(({ outcome }) => outcome.kind === 'delivered')) return;
  throw new PostriderError('not-delivered', `no endpoint of destination ${id} took the test event`);
}

async function destinationOf(context: Context, id: string): Promise<Destination> {
  const { settings, kafka, log } = context;
  const config = await startConfig({
    ...{ kafka, topology: await context.topology(), clock: systemClock, log },
    secretKeys: createSecretKeys(settings.secretKey, settings.secretKeyPrevious),
  });
  const destination = config.destination(id);
  const isUnreadable = config.isUnreadable(id);
  await config.stop();
  if (destination !== undefined) return destination;
  if (isUnreadable) {
    const why = 'with these keys and this version; the log says why';
    throw new PostriderError('resource-invalid', `destination ${id} is not readable ${why}`);
  }
  throw new PostriderError('not-found', `there is no destination ${id}`);
}

function describe({ publicUrl, outcome, tookMs }: TestAnswer): string {
  const took = `in ${Math.round(tookMs)} ms`;
  if (outcome.kind === 'delivered') return `${publicUrl}  delivered ${took}`;
  const then = outcome.kind === 'permanent' ? outcome.reason : 'would be tried again';
  return `${publicUrl}  not delivered ${took}: ${outcome.detail} (${then})`;
}
