import { InvalidArgumentError, Option, type Command } from 'commander';
import { printable } from '../../printable.ts';
import { bytesText } from '../../dead-letter/texts.ts';
import { startReceiver, type Arrival } from '../../dev/receiver.ts';
import { parseDuration } from '../../duration.ts';
import { portProblem } from '../../ops/listen.ts';
import { shutdownSignal } from '../../ops/process.ts';
import { verifyingSecretProblem } from '../../resources/signing-secret.ts';
import type { Context } from '../context.ts';

interface ListenOptions {
  readonly port: number;
  readonly secret?: string;
  readonly status: number;
  readonly delay: number;
  readonly failRate: number;
  readonly headers?: true;
}

/** `postrider listen`: an endpoint to look at deliveries with, and to rehearse failures. */
export function registerListen(program: Command, context: Context): void {
  program
    .command('listen')
    .description('receive webhooks, verify their signatures and print them')
    .option('--port <port>', 'where to listen; 0: any free port', integer(0, 65_535), 9000)
    .option(
      '--secret <secret>',
      'shared secret to verify signatures with, or whpk_… of an ed25519 key',
      secret,
    )
    .option('--status <code>', 'answer with this status', integer(200, 599), 200)
    .addOption(
      new Option('--delay <duration>', 'wait before answering, for example 6s')
        .argParser(duration)
        .default(0, 'none'),
    )
    .option(
      '--fail-rate <share>',
      'answer this share of events with 500, for example 0.1',
      share,
      0,
    )
    .option('--headers', 'also print the headers')
    .action((options: ListenOptions) => listen(context, options));
}

async function listen(context: Context, options: ListenOptions): Promise<void> {
  const { port } = options;
  const receiver = await startReceiver({
    port,
    sharedSecret: options.secret,
    answer: (arrival) => {
      const answer = answerTo(arrival, options);
      context.print(describe(arrival, answer));
      if (options.headers === true) context.print(headersOf(arrival));
      const { status, results } = answer;
      const body = results === undefined ? {} : { body: JSON.stringify({ results }) };
      return { status, delayMs: options.delay, ...body };
    },
  }).catch((error: unknown) => {
    throw portProblem(error, '--port', port);
  });
  context.print(`listening on ${receiver.url}`);
  await shutdownSignal();
  await receiver.close();
}

interface ListenAnswer {
  readonly status: number;
  /** One for each event of a batch. */
  readonly results?: readonly { readonly status: number }[];
}

/** The events of a batch fail one by one, where the whole of it doesn't. */
function answerTo({ batch }: Arrival, { status, failRate }: ListenOptions): ListenAnswer {
  const statusOf = (): number => (Math.random() < failRate ? 500 : status);
  if (batch === undefined || failRate === 0 || status > 299) return { status: statusOf() };
  return { status: 207, results: batch.map(() => ({ status: statusOf() })) };
}

function describe(arrival: Arrival, { status, results }: ListenAnswer): string {
  const { path, signature, isCompressed, batch, body } = arrival;
  const encoding = isCompressed ? ', compressed' : '';
  const head = `${String(status)} ${printable(path)} ${verdicts[signature]}${encoding}`;
  if (batch === undefined) return `${head} ${bytesText(body)}`;
  const events = batch.map((event, place) => {
    const own = results?.[place]?.status ?? status;
    return `    ${String(own)} ${printable(JSON.stringify(event))}`;
  });
  return [`${head}, a batch of ${batch.length}`, ...events].join('\n');
}

const verdicts: Readonly<Record<Arrival['signature'], string>> = {
  none: 'no signature',
  unknown: 'signature not verified',
  valid: 'valid signature',
  wrong: 'invalid signature',
  'too-old': 'signature of more than five minutes ago',
  'too-new': 'signature of more than five minutes ahead',
};

function headersOf({ headers }: Arrival): string {
  return Object.entries(headers)
    .map(([name, value]) => `    ${name}: ${printable(String(value))}`)
    .join('\n');
}

function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Allowed: a whole number from ${least} to ${most}.`);
  };
}

function secret(text: string): string {
  const problem = verifyingSecretProblem(text);
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`It ${problem}.`);
}

function duration(text: string): number {
  const valueMs = parseDuration(text);
  if (valueMs !== undefined) return valueMs;
  throw new InvalidArgumentError('Allowed: a duration such as 250ms, 6s or 1m.');
}

function share(text: string): number {
  const value = Number(text);
  if (text !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Allowed: a number from 0 to 1.');
}
