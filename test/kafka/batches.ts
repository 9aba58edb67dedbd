/** An error as kafkajs throws it. */
export function kafkaError(type: string): Error {
  return Object.assign(new Error(type.toLowerCase()), { name: 'KafkaJSProtocolError', type });
}
