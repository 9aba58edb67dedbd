import { format } from 'prettier';
import { commandsPage } from './commands.ts';
import { metricsPage } from './metrics.ts';
import { reasonsPage } from './reasons.ts';
import { settingsPage } from './settings.ts';
import { topicsPage } from './topics.ts';

/** Every page of docs/reference as the code wants it, by its path from the root. */
export async function referencePages(): Promise<Map<string, string>> {
  const texts = {
    commands: await commandsPage(),
    settings: settingsPage(),
    topics: topicsPage(),
    metrics: await metricsPage(),
    reasons: reasonsPage(),
  };
  const pages = new Map<string, string>();
  for (const [name, text] of Object.entries(texts))
    pages.set(`docs/reference/${name}.md`, await format(text, { parser: 'markdown' }));
  return pages;
}
