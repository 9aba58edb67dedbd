const unitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `250ms`, `10s`, `5m`, `4h` or `3d` in milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  if (match === null) return undefined;
  const value = Number(match[1]) * unitsMs[match[2] as keyof typeof unitsMs];
  return Number.isSafeInteger(value) ? value : undefined;
}

/** The shortest exact spelling: 60000 becomes `1m`, 90000 becomes `90s`. */
export function formatDuration(durationMs: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (durationMs > 0 && durationMs % unitsMs[unit] === 0)
      return `${String(durationMs / unitsMs[unit])}${unit}`;
  }
  return `${String(durationMs)}ms`;
}

/** For a person who wants to know about how long: `8s`, `9m`, `2h 5m`, `3d 4h`. */
export function roughDuration(durationMs: number): string {
  const seconds = Math.round(Math.max(0, durationMs) / 1_000);
  if (seconds < 100) return `${seconds}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h${minutes % 60 === 0 ? '' : ` ${minutes % 60}m`}`;
  return `${Math.floor(hours / 24)}d${hours % 24 === 0 ? '' : ` ${hours % 24}h`}`;
}
