import { printable } from '../printable.ts';
import { formatTable } from '../resources/table.ts';
import type { DestinationStory } from './destination-story.ts';
import type { Story } from './story.ts';

/**
 * For people: what the event is, where it is, and what happened to it.
 * @param width see `formatTable`
 */
export function presentStory(story: Story, width?: number): string {
  return [headOf(story), destinationTable(story, width), timeTable(story, width)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function headOf({ messageId, user, source, type, event }: Story): string {
  const what = [type, event === null ? undefined : JSON.stringify(event)].filter(Boolean).join(' ');
  const facts = [
    ['message id', messageId],
    ['call', what],
    ['user', user ?? ''],
    ['source', source ?? ''],
  ] as const;
  return facts
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name.padEnd(10)}  ${printable(text)}`)
    .join('\n');
}

/** A source may have thousands of destinations that want other calls. */
const shownUnwanted = 20;

function destinationTable({ destinations }: Story, width: number | undefined): string {
  if (destinations.length === 0) return '';
  const others = destinations.filter(({ state }) => state === 'unwanted');
  const hidden = new Set(width === Infinity ? [] : others.slice(shownUnwanted));
  const shown = destinations.filter((each) => !hidden.has(each));
  const rows = shown.map((each) => [
    nameOf(each, destinations),
    stateText(each),
    each.at ?? '',
    whyText(each),
  ]);
  const table = formatTable(['DESTINATION', 'STATE', 'SINCE', 'WHY'], rows, width);
  if (hidden.size === 0) return table;
  return `${table}\nand ${hidden.size.toLocaleString('en')} more unwanted; -o wide shows all`;
}

/** An id alone says which destination is meant, unless the event has been for several of it. */
function nameOf({ destination, uid }: DestinationStory, all: readonly DestinationStory[]): string {
  const ofId = all.filter((each) => each.destination === destination);
  return ofId.length > 1 ? `${destination} (${uid ?? 'the first'})` : destination;
}

function stateText({ state }: DestinationStory): string {
  return state.replaceAll('-', ' ');
}

function whyText({ state, detail, until, deadline, place }: DestinationStory): string {
  if (state !== 'waiting') return `${detail}${place === null ? '' : ` (${place})`}`;
  // Text from the topic itself is more precise than a line.
  if (place === null) return detail;
  const end = deadline === null ? '' : `, given up at ${deadline}`;
  return `${until === null ? 'due' : `until ${until}`}${end}; ${detail} (${place})`;
}

function timeTable({ received, destinations }: Story, width: number | undefined): string {
  const rows = [
    ...received.map(({ at, topic, place, outcome, detail }) => [
      at,
      '',
      `received in ${topic} ${place}: ${outcome.replaceAll('-', ' ')}, ${detail}`,
    ]),
    ...destinations.flatMap((each) =>
      each.happened.map(({ at, what }) => [at, nameOf(each, destinations), what]),
    ),
  ].sort(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0));
  if (rows.length === 0) return '';
  return formatTable(['TIME', 'DESTINATION', 'WHAT'], rows, width);
}
