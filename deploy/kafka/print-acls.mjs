// For a Kafka without Strimzi: prints one kafka-acls.sh command for each line of rights that the users of
// ../components/strimzi/kafka-users.yaml have. What follows `--` on the command line goes into each of them:
//   node deploy/kafka/print-acls.mjs -- --bootstrap-server kafka-1:9093 --command-config admin.properties
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

const separator = process.argv.indexOf('--');
const connection = separator === -1 ? [] : process.argv.slice(separator + 1);
const users = new URL('../components/strimzi/kafka-users.yaml', import.meta.url);

/** As kafka-acls.sh calls its options. */
const resourceOptions = {
  topic: '--topic',
  group: '--group',
  transactionalId: '--transactional-id',
};

for (const document of parseAllDocuments(readFileSync(users, 'utf8'))) {
  const { metadata, spec } = document.toJS();
  // Each command starts a JVM, so resources with the same operations share one.
  const byOperations = new Map();
  for (const { resource, operations } of spec.authorization.acls) {
    const { type, name, patternType = 'literal' } = resource;
    const option = resourceOptions[type];
    if (option === undefined) throw new Error(`${metadata.name}: no option for ${type}`);
    const pattern = patternType === 'prefix' ? 'prefixed' : patternType;
    const rights = ['--resource-pattern-type', pattern];
    for (const operation of operations) rights.push('--operation', operation);
    const key = `${option} ${rights.join(' ')}`;
    const names = byOperations.get(key)?.names ?? [];
    byOperations.set(key, { option, rights, names: [...names, name] });
  }
  for (const { option, rights, names } of byOperations.values()) {
    const principal = ['--add', '--allow-principal', `User:${metadata.name}`];
    const resources = names.flatMap((name) => [option, name]);
    const command = ['kafka-acls.sh', ...connection, ...principal, ...rights, ...resources];
    process.stdout.write(`${command.join(' ')}\n`);
  }
}
