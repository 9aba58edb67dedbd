import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { printable } from '../../printable.ts';
import { bodyText } from '../../delivery/kept-answer.ts';
import type { Failed } from '../../delivery/outcome.ts';
import type { TestAnswer, TestMessage } from '../../delivery/send-test.ts';
import type { AnswerRule } from '../../event/attempt-line.ts';
import { hookBody } from '../../notices/compose.ts';
import { PostriderError } from '../../errors.ts';
import { hintAt } from '../../near.ts';
import { systemClock } from '../../ops/clock.ts';
import { configFromTopic, type WithConfig } from '../../resources/config/config-topic.ts';
import { createSecretKeys, type SecretKeys } from '../../resources/config/secrets.ts';
import { openResource, recordKey } from '../../resources/config/stored.ts';
import {
  ofKind,
  type StoredResource,
  type StoredResources,
} from '../../resources/config/stored-resources.ts';
import {
  deliveredAs,
  hookDestinationId,
  isOfNotify,
  nameOfDestination,
} from '../../resources/notice-hook.ts';
import type { Destination, NoticeHook, Resource } from '../../resources/resource.ts';
import { audited } from '../audit.ts';
import type { Context } from '../context.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

/** `postrider send-test`: does an endpoint take what we send? */
export function registerSendTest(program: Command, context: Context): void {
  withOutput(program.command('send-test'))
    .description('send one signed test event to each URL of a destination, and print the answers')
    .argument(
      '<destination>',
      'id of the destination; for a notice hook, notices:<id>; for its notify, notify:<id>',
    )
    .action((id: string, options: OutputOptions) => sendTest(context, id, options));
}

async function sendTest(context: Context, id: string, { output }: OutputOptions): Promise<void> {
  const { kafka, log } = context;
  const withConfig = configFromTopic({ kafka, topology: await context.topology(), log });
  const answers = await audited(context, { action: 'send-test', destination: id }, () =>
    testDestination(context, withConfig, id),
  );
  const text = (): string => answers.map(describe).join('\n');
  context.print(present(output, () => answers.map(dataOf), text));
  if (answers.some(({ outcome }) => outcome.kind === 'delivered')) return;
  throw new PostriderError('not-delivered', `no endpoint of destination ${id} took the test event`);
}

/** @throws PostriderError `not-found`, `resource-invalid` */
export async function testDestination(
  { settings }: Context,
  withConfig: WithConfig,
  id: string,
): Promise<readonly TestAnswer[]> {
  const { sendTest: send, testEvent } = await import('../../delivery/send-test.ts');
  const { secretKey, secretKeyPrevious } = settings;
  const keys = createSecretKeys(secretKey, secretKeyPrevious);
  const { destination, hook } = await withConfig(({ resources }) =>
    Promise.resolve(receiverOf(resources, keys, id)),
  );
  const now = new Date(systemClock.now()).toISOString();
  const isNotice = hook !== undefined || isOfNotify(id);
  const message = isNotice ? testNotice(hook, now) : testEvent(destination, now);
  return send(destination, message, {
    clock: systemClock,
    timeoutMs: settings.deliveryTimeoutMs,
    allowNetworks: settings.deliveryAllowNetworks ?? [],
    proxyUrl: settings.deliveryProxy,
    withoutProxy: settings.deliveryNoProxy,
  });
}

interface TestReceiver {
  readonly destination: Destination;
  readonly hook: NoticeHook | undefined;
}

function receiverOf(stored: StoredResources, keys: SecretKeys, id: string): TestReceiver {
  const found = stored.get(recordKey(nameOfDestination(id)));
  if (found === undefined) throw noReceiver(stored, id);
  const resource = opened(found, keys, id);
  if (resource.kind !== 'Destination' && resource.kind !== 'NoticeHook')
    throw noReceiver(stored, id);
  const destination = deliveredAs(resource, id);
  if (destination === undefined) throw noReceiver(stored, id);
  return { destination, hook: resource.kind === 'NoticeHook' ? resource : undefined };
}

/** @throws PostriderError `resource-invalid` */
function opened({ sealed }: StoredResource, keys: SecretKeys, id: string): Resource {
  let why = 'by this version';
  try {
    if (sealed !== undefined) return openResource(sealed, keys);
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    why = `here: ${error.message}`;
  }
  throw new PostriderError('resource-invalid', `destination ${id} is not readable ${why}`);
}

function noReceiver(stored: StoredResources, id: string): PostriderError {
  const known = [
    ...ofKind(stored, 'Destination').map(({ name }) => name.id),
    ...ofKind(stored, 'NoticeHook').map(({ name }) => hookDestinationId(name.id)),
  ];
  return new PostriderError('not-found', `there is no destination ${id}${hintAt(id, known)}`);
}

/** @param hook undefined: the place where a destination's owner is told about it */
function testNotice(hook: NoticeHook | undefined, at: string): TestMessage {
  const id = `notice-test-${randomUUID()}`;
  const notice = 'test';
  if (hook === undefined) {
    const text = 'This is a test: notices about your endpoint arrive here.';
    return { messageId: id, body: JSON.stringify({ type: 'notice', id, at, notice, text }) };
  }
  const text = 'This is a test of Postrider: notices about destinations arrive here.';
  return { messageId: id, body: hookBody(hook, { id, at, notice, text }) };
}

function describe({ publicUrl, outcome, tookMs, compression }: TestAnswer): string {
  const took = `in ${Math.round(tookMs)} ms${encodingText(compression)}`;
  if (outcome.kind === 'delivered') {
    const odd =
      outcome.detail === undefined ? '' : `, although its answer was odd: ${outcome.detail}`;
    return `${publicUrl}  delivered ${took}${odd}`;
  }
  const then = outcome.kind === 'permanent' ? outcome.reason : 'would be tried again';
  const retryAfterMs = outcome.kind === 'retryable' ? outcome.retryAfterMs : undefined;
  const text = outcome.answer && bodyText(outcome.answer);
  const said = text === undefined ? '' : `; it said: ${printable(text)}`;
  const patience = retryAfterMs === undefined ? '' : `, Retry-After ${retryAfterMs / 1_000} s`;
  // The detail names a rule of the destination.
  const isByDefault = ruleOf(outcome) === 'default';
  const end = isByDefault ? `${then} by default` : then;
  return `${publicUrl}  not delivered ${took}: ${outcome.detail}${patience} (${end})${said}`;
}

function encodingText(compression: TestAnswer['compression']): string {
  if (compression === undefined) return '';
  return compression === 'gzip'
    ? ', compressed'
    : ', uncompressed, because it answered 415 to a compressed body';
}

/** The rule that decided about the answer; null: there was no answer. */
function ruleOf({ status, rule }: Failed): AnswerRule | 'default' | null {
  return status === undefined ? null : (rule ?? 'default');
}

function dataOf({ publicUrl: url, outcome, tookMs, compression }: TestAnswer): object {
  const delivered = outcome.kind === 'delivered';
  const encoding = compression === undefined ? {} : { compression };
  if (delivered) return { url, delivered, tookMs, ...encoding };
  const { detail, answer, status = null } = outcome;
  const then = outcome.kind === 'permanent' ? outcome.reason : 'retry';
  const retryAfterMs = outcome.kind === 'retryable' ? outcome.retryAfterMs : undefined;
  return {
    url,
    delivered,
    tookMs,
    ...encoding,
    status,
    detail,
    retryAfterMs: retryAfterMs ?? null,
    then,
    rule: ruleOf(outcome),
    answer: (answer && bodyText(answer)) ?? null,
    headers: answer?.headers ?? {},
  };
}
