import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { accessOptions } from '../../src/kafka/kafkajs/current-access.ts';
import { BrokerConnection, timeouts } from '../../src/kafka/kafkajs/broker-connection.ts';
import { network } from '../../src/kafka/kafkajs/library.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { ByteReader, ByteWriter, type Exchange } from '../../src/kafka/protocol/fields.ts';
import { errorName, KafkaAnswerError } from '../../src/kafka/protocol/errors.ts';
import { silentLogger } from '../../src/ops/log.ts';

const scramSha512 = 2;
const iterations = 4_096;

/** Changes the SCRAM-SHA-512 password of a user while the broker runs. @param broker `host:port` */
export async function setScramPassword(
  broker: string,
  user: string,
  password: string,
): Promise<void> {
  const [host = '', port = ''] = broker.split(':');
  const logger = createKafka({ brokers: [broker], clientId: 'test' }, silentLogger).logger();
  const access = accessOptions(network, {});
  const connection = new BrokerConnection(host, Number(port), {
    network,
    access,
    clientId: 'test',
    logger,
    ...timeouts,
  });
  try {
    await connection.send(alterScramExchange(user, password), 10_000);
  } finally {
    connection.close();
  }
}

/** AlterUserScramCredentials, version 0. */
function alterScramExchange(user: string, password: string): Exchange<object> {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 64, 'sha512');
  return {
    apiKey: 51,
    apiName: 'AlterUserScramCredentials',
    version: 0,
    encode: () => {
      const writer = new ByteWriter(256).noTags();
      writer.compactArray([], () => undefined);
      writer.compactArray([user], (name) => {
        writer.compactString(name).int8(scramSha512).int32(iterations);
        for (const bytes of [salt, salted]) writer.uvarint(bytes.length + 1).bytes(bytes);
        writer.noTags();
      });
      return writer.noTags();
    },
    decode: (bytes) => {
      const reader = new ByteReader(bytes);
      reader.tags();
      const throttleMs = reader.int32();
      reader.compactArray(() => {
        reader.compactString();
        const error = errorName(reader.int16());
        if (error !== 'NONE') throw new KafkaAnswerError(error, `the password of ${user}`);
        reader.compactString();
        reader.tags();
      });
      return { throttleMs };
    },
  };
}
