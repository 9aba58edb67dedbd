/** Weight of the newest interval. */
const smoothing = 0.5;

/** How fast a lane works off its events, measured by how many ended in the last few intervals. */
export class DrainRate {
  #ended = 0;
  #ranDry = false;
  #perSecond: number | undefined;
  #endedBefore = 0;
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  ended(): void {
    this.#ended += 1;
  }

  /** Nothing waited, so what ends in this interval shows how much came, not how much could be done. */
  ranDry(): void {
    this.#ranDry = true;
  }

  /** Whether the lane had nothing waiting at some time in this interval. */
  get hasRunDry(): boolean {
    return this.#ranDry;
  }

  /** Something ended in this interval or the one before. */
  get isActive(): boolean {
    return this.#ended + this.#endedBefore > 0;
  }

  /** Closes an interval. Only an interval in which something waited all the time shows the speed. */
  tick(nowMs: number): void {
    const seconds = (nowMs - this.#sinceMs) / 1_000;
    this.#sinceMs = nowMs;
    const perSecond = seconds > 0 ? this.#ended / seconds : 0;
    this.#endedBefore = this.#ended;
    this.#ended = 0;
    if (this.#ranDry) this.#perSecond = undefined;
    else if (this.#perSecond === undefined) this.#perSecond = perSecond;
    else this.#perSecond += smoothing * (perSecond - this.#perSecond);
    this.#ranDry = false;
  }

  /** Time until `records` are worked off; 0 while the rate is not known, and where nothing ends at all. */
  drainMs(records: number): number {
    const perSecond = this.#perSecond ?? 0;
    return perSecond === 0 ? 0 : (records / perSecond) * 1_000;
  }
}
