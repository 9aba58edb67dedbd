import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { counted } from '../../printable.ts';
import { rotateSecrets } from '../../resources/config/rotation.ts';
import { newSigningKey, newSigningSecret, publicKeyOf } from '../../resources/signing-secret.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import { notSet } from '../../settings/misspelt.ts';
import { audited } from '../audit.ts';
import type { Context } from '../context.ts';

/** `postrider secrets`: shared secrets, and the encryption of what the `config` topic holds. */
export function registerSecrets(program: Command, context: Context): void {
  const secrets = program
    .command('secrets')
    .description('make shared secrets, and encrypt those in the config topic anew');
  secrets
    .command('new')
    .description('print a fresh sharedSecret for signature: standard or both')
    .option('--ed25519', 'print a private key, and the public one that its receivers verify with')
    .action(({ ed25519 = false }: { readonly ed25519?: boolean }) => {
      const secret = ed25519 ? newSigningKey() : newSigningSecret();
      context.print(secret);
      const publicKey = publicKeyOf(secret);
      if (publicKey !== undefined) context.print(publicKey);
    });
  secrets
    .command('rotate')
    .description('encrypt with SECRET_KEY what SECRET_KEY_PREVIOUS encrypted')
    .action(async () => {
      const { environment, settings } = context;
      if (settings.secretKey === undefined)
        throw notSet('SECRET_KEY', '32 bytes in base64', environment);
      await audited(context, { action: 'rotate-secrets' }, () => rotate(context));
    });
}

async function rotate(context: Context): Promise<void> {
  const { kafka, settings, log } = context;
  const topology = await context.topology();
  const secretKeys = createSecretKeys(settings.secretKey, settings.secretKeyPrevious);
  const { rewritten, unreadable } = await rotateSecrets({ kafka, topology, log }, secretKeys);
  for (const key of rewritten) context.print(`encrypted ${key} again`);
  const [first] = unreadable;
  if (first === undefined) {
    context.print(
      `${counted(rewritten.length, 'resource')} encrypted again; no secret needs another key`,
    );
    return;
  }
  const more = unreadable.length === 1 ? '' : ` (and ${unreadable.length - 1} more like it)`;
  throw new PostriderError('secret-unreadable', `${first}${more}; do not drop any key yet`);
}
