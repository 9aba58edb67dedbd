import type { LetterView } from './present.ts';
import { printable } from '../printable.ts';
import { bytesText, textOrBase64, timeText } from './texts.ts';
import type { RejectedCall } from './rejected.ts';

/** Write keys are shown. They are not secrets, and they identify the missing source. */
export const rejectedView: LetterView<RejectedCall> = {
  columns: { KEY: (call) => keyText(call) ?? '', DETAIL: ({ detail }) => detail },
  wideColumns: { ORIGIN: ({ origin }) => `${origin.topic} ${origin.partition}:${origin.offset}` },
  counted: { REASON: ({ reason }) => reason },
  summary: (call) => {
    const { topic, partition, offset, appendTimeMs } = call.origin;
    return {
      key: keyText(call),
      origin: { topic, partition, offset, time: timeText(appendTimeMs) },
    };
  },
  facts: ({ record, origin }) => [
    ['origin', `${origin.topic} ${origin.partition}:${origin.offset}`],
    ['origin time', timeText(origin.appendTimeMs)],
    ['key', bytesText(record.key)],
    ...Object.entries(record.headers).map(
      ([name, value]) => [`header ${printable(name)}`, bytesText(value ?? null)] as const,
    ),
  ],
  body: ({ record }) => bytesText(record.value),
  whole: ({ record: { headers, value } }) => ({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, bytes]) => [name, textOrBase64(bytes ?? null)]),
    ),
    body: textOrBase64(value),
  }),
};

function keyText({ record: { key } }: RejectedCall): string | null {
  return key === null ? null : key.toString();
}
