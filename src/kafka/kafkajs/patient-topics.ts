/** For so long a quiet partition is not asked for again. */
const restMs = 200;

/**
 * Topics whose records may be read a little late. For the whole process: a consumer of kafkajs takes no
 * options but its own.
 */
const patientTopics = new Set<string>();

/**
 * From now on, partitions of this topic that bring nothing are asked for a few times a second only,
 * whoever reads them. Each one that a fetch names costs the broker and the consumer time, even if it has
 * been empty for days.
 */
export function readPatiently(topic: string): void {
  patientTopics.add(topic);
}

/** Which partitions of patient topics are not asked for just now. */
export class RestingPartitions {
  /** By topic and partition; milliseconds of `performance.now()`. */
  readonly #untilMs = new Map<string, number[]>();

  /** One that may be asked for rests from then on, unless it brings something. */
  mayAsk(topic: string, partition: number, nowMs: number): boolean {
    if (!patientTopics.has(topic)) return true;
    const untilMs = this.#of(topic);
    if (nowMs < (untilMs[partition] ?? 0)) return false;
    untilMs[partition] = nowMs + restMs;
    return true;
  }

  /** There may be more where that came from. */
  brought(topic: string, partition: number): void {
    if (patientTopics.has(topic)) this.#of(topic)[partition] = 0;
  }

  #of(topic: string): number[] {
    let untilMs = this.#untilMs.get(topic);
    if (untilMs === undefined) {
      untilMs = [];
      this.#untilMs.set(topic, untilMs);
    }
    return untilMs;
  }
}
