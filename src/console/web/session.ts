import { createContext, type Context } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../api/answers/deployment.ts';
import { t, type Texts } from './texts/texts.ts';

const nobody: Session = { user: '', role: 'customer', bodies: false, csrf: '', isOpen: false };

export const SessionContext: Context<Session> = createContext(nobody);

export function useSession(): Session {
  return useContext(SessionContext);
}

/** The name of events that were given up. Customers have never heard of dead letters. */
export function useWords(): Texts['words']['customer'] {
  return t.words[useSession().role === 'customer' ? 'customer' : 'staff'];
}

/** The name that the pages bear: until a screen changes the title, it is the server's. */
export const brand: string = document.title;

/** The vendor's logo, and where their product goes on. The server writes them into the page, so nothing waits for them. */
export const logoUrl: string | undefined = metaOf('postrider-logo');
export const backUrl: string | undefined = metaOf('postrider-back');

function metaOf(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content;
}

/** True if pages of single events may be seen: for customers, only by a link that shows bodies. */
export function mayOpenEvents({ role, bodies }: Session): boolean {
  return role !== 'customer' || bodies;
}
