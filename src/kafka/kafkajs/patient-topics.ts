/** For so long a quiet partition is not asked for again. */
const restMs = 200;
/** What cannot be read now may be after the next release, or once retention has removed it. */
const stuckMs = 30_000;

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

/** Which partitions are not asked for just now. */
export class RestingPartitions {
  /** By topic and partition; milliseconds of `performance.now()`. */
  readonly #untilMs = new Map<string, number[]>();

  /** One that may be asked for rests from then on, unless it brings something. */
  mayAsk(topic: string, partition: number, nowMs: number): boolean {
    const isPatient = patientTopics.has(topic);
    const untilMs = isPatient ? this.#of(topic) : this.#untilMs.get(topic);
    if (untilMs === undefined) return true;
    if (nowMs < (untilMs[partition] ?? 0)) return false;
    if (isPatient) untilMs[partition] = nowMs + restMs;
    return true;
  }

  /** What comes next in it cannot be read: others would wait for fetches that bring only that. */
  stuck(topic: string, partition: number): void {
    this.#of(topic)[partition] = performance.now() + stuckMs;
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
