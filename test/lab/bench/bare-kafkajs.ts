import kafkajs from 'kafkajs';
import { registerCodecs } from '../../../src/kafka/client.ts';

/** Stock kafkajs: all codecs, which nobody can do without, and nothing else changed. */
registerCodecs(kafkajs);

export { default } from 'kafkajs';
