const unitsS = { s: 1, m: 60, h: 3_600 } as const;

/** `100/s`, `30/m` or `5/h` in events per second; undefined for anything else and for zero. */
export function parseRate(text: string): number | undefined {
  const match = /^([1-9]\d{0,8})\/([smh])$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) / unitsS[match[2] as keyof typeof unitsS];
}

/** The shortest spelling that `parseRate` reads as the same rate: 0.5 becomes `30/m`. */
export function formatRate(perSecond: number): string {
  for (const unit of ['s', 'm'] as const) {
    const count = Math.round(perSecond * unitsS[unit]);
    if (count / unitsS[unit] === perSecond) return `${count}/${unit}`;
  }
  return `${Math.round(perSecond * unitsS.h)}/h`;
}
