import { ByteWriter, stringBytes } from '../protocol/fields.ts';

export interface FramedRequest {
  readonly correlationId: number;
  readonly clientId: string | null;
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly encode: () => Promise<{ readonly buffer: Buffer }>;
  };
}

/**
 * A request with its length and header. kafkajs copies it twice, into zeroed buffers up to twice its size.
 */
export async function frameRequest({
  correlationId,
  clientId,
  request,
}: FramedRequest): Promise<ByteWriter> {
  const { buffer } = await request.encode();
  const bytes = headerBytes + stringBytes(clientId) + buffer.length;
  return new ByteWriter(lengthBytes + bytes)
    .int32(bytes)
    .int16(request.apiKey)
    .int16(request.apiVersion)
    .int32(correlationId)
    .string(clientId)
    .bytes(buffer);
}

const lengthBytes = 4;
/** Length of the header without the client's id. */
const headerBytes = 8;
