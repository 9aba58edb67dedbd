import type { Command } from 'commander';
import { readStoredResources } from '../resources/config/config-topic.ts';
import { planDeletion } from '../resources/apply/delete.ts';
import { formatChange } from '../resources/apply/plan.ts';
import { parseKind } from '../resources/present.ts';
import { write } from './apply.ts';
import type { Context } from './context.ts';

/** `postrider delete`: one resource. */
export function registerDelete(program: Command, context: Context): void {
  program
    .command('delete')
    .description('delete a resource; events still on their way to it become dead letters')
    .argument('<kind>', 'source, destination, audience or computed-trait')
    .argument('<id>')
    .action((kind: string, id: string) => deleteResource(context, kind, id));
}

async function deleteResource(context: Context, kindName: string, id: string): Promise<void> {
  const kind = parseKind(kindName);
  const { kafka, log } = context;
  const topology = await context.topology();
  const stored = await readStoredResources({ kafka, topology, log });
  const change = planDeletion(stored, { kind, id });
  await write(context, [change]);
  context.print(formatChange(change));
}
