import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { linkId } from '../navigation.ts';
import { enManaging } from './en-managing.ts';
import { en } from './en.ts';

/** A language that lacks one of them is a type error. */
export type Texts = typeof en & typeof enManaging;

/** A text that depends on a number. */
interface Forms {
  readonly one: string;
  readonly other: string;
}

const english: Texts = { ...en, ...enManaging };

export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

/** The texts in the language of these pages. Read them while rendering: whoever changes the language renders anew. */
export let t: Texts = english;
export let language: Language = 'en';
/** For `Intl`. English dates are those that no day takes for a month. */
export let locale: string = 'en-GB';

const locales: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de' };
const storedAs = 'language';

/** Customers' pages: as chosen here before, else the first that the browser asks for. Staff's screens are English. */
export function preferredLanguage(): Language {
  if (linkId === undefined) return 'en';
  const wanted = [stored(), ...navigator.languages].map((each) => each?.slice(0, 2).toLowerCase());
  return wanted.find(isLanguage) ?? 'en';
}

const changes = new EventTarget();

/** Shows all texts in this language from now on. */
export async function speak(chosen: Language): Promise<void> {
  t = chosen === 'de' ? await german() : english;
  language = chosen;
  locale = locales[chosen];
  document.documentElement.lang = chosen;
  changes.dispatchEvent(new Event('change'));
}

async function german(): Promise<Texts> {
  const [{ de }, { deManaging }] = await Promise.all([
    import('./de.ts'),
    import('./de-managing.ts'),
  ]);
  return { ...de, ...deManaging };
}

/** The same, as somebody has chosen, for other days too. */
export async function choose(chosen: Language): Promise<void> {
  try {
    localStorage.setItem(storedAs, chosen);
  } catch {
    // A browser may give a page in a frame no storage: the choice then lasts as long as the page.
  }
  await speak(chosen);
}

/** For the one component that renders everything anew in another language. */
export function useLanguage(): Language {
  const [present, setPresent] = useState(language);
  useEffect(() => {
    const update = (): void => {
      setPresent(language);
    };
    changes.addEventListener('change', update);
    return () => {
      changes.removeEventListener('change', update);
    };
  }, []);
  return present;
}

function stored(): string | undefined {
  try {
    return localStorage.getItem(storedAs) ?? undefined;
  } catch {
    return undefined;
  }
}

function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(languages, text);
}

/** The form that a language has for the number, with the number in it. */
export function plural(number: number, forms: Forms): string {
  const form = new Intl.PluralRules(language).select(number) === 'one' ? forms.one : forms.other;
  return filled(form, { n: new Intl.NumberFormat(language).format(number) });
}

/** `{name}` replaced. */
export function filled(text: string, slots: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(slots[name] ?? whole));
}

/** The same with elements of a page. */
export function rich(
  text: string,
  slots: Readonly<Record<string, ComponentChildren>>,
): ComponentChildren {
  return text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 0 ? part : slots[part]));
}
