import type { AttemptEnded, PutOffLine } from '../../event/attempt-line.ts';
import type { Envelope } from '../../event/envelope.ts';
import { userOffset } from '../../event/envelope.ts';
import { quote } from '../../event/read-json.ts';
import type { FencedBy } from '../../resources/fence/fence.ts';
import type { BundleHeader } from '../bundle/format.ts';
import { wholeCharacters, type KeptAnswer } from '../kept-answer.ts';
import { outcomeLabel } from '../labels.ts';
import { outcomeNames, type Outcome } from '../outcome.ts';
import type { DeferralCause, Later } from '../retry-policy.ts';
import type { GiveUp } from '../verdict.ts';

/** The event that a line is about: its record's key and its envelope. */
export interface Subject {
  readonly key: Buffer | null;
  readonly envelope: Envelope;
}

// Lines are put together by hand, like envelopes, because each delivery writes one.

/** `src/event/attempt-line.ts` has the shapes. */
export function attemptLine(
  atMs: number,
  subject: Subject,
  url: string,
  outcome: Outcome,
  tookMs: number,
  batch?: AttemptEnded['batch'],
): string {
  const { envelope } = subject;
  const head =
    `${begin(atMs, 'attempt', subject)},"attempt":${envelope.attempts + 1},"url":${quote(url)},` +
    `"outcome":"${outcomeNames[outcome.kind]}"` +
    (outcome.status === undefined ? '' : `,"status":${outcome.status}`) +
    `,"tookMs":${Math.round(tookMs)}` +
    (batch === undefined ? '' : batchField(batch));
  if (outcome.kind === 'delivered')
    return `${head}${outcome.detail === undefined ? '' : `,"detail":${quote(outcome.detail)}`}}\n`;
  const { detail, answer, rule } = outcome;
  const retryAfterMs = outcome.kind === 'retryable' ? outcome.retryAfterMs : undefined;
  return (
    `${head},"cause":"${outcomeLabel(outcome)}","detail":${quote(detail)}` +
    (answer === undefined ? '' : answerFields(answer)) +
    (retryAfterMs === undefined ? '' : `,"retryAfterMs":${retryAfterMs}`) +
    (rule === undefined ? '}\n' : `,"rule":"${rule}"}\n`)
  );
}

function batchField({ id, place, events }: NonNullable<AttemptEnded['batch']>): string {
  return `,"batch":{"id":"${id}","place":${place},"events":${events}}`;
}

function answerFields({ body, isCut, headers }: KeptAnswer): string {
  const said =
    body === undefined ? '' : `,"answer":${quote(isCut ? wholeCharacters(body) : body.toString())}`;
  let told = '';
  for (const name in headers)
    told += `${told === '' ? '' : ','}"${name}":${quote(headers[name] ?? '')}`;
  return `${said}${isCut ? ',"isAnswerCut":true' : ''}${told === '' ? '' : `,"headers":{${told}}`}`;
}

export function retryLine(
  atMs: number,
  subject: Subject,
  plan: Later,
  line?: PutOffLine['line'],
): string {
  const attempts = subject.envelope.attempts + 1;
  const place = line === undefined ? '' : `,"line":"${line}"`;
  return `${begin(atMs, 'retry', subject)},"attempts":${attempts}${place}${untilOf(plan)}}\n`;
}

/** Without a plan, the event waits in its destination's dedicated topic. */
export function deferredLine(
  atMs: number,
  subject: Subject,
  cause: DeferralCause,
  plan: Later | undefined,
): string {
  const { attempts } = subject.envelope;
  const head = `${begin(atMs, 'deferred', subject)},"attempts":${attempts},"cause":"${cause}"`;
  return `${head}${plan === undefined ? '' : untilOf(plan)}}\n`;
}

export function bundleDeferredLine(
  atMs: number,
  { destinationId, uid, events }: BundleHeader,
  cause: DeferralCause,
  { dueMs }: Later,
): string {
  const head = `{"at":"${isoOf(atMs)}","kind":"bundle-deferred","destination":${quote(destinationId)}${uidOf(uid)}`;
  return `${head},"events":${events},"cause":"${cause}","until":"${isoOf(dueMs)}"}\n`;
}

export function deadLetterLine(
  atMs: number,
  subject: Subject,
  { reason, detail }: Pick<GiveUp, 'reason' | 'detail'>,
): string {
  const { attempts } = subject.envelope;
  const head = `${begin(atMs, 'dead-letter', subject)},"attempts":${attempts}`;
  return `${head},"reason":"${reason}","detail":${quote(detail)}}\n`;
}

export function keptLine(atMs: number, subject: Subject): string {
  return `${begin(atMs, 'kept', subject)},"attempts":${subject.envelope.attempts}}\n`;
}

export function droppedLine(atMs: number, subject: Subject, by: FencedBy): string {
  return `${begin(atMs, 'dropped', subject)},"by":"${by}"}\n`;
}

function begin(atMs: number, kind: string, { key, envelope }: Subject): string {
  const { destinationId, uid, sourceId, messageId, type, eventName, redrivenMs } = envelope;
  const user = key?.toString('utf8', userOffset(destinationId)) ?? '';
  return (
    `{"at":"${isoOf(atMs)}","kind":"${kind}","destination":${quote(destinationId)}${uidOf(uid)},` +
    `"source":${quote(sourceId)},"messageId":${quote(messageId)},"user":${quote(user)},` +
    `"type":"${type}"` +
    (eventName === undefined ? '' : `,"eventName":${quote(eventName)}`) +
    (redrivenMs === undefined ? '' : `,"redrivenAt":"${isoOf(redrivenMs)}"`)
  );
}

function uidOf(uid: string | undefined): string {
  return uid === undefined ? '' : `,"uid":"${uid}"`;
}

function untilOf({ dueMs, deadlineMs }: Later): string {
  const until = `,"until":"${isoOf(dueMs)}"`;
  return deadlineMs === undefined ? until : `${until},"deadline":"${isoOf(deadlineMs)}"`;
}

let lastMs = NaN;
let lastIso = '';

/** Caches the text of the last time, because many lines have the same millisecond. */
function isoOf(timeMs: number): string {
  if (timeMs !== lastMs) [lastMs, lastIso] = [timeMs, new Date(timeMs).toISOString()];
  return lastIso;
}
