/** Red, green and blue, from 0 to 255. */
type Color = readonly [red: number, green: number, blue: number];

/** The surfaces that text in the accent's color stands on, as the pages' `tokens.css` has them. */
const themes = {
  light: { surfaces: ['#ffffff', '#f5f6f8'], towards: '#000000' },
  dark: { surfaces: ['#151920', '#0d1014'], towards: '#ffffff' },
} as const;
type Theme = keyof typeof themes;

/** The least contrast of text, by WCAG 2.2, level AA. */
const enough = 4.5;
const stepsOfMixing = 50;
const softness = 0.12;

export interface ThemeColors {
  readonly accent: string;
  /** The color of text on the accent. */
  readonly ink: string;
  readonly soft: string;
}

/**
 * The colors of one theme. An accent that can't be read there is made darker or lighter until it can.
 * @param given `#rrggbb`
 */
export function colorsIn(theme: Theme, given: string): ThemeColors {
  const { surfaces, towards } = themes[theme];
  const colors = Array.from({ length: stepsOfMixing + 1 }, (_, step) =>
    mixed(given, towards, step / stepsOfMixing),
  );
  const isRead = (color: string): boolean =>
    surfaces.every((surface) => contrast(color, surface) >= enough);
  const accent = colors.find(isRead) ?? towards;
  const ink = contrast(accent, '#ffffff') >= contrast(accent, '#000000') ? '#ffffff' : '#000000';
  return { accent, ink, soft: mixed(surfaces[0], accent, softness) };
}

/** The sheet that gives the pages the accent, behind their own. */
export function accentSheet(given: string): string {
  const rule = ({ accent, ink, soft }: ThemeColors): string =>
    `:root { --accent: ${accent}; --accent-ink: ${ink}; --accent-soft: ${soft}; }`;
  return `${rule(colorsIn('light', given))}
@media (prefers-color-scheme: dark) {
  ${rule(colorsIn('dark', given))}
}
`;
}

/** The changes of the color where it could not be read, in words; none where it stays. */
export function accentChanges(given: string): readonly string[] {
  return (['light', 'dark'] as const).flatMap((theme) => {
    const { accent } = colorsIn(theme, given);
    if (accent === given.toLowerCase()) return [];
    const [paper] = themes[theme].surfaces;
    const lacking = contrast(given, paper).toFixed(1);
    return [`${accent} on ${theme} pages, because ${given} has a contrast of ${lacking} there`];
  });
}

/** From 1 to 21, as WCAG 2.2 defines it. */
export function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red, green, blue] = partsOf(color).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/** @param share of `to`, from 0 to 1 */
function mixed(from: string, to: string, share: number): string {
  const [a, b] = [partsOf(from), partsOf(to)];
  const parts = a.map((part, at) => Math.round(part + ((b[at] ?? 0) - part) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function partsOf(color: string): Color {
  const number = Number.parseInt(color.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
